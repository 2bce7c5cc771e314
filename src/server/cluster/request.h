// request.h - what clients ask for is done once, and what is refused stays refused.
#pragma once

#include "server/cluster/cluster.h"

// Its id, and what it is about: two with one id and different hashes are not the same.
struct hub_request {
    uint64_t high, low, hash;
};

// True: it was carried out or refused before, and has been answered again; or it is another one.
bool hub_request_is_old(struct hub *hub, struct hub_peer *peer, const struct hub_request *request);
// In the turn that carries it out.
void hub_request_note(struct hub *hub, const struct hub_request *request, const char *answer);
void hub_request_done(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                      const char *answer);  // the same, and it is told so
void hub_accepted_put(struct wire_out *out, const struct hub_request *request, uint32_t job,
                      uint32_t first);
// In the turn that decides it. The refusal is kept unless there was no room or no right: these are
// nothing that was asked for, and may be otherwise the next time.
void hub_request_refuse(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                        enum wire_code code, const char *reason);
// The same for what the core refused; the server has the reason.
void hub_request_fail(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                      enum rota_error error);
