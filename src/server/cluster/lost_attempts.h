// lost_attempts.h - how often, and how soon, a lost or failed attempt is repeated.
#pragma once

#include "server/cluster/cluster.h"
#include "turn/attempt_end.h"

// run_frames.c: files and folders that the RUN of a body reads; valid until the turn ends.
void cluster_inputs_find(struct cluster *cluster, rota_job_id id, uint32_t number,
                         wire_files *inputs);

enum cluster_lack {
    CLUSTER_LACKS_NOTHING,
    CLUSTER_LACKS_INPUT,
    CLUSTER_INPUT_IS_AWAY,  // all its holders are disconnected, within their lease
};
// In a turn, before the core gets the report.
enum cluster_lack cluster_lack_of(struct cluster *cluster, const struct cluster_worker *reader,
                          const struct wire_finished *finished);
// In a turn, before the core gets the report. An attempt that lacked an input counts as a try,
// whatever the policy and the content key, and the next one has a backoff. If all holders of the
// input are disconnected, the attempt does not count: a holder returns, or it is lost and the core
// has the input made again. An attempt that never started does not count, but after some of them
// the next one has a backoff. At most 1000 attempts of a task are not counted.
void cluster_loss_bound(struct cluster *cluster, enum cluster_lack lack, struct rota_event *event);

// ---- run_frames.c: which failures are retried, as the body says ------------------------------

// In a turn. False: there is no REPEAT.
bool cluster_repeat_find(struct cluster *cluster, rota_job_id id, uint32_t number,
                         struct attempt_retry *repeat);
