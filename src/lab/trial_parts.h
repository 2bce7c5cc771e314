// trial_parts.h - the inside of a trial: a core, a model of its cluster, and plans for it.
#pragma once

#include "lab/lab.h"

struct trial {
    const struct lab_job *job;
    const struct lab_setting *setting;
    const struct lab_options *options;
    struct lab_course *course;
    struct plan_graph seen;  // what the planner is told
    struct rota *rota;
    struct model *model;
    struct rolling *rolling;  // null: the core places tasks by itself
    struct plan_schedule first;
    rota_time now;
    rota_job_id number;
    uint32_t *attempt;          // by task
    struct rota_output *sizes;  // of one task
    uint32_t left;
    uint64_t events, moves, planned;
    uint32_t plans, replans;
    double core_seconds, plan_seconds, search_seconds, replan_seconds;
    double plan_at, plan_next;  // a plan is made, and takes effect, not before; below 0: none is
};

void trial_step(struct trial *trial, struct rota_event *event);
void trial_turn(struct trial *trial);

// ---- trial_plan.c: when plans are made, and take effect --------------------------------------

void trial_plan_first(struct trial *trial);
void trial_plan_again(struct trial *trial);
double trial_plan_due(const struct trial *trial);
void trial_plan_close(struct trial *trial);
