// planning.h - jobs whose tasks hand objects to each other are planned ahead (plan/live/live.h).
#pragma once

#include "plan/live/live.h"
#include "server/cluster/cluster.h"

// A server that is being opened tells its rows: the jobs that are there are planned too.
void hub_ahead_restored(void *guide, const struct rota_record *records, uint32_t count);
// Behind hub_open(): the guide is the hub's from now on. Without one nothing is planned ahead.
void hub_ahead_begin(struct hub *hub, struct guide *guide);

// In a turn, behind what the core has taken.
void hub_ahead_submitted(struct hub *hub, rota_job_id job, const struct rota_job_spec *spec,
                         const struct store_text *texts);
void hub_ahead_ended(struct hub *hub, const struct wire_finished *finished);
void hub_ahead_gone(struct hub *hub, rota_job_id job);
void hub_ahead_news(struct hub *hub);  // of workers and objects
// The last thing before the core decides: a plan, if one is due.
void hub_ahead_look(struct hub *hub);
rota_time hub_ahead_due(const struct hub *hub);  // ticks; ROTA_NEVER

// For who asks why a task waits: "7.3=4 7.9=2", tasks and the workers they are planned for, as many
// as there is room for. Returns the length.
size_t hub_ahead_text(const struct hub *hub, char *out, size_t size);
