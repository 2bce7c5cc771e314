// trial_faults.c - faults of a trial: workers crash and return, attempts fail or take longer.
//
// The faults of a worker, and of an attempt, depend only on the seed, so two policies meet the same
// faults.
#include "sim/whatif/trial_internal.h"

#include <math.h>
#include <stdlib.h>

static const double hour = 3600;
static const double segment = 1460.0 / 1048576;  // MiB of one packet

// A TCP sender takes a loss for congestion and halves its window: on average that leaves sqrt(3/2p)
// packets per round trip.
void whatif_setting_lose(struct whatif_setting *setting, double loss)
{
    double both_ways = 2 * setting->cluster.latency;
    setting->cluster.loss = loss;
    if (loss > 0 && both_ways > 0)
        setting->cluster.flow_most = segment * sqrt(1.5 / loss) / both_ways;
}

double trial_unit(uint64_t *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) * 0x1p-53;
}

static double next_crash(struct trial *trial, uint32_t worker, double since)
{
    return since - log(trial_unit(&trial->random[worker])) * hour / trial->options->faults.crashes;
}

void trial_faults_open(struct trial *trial)
{
    uint32_t workers = trial->setting->cluster.worker_count;
    if (trial->options->faults.crashes <= 0) return;
    trial->crash_at = plan_take(workers, sizeof *trial->crash_at);
    trial->back_at = plan_take(workers, sizeof *trial->back_at);
    trial->random = plan_take(workers, sizeof *trial->random);
    for (uint32_t i = 0; i < workers; i++) {
        trial->random[i] = trial->options->seed * 1000003 + i;
        random_next(&trial->random[i]);
        trial->crash_at[i] = next_crash(trial, i, 0);
        trial->back_at[i] = 1e300;
    }
}

void trial_faults_close(struct trial *trial)
{
    free(trial->crash_at), free(trial->back_at), free(trial->random), free(trial->broken);
}

double trial_faults_due(const struct trial *trial)
{
    double due = 1e300;
    for (uint32_t i = 0; trial->crash_at && i < trial->setting->cluster.worker_count; i++) {
        double next = trial->crash_at[i] < trial->back_at[i] ? trial->crash_at[i]
                                                             : trial->back_at[i];
        if (next < due) due = next;
    }
    return due;
}

// ---- Crashes -----------------------------------------------------------------------------------

static void crash(struct trial *trial, uint32_t worker)
{
    const struct model_arrival *broken;
    uint32_t count = model_crash(trial->model, worker, &broken);
    for (uint32_t i = 0; i < count; i++) {
        if (!ARRAY_MORE_RAW(&memory_heap, trial->broken, trial->broken_count,
                            trial->broken_capacity))
            abort();
        trial->broken[trial->broken_count++] = broken[i];
    }
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_SILENT};
    event.worker.id.number = worker + 1;
    trial_tell(trial, &event);
    if (trial->rolling) rolling_worker_lost(trial->rolling, worker);
    trial->course->crashes++;
    double back = trial->options->faults.back;
    trial->back_at[worker] = back < 0 ? 1e300 : model_now(trial->model) + back;
    trial->crash_at[worker] = 1e300;
}

// A new worker process knows nothing: the tasks it had before are lost by now.
static void come_back(struct trial *trial, uint32_t worker)
{
    struct rota_worker_view view;
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_LEFT};
    event.worker.id.number = worker + 1;
    if (rota_worker_look(trial->rota, event.worker.id, &view)) trial_step(trial, &event);
    model_come_back(trial->model, worker);
    trial_join(trial, worker);
    if (trial->rolling) rolling_worker_back(trial->rolling, worker);
    trial->back_at[worker] = 1e300;
    trial->crash_at[worker] = next_crash(trial, worker, model_now(trial->model));
}

// Downloads from a worker that is gone are requested from other workers, until one has the object.
static void ask_again(struct trial *trial)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < trial->broken_count; i++) {
        struct model_arrival at = trial->broken[i];
        bool helped = model_is_down(trial->model, at.worker)
                      || model_has(trial->model, at.object, at.worker)
                      || model_is_under_way(trial->model, at.object, at.worker);
        if (!helped) {
            model_request(trial->model, at.object, at.worker, 0);
            helped = model_is_under_way(trial->model, at.object, at.worker);
        }
        if (!helped) trial->broken[kept++] = at;
    }
    trial->broken_count = kept;
}

void trial_faults_happen(struct trial *trial)
{
    double now = model_now(trial->model);
    for (uint32_t i = 0; trial->crash_at && i < trial->setting->cluster.worker_count; i++) {
        if (trial->crash_at[i] <= now) crash(trial, i);
        if (trial->back_at[i] <= now) come_back(trial, i);
    }
    if (trial->broken_count) ask_again(trial);
}

// ---- Attempts ----------------------------------------------------------------------------------

void trial_fate(struct trial *trial, uint32_t task)
{
    const struct whatif_faults *faults = &trial->options->faults;
    if (faults->failures <= 0 && faults->slow <= 0) return;
    uint64_t random = (trial->options->seed * 1000003 + task) * 1000003 + trial->attempt[task];
    random_next(&random);
    bool fails = trial_unit(&random) < faults->failures, drags = trial_unit(&random) < faults->slow;
    double times = drags ? faults->slow_times : 1;
    if (fails) times *= trial_unit(&random);
    model_fate(trial->model, task, times, fails);
}
