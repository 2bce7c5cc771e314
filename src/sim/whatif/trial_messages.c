// trial_messages.c - messages between the core and workers, delayed by the network.
//
// A lost message is sent again, each time after a longer delay, and later messages in the same
// direction wait for it, as over TCP.
#include "sim/whatif/trial_internal.h"

#include <stdlib.h>

static const double resend_first = 0.2, resend_most = 60;  // seconds, as Linux has them

void trial_mail_open(struct trial *trial)
{
    uint32_t count = 2 * trial->setting->cluster.worker_count;
    if (trial->options->faults.loss <= 0) return;
    trial->wires = plan_take(count, sizeof *trial->wires);
    for (uint32_t i = 0; i < count; i++) {
        trial->wires[i].random = (trial->options->seed * 1000003 + i) * 1000003;
        random_next(&trial->wires[i].random);
    }
}

void trial_mail_close(struct trial *trial)
{
    free(trial->wires), free(trial->letters);
}

// ---- Ways ---------------------------------------------------------------------------------------

static bool takes_time(const struct trial *trial)
{
    return trial->setting->cluster.latency > 0 || trial->wires;
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

static double resent(struct wire *wire, double loss)
{
    double later = 0, pause = resend_first;
    while (trial_unit(&wire->random) < loss) {
        later += pause;
        pause = pause * 2 < resend_most ? pause * 2 : resend_most;
    }
    return later;
}

static double arrives(struct trial *trial, uint32_t way)
{
    double due = model_now(trial->model) + trial->setting->cluster.latency;
    if (!trial->wires) return due;
    struct wire *wire = &trial->wires[way];
    due += resent(wire, trial->options->faults.loss);
    if (wire->due < due) wire->due = due;
    return wire->due;
}

// ---- Letters ------------------------------------------------------------------------------------

static void post(struct trial *trial, struct letter letter)
{
    if (!ARRAY_MORE_RAW(&memory_heap, trial->letters, trial->letter_count, trial->letter_capacity))
        abort();
    uint32_t at = trial->letter_count++;
    for (; at > trial->letter_first && trial->letters[at - 1].due > letter.due; at--)
        trial->letters[at] = trial->letters[at - 1];
    trial->letters[at] = letter;
}

void trial_order(struct trial *trial, const struct rota_action *action)
{
    uint32_t to = receiver(action);
    if (to == PLAN_NONE) return;
    if (!takes_time(trial))
        trial_obey(trial, action);
    else
        post(trial, (struct letter){.due = arrives(trial, to), .is_order = true,
                                    .order = *action});
}

void trial_news(struct trial *trial, struct news news)
{
    uint32_t from = trial->setting->cluster.worker_count + news.worker;
    if (!takes_time(trial))
        trial_hear(trial, &news);
    else
        post(trial, (struct letter){.due = arrives(trial, from), .news = news});
}

double trial_mail_due(const struct trial *trial)
{
    if (trial->letter_first == trial->letter_count) return 1e300;
    return trial->letters[trial->letter_first].due;
}

bool trial_mail_deliver(struct trial *trial)
{
    bool some = false;
    while (trial_mail_due(trial) <= model_now(trial->model)) {
        struct letter letter = trial->letters[trial->letter_first++];
        some = true;
        if (letter.is_order) trial_obey(trial, &letter.order);
        else trial_hear(trial, &letter.news);
    }
    if (trial->letter_first == trial->letter_count) trial->letter_first = trial->letter_count = 0;
    return some;
}
