// lost_attempts.h - how often, and how soon, an attempt that was lost is repeated.
#pragma once

#include "server/cluster/cluster.h"

// The worker could not get an object that the task reads, or had no room for it.
bool hub_lacks_input(const struct wire_finished *finished);

// run_frames.c: files and folders that the RUN of a body reads, until the turn is over.
void hub_inputs_find(struct hub *hub, rota_job_id id, uint32_t number, wire_files *inputs);

enum hub_lack {
    HUB_LACKS_NOTHING,
    HUB_LACKS_INPUT,
    HUB_INPUT_IS_AWAY,  // only workers hold it that are cut off, within their lease
};
// In a turn, before the core hears of this end.
enum hub_lack hub_lack_of(struct hub *hub, const struct hub_worker *reader,
                          const struct wire_finished *finished);
// In a turn, before the core hears of it. An attempt that lacked an input counts as a try, whatever
// the policy and the content key, and the next one waits. If the input is away, the attempt does
// not count: its holder comes back, or is lost and the core has the input made again. An attempt
// that never began counts for nothing, but after some of them the next one waits. The server does
// not count at most 1000 attempts of a task.
void hub_loss_bound(struct hub *hub, enum hub_lack lack, struct rota_event *event);
