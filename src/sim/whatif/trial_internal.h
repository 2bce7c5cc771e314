// trial_internal.h - the parts of a trial: a core, a model of its cluster, and plans for it.
#pragma once

#include "sim/whatif/whatif.h"
#include "base/base.h"

enum news_kind { NEWS_STARTED, NEWS_ENDED, NEWS_FAILED, NEWS_LOST, NEWS_NO_ROOM, NEWS_ARRIVED };
struct news {  // a report of a worker
    enum news_kind kind;
    uint32_t worker, task, attempt;  // for an arrival, `task` is the object
    double at;                       // when it happened
};

struct message {  // a message, delayed by the latency of the network
    double due;
    bool is_order;  // from the core to a worker; otherwise from a worker to the core
    union {
        struct rota_action order;
        struct news news;
    };
};

struct trial {
    const struct whatif_job *job;
    const struct whatif_setting *setting;
    const struct whatif_options *options;
    struct whatif_course *course;
    struct plan_graph seen;  // as the planner sees it
    struct rota *rota;
    struct model *model;
    struct rolling *rolling;  // null: the core places tasks by itself
    struct plan_schedule first;
    rota_time now;
    rota_job_id number;
    uint32_t *attempt;          // by task: the attempt that its worker knows
    struct rota_output *sizes;  // of one task
    bool is_over, has_failed;
    uint64_t events, moves, planned;
    uint32_t plans, replans;
    double core_seconds, plan_seconds, search_seconds, replan_seconds;
    double plan_at, plan_next;  // a plan is made, and takes effect, not before; below 0: no plan

    struct message *messages;  // a queue
    uint32_t message_first, message_count, message_capacity;

    struct direction {  // between the core and a worker; its messages stay in order
        double due;     // of the last message
        uint64_t random;
    } *directions;  // to workers, then from them; null: nothing is lost

    double *crash_at, *back_at;  // by worker; null: no worker crashes
    uint64_t *random;            // by worker
    struct model_arrival *broken;  // downloads to be requested again
    uint32_t broken_count, broken_capacity;
};

static inline rota_object_id trial_object(uint32_t object)
{
    return (rota_object_id){1, (uint64_t)object + 1};
}

void trial_step(struct trial *trial, struct rota_event *event);
// False: the core ignores it, because the task or worker is gone.
bool trial_tell(struct trial *trial, struct rota_event *event);
void trial_turn(struct trial *trial);
void trial_join(struct trial *trial, uint32_t worker);

// ---- trial_messages.c: messages between the core and workers ------------------------------------

void trial_messages_open(struct trial *trial);
void trial_messages_close(struct trial *trial);
void trial_order(struct trial *trial, const struct rota_action *action);
void trial_news(struct trial *trial, struct news news);
double trial_messages_due(const struct trial *trial);
bool trial_messages_deliver(struct trial *trial);  // false: there is no message

// ---- trial_work.c: how workers carry out actions, and what they report --------------------------

void trial_obey(struct trial *trial, const struct rota_action *action);
void trial_hear(struct trial *trial, const struct news *news);

// ---- trial_faults.c ----------------------------------------------------------------------------

void trial_faults_open(struct trial *trial);
void trial_faults_close(struct trial *trial);
double trial_unit(uint64_t *random);  // between 0 and 1, exclusively
double trial_faults_due(const struct trial *trial);
void trial_faults_happen(struct trial *trial);
void trial_fate(struct trial *trial, uint32_t task);  // chooses how a new attempt will end

// ---- trial_plan.c: when plans are made, and take effect -----------------------------------------

void trial_plan_first(struct trial *trial);
void trial_plan_again(struct trial *trial);
double trial_plan_due(const struct trial *trial);
void trial_plan_close(struct trial *trial);
