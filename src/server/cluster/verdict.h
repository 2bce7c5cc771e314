// verdict.h - what the hub thinks of what a peer says, for whoever keeps a log of it.
#pragma once

#include "net/wire/wire.h"

struct hub_peer;

// Of the message that was taken last; but `foreign` counts over all.
struct hub_verdict {
    enum wire_code code;  // 0: it was not refused
    uint32_t job;         // that was submitted, or 0
    uint32_t foreign;     // reports of what another worker runs
    char reason[480];
};

// How often a worker beats.
struct hub_pulse {
    rota_time since;  // ticks
    uint32_t beats;   // so many have come since
};

// What it just said is refused. It need not be told.
void hub_note_refusal(struct hub_peer *peer, enum wire_code code, const char *reason);
