// trial_mail.c - what the core and workers say to each other, as late as the network makes it.
#include "lab/trial_parts.h"

#include <stdlib.h>

static void post(struct trial *trial, struct letter letter)
{
    if (trial->letter_count == trial->letter_capacity) {
        trial->letter_capacity = trial->letter_capacity ? trial->letter_capacity * 2 : 256;
        trial->letters
            = realloc(trial->letters, trial->letter_capacity * sizeof *trial->letters);
        if (!trial->letters) abort();
    }
    letter.due = model_now(trial->model) + trial->setting->cluster.latency;
    trial->letters[trial->letter_count++] = letter;
}

void trial_order(struct trial *trial, const struct rota_action *action)
{
    if (trial->setting->cluster.latency <= 0)
        trial_obey(trial, action);
    else
        post(trial, (struct letter){.is_order = true, .order = *action});
}

void trial_news(struct trial *trial, struct news news)
{
    if (trial->setting->cluster.latency <= 0)
        trial_hear(trial, &news);
    else
        post(trial, (struct letter){.news = news});
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
