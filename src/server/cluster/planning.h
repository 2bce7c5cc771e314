// planning.h - plans ahead for jobs whose tasks exchange objects (plan/live/live.h).
#pragma once

#include "plan/live/live.h"
#include "server/cluster/cluster.h"

// While the server is opened it passes its records, so that stored jobs are planned, too.
void cluster_ahead_restored(void *live, const struct rota_record *records, uint32_t count);
// After cluster_open(): the planner belongs to the cluster from now on. Null: no planning ahead.
void cluster_ahead_begin(struct cluster *cluster, struct live *live);

// In a turn, after the core has accepted it.
void cluster_ahead_submitted(struct cluster *cluster, rota_job_id job,
                             const struct rota_job_spec *spec, const struct store_text *texts);
void cluster_ahead_ended(struct cluster *cluster, const struct wire_finished *finished);
void cluster_ahead_gone(struct cluster *cluster, rota_job_id job);
void cluster_ahead_news(struct cluster *cluster);  // about workers and objects
// Runs last before the core decides: makes a plan, if one is due.
void cluster_ahead_look(struct cluster *cluster);
rota_time cluster_ahead_due(const struct cluster *cluster);  // ticks; ROTA_NEVER

// For `rota why`: "7.3=4 7.9=2", tasks and their planned workers, as many as fit. Returns the
// length.
size_t cluster_ahead_text(const struct cluster *cluster, char *out, size_t size);
