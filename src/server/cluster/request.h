// request.h - requests of clients are executed once, and refusals are final.
#pragma once

#include "server/cluster/cluster.h"

// The id of a request, and a hash of its content: two with the same id and different hashes differ.
struct cluster_request {
    uint64_t high, low, hash;
};

// True: it was executed or refused before, and has been answered again; or the id belongs to
// another request.
bool cluster_request_is_old(struct cluster *cluster, struct cluster_peer *peer,
                            const struct cluster_request *request);
// In the turn that executes it.
void cluster_request_note(struct cluster *cluster, const struct cluster_request *request,
                          const char *answer);
void cluster_request_done(struct cluster *cluster, struct cluster_peer *peer,
                          const struct cluster_request *request,
                          const char *answer);  // the same, and the answer is sent
void cluster_accepted_put(struct wire_out *out, const struct cluster_request *request, uint32_t job,
                      uint32_t first);
// In the turn that decides it. The refusal is stored, except for lack of space or permission: the
// next time the result may differ.
void cluster_request_refuse(struct cluster *cluster, struct cluster_peer *peer,
                            const struct cluster_request *request, enum wire_code code,
                            const char *reason);
// The same for a refusal of the core; the server has the reason.
void cluster_request_fail(struct cluster *cluster, struct cluster_peer *peer,
                          const struct cluster_request *request, enum rota_error error);
