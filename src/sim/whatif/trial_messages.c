// trial_messages.c - messages between the core and workers, delayed by the network.
//
// A lost message is sent again, each time after a longer delay, and later messages in the same
// direction wait for it, as over TCP.
#include "sim/whatif/trial_internal.h"

#include <stdlib.h>

static const double resend_first = 0.2, resend_most = 60;  // seconds, as Linux has them

void trial_messages_open(struct trial *trial)
{
    uint32_t count = 2 * trial->setting->cluster.worker_count;
    if (trial->options->faults.loss <= 0) return;
    trial->directions = plan_take(count, sizeof *trial->directions);
    for (uint32_t i = 0; i < count; i++) {
        trial->directions[i].random = (trial->options->seed * 1000003 + i) * 1000003;
        random_next(&trial->directions[i].random);
    }
}

void trial_messages_close(struct trial *trial)
{
    free(trial->directions), free(trial->messages);
}

// ---- Directions ---------------------------------------------------------------------------------

static bool takes_time(const struct trial *trial)
{
    return trial->setting->cluster.latency > 0 || trial->directions;
}

// PLAN_NONE: it is not for a worker.
static uint32_t receiver(const struct rota_action *action)
{
    switch (action->kind) {
    case ROTA_ACTION_FETCH: return action->fetch.worker.number - 1;
    case ROTA_ACTION_DROP: return action->drop.worker.number - 1;
    case ROTA_ACTION_STOP: return action->stop.worker.number - 1;
    case ROTA_ACTION_RUN: return action->run.worker.number - 1;
    default: return PLAN_NONE;
    }
}

static double resent(struct direction *direction, double loss)
{
    double later = 0, pause = resend_first;
    while (trial_unit(&direction->random) < loss) {
        later += pause;
        pause = pause * 2 < resend_most ? pause * 2 : resend_most;
    }
    return later;
}

static double arrives(struct trial *trial, uint32_t way)
{
    double due = model_now(trial->model) + trial->setting->cluster.latency;
    if (!trial->directions) return due;
    struct direction *direction = &trial->directions[way];
    due += resent(direction, trial->options->faults.loss);
    if (direction->due < due) direction->due = due;
    return direction->due;
}

// ---- Delayed messages ---------------------------------------------------------------------------

static void post(struct trial *trial, struct message message)
{
    if (!ARRAY_MORE_RAW(&memory_heap, trial->messages, trial->message_count,
                        trial->message_capacity))
        abort();
    uint32_t at = trial->message_count++;
    for (; at > trial->message_first && trial->messages[at - 1].due > message.due; at--)
        trial->messages[at] = trial->messages[at - 1];
    trial->messages[at] = message;
}

void trial_order(struct trial *trial, const struct rota_action *action)
{
    uint32_t to = receiver(action);
    if (to == PLAN_NONE) return;
    if (!takes_time(trial))
        trial_obey(trial, action);
    else
        post(trial, (struct message){.due = arrives(trial, to), .is_order = true,
                                    .order = *action});
}

void trial_news(struct trial *trial, struct news news)
{
    uint32_t from = trial->setting->cluster.worker_count + news.worker;
    if (!takes_time(trial))
        trial_hear(trial, &news);
    else
        post(trial, (struct message){.due = arrives(trial, from), .news = news});
}

double trial_messages_due(const struct trial *trial)
{
    if (trial->message_first == trial->message_count) return 1e300;
    return trial->messages[trial->message_first].due;
}

bool trial_messages_deliver(struct trial *trial)
{
    bool some = false;
    while (trial_messages_due(trial) <= model_now(trial->model)) {
        struct message message = trial->messages[trial->message_first++];
        some = true;
        if (message.is_order) trial_obey(trial, &message.order);
        else trial_hear(trial, &message.news);
    }
    if (trial->message_first == trial->message_count)
        trial->message_first = trial->message_count = 0;
    return some;
}
