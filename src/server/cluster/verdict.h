// verdict.h - how the server judged a message of a peer, for the audit log.
#pragma once

#include "net/wire/wire.h"

struct cluster_peer;

// About the last message taken; but `foreign` counts over all.
struct cluster_verdict {
    enum wire_code code;  // 0: it was not refused
    uint32_t job;         // of a submission, or 0
    uint32_t foreign;     // reports about attempts of another worker
    char reason[480];
};

// How often a worker sends heartbeats.
struct cluster_pulse {
    rota_time since;  // ticks
    uint32_t beats;   // number since then
};

// The last message is refused. The peer need not be told.
void cluster_note_refusal(struct cluster_peer *peer, enum wire_code code, const char *reason);
