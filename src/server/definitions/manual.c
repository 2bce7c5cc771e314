// manual.c - manual actions for one task: stage, start, green, red, reset, freeze, abort.
#include "server/definitions/definitions.h"

#include <string.h>

static const struct act {
    const char *word;
    enum rota_event_kind kind;
    enum rota_manual manual;
} acts[] = {
    {"stage", ROTA_EVENT_STAGE, 0},
    {"abort", ROTA_EVENT_CANCEL, 0},
    {"start", ROTA_EVENT_MANUAL, ROTA_MANUAL_START},
    {"green", ROTA_EVENT_MANUAL, ROTA_MANUAL_GREEN},
    {"red", ROTA_EVENT_MANUAL, ROTA_MANUAL_RED},
    {"reset", ROTA_EVENT_MANUAL, ROTA_MANUAL_RESET},
    {"freeze", ROTA_EVENT_MANUAL, ROTA_MANUAL_FREEZE},
};

bool act_event(const char *word, rota_task_id task, struct rota_event *event)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(acts[i].word, word) != 0) continue;
        *event = (struct rota_event){.kind = acts[i].kind};
        if (acts[i].manual) {
            event->manual.task = task;
            event->manual.action = acts[i].manual;
        } else {
            event->task.task = task;
        }
        return true;
    }
    return false;
}
