// live_test.c - the live planner reads the core of a server and decides where tasks should run.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/live/internal.h"

enum { GROUPS = 3, MAKERS = 4, READER = MAKERS + 1, TASKS = GROUPS * READER };

struct scene {
    struct rota *rota;
    struct live *live;
    rota_time now;
    rota_worker_id workers[8];
    uint32_t worker_count, given, asked;
    uint32_t place[TASKS + 1];  // as last reported
    char text[512];             // all that was reported, in order
};

static void step(struct scene *scene, struct rota_event event)
{
    event.now = scene->now;
    assert_int_equal(rota_step(scene->rota, &event), ROTA_OK);
}

static void turn(struct scene *scene)
{
    step(scene, (struct rota_event){.kind = ROTA_EVENT_TIME});
    struct rota_effects effects = rota_take(scene->rota);
    while (effects.more) effects = rota_take(scene->rota);
}

static uint32_t cores_each = 1;  // of the workers of a scene

static void open_with(struct scene *scene, uint32_t workers)
{
    struct rota_config config = rota_config_default();
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    *scene = (struct scene){.now = 1000000, .worker_count = workers};
    assert_int_equal(rota_open(&config, &scene->rota), ROTA_OK);
    scene->live = live_open();
    for (uint32_t i = 0; i < workers; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
        event.worker.id.number = scene->workers[i].number = i + 1;
        event.worker.cores = cores_each;
        event.worker.memory_mib = 1000;
        step(scene, event);
    }
}

static void scene_close(struct scene *scene)
{
    live_close(scene->live);
    rota_close(scene->rota);
}

// Groups of producers, the first tasks, and after them the tasks that read the outputs of a group.
static void submit(struct scene *scene, bool reads)
{
    static struct rota_task_spec tasks[TASKS];
    static struct rota_output outputs[TASKS];
    static struct rota_input inputs[GROUPS * MAKERS];
    static char names[TASKS][16];
    const char *list[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
        tasks[i] = (struct rota_task_spec){.cores = 1};
        outputs[i] = (struct rota_output){i + 1, 0, {1, i + 1}, 0, {{0}, 0}};
        snprintf(names[i], sizeof names[i], i < GROUPS * MAKERS ? "make-%u" : "read-%u", i);
        list[i] = names[i];
    }
    for (uint32_t i = 0; i < GROUPS * MAKERS; i++)
        inputs[i] = (struct rota_input){GROUPS * MAKERS + 1 + i / MAKERS, 0, {1, i + 1}};
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 5,
                                          .tasks = tasks,
                                          .outputs = outputs,
                                          .inputs = inputs,
                                          .task_count = TASKS,
                                          .output_count = TASKS,
                                          .input_count = reads ? GROUPS * MAKERS : 0};
    step(scene, event);
    assert_int_equal(live_wants(scene->live, &event.submit), reads);
    if (reads) live_submitted(scene->live, (rota_job_id){1}, &event.submit, list);
}

static const char *name_of(void *context, rota_task_id task)
{
    (void)task;
    ((struct scene *)context)->asked++;
    return "";
}

static void give(void *context, rota_job_id job, const struct rota_placement *placements,
                 uint32_t count)
{
    struct scene *scene = context;
    struct rota_event event = {.kind = ROTA_EVENT_PLAN};
    event.plan.job = job;
    event.plan.placements = placements;
    event.plan.count = count;
    step(scene, event);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(scene->text);
        snprintf(scene->text + length, sizeof scene->text - length, "%u>%u ", placements[i].task,
                 placements[i].worker.number);
        scene->place[placements[i].task] = placements[i].worker.number;
    }
    scene->given += count;
}

static void plan(struct scene *scene)
{
    struct live_view view = {.rota = scene->rota,
                              .now = scene->now,
                              .workers = scene->workers,
                              .worker_count = scene->worker_count,
                              .context = scene,
                              .name_of = name_of,
                              .give = give};
    live_plan(scene->live, &view);
    turn(scene);
}

static void inputs_of_one_task_are_produced_on_one_worker(void **state)
{
    (void)state;
    struct scene scene;
    open_with(&scene, GROUPS);
    submit(&scene, true);
    assert_int_equal(live_due(scene.live), 0);
    plan(&scene);
    assert_int_equal(scene.given, TASKS);
    assert_int_equal(scene.asked, 0);
    uint32_t used = 0;
    for (uint32_t i = 0; i < GROUPS * MAKERS; i++) {
        assert_int_equal(scene.place[i + 1], scene.place[GROUPS * MAKERS + 1 + i / MAKERS]);
        used |= 1u << scene.place[i + 1];
    }
    assert_int_equal(used, 2 + 4 + 8);  // and none of them idles
    struct rota_why why = rota_why(scene.rota, (rota_task_id){1, TASKS});
    assert_int_equal(why.planned.number, scene.place[TASKS]);
    scene_close(&scene);
}

static void the_same_is_planned_again(void **state)
{
    (void)state;
    struct scene one, other;
    open_with(&one, GROUPS);
    open_with(&other, GROUPS);
    submit(&one, true);
    submit(&other, true);
    plan(&one);
    plan(&other);
    assert_string_equal(one.text, other.text);
    live_news(one.live);
    assert_true(live_due(one.live) > one.now);  // most of the time is not for planning
    one.now = live_due(one.live);
    one.given = 0;
    plan(&one);
    assert_int_equal(one.given, 0);  // nothing happened: the plan stays
    assert_int_equal(live_due(one.live), ROTA_NEVER);
    scene_close(&one);
    scene_close(&other);
}

static void jobs_without_dependencies_are_not_planned(void **state)
{
    (void)state;
    struct scene scene;
    open_with(&scene, GROUPS);
    submit(&scene, false);
    live_news(scene.live);
    assert_int_equal(live_due(scene.live), ROTA_NEVER);
    assert_false(live_knows(scene.live, (rota_job_id){1}));
    scene_close(&scene);
}

static void one_worker_needs_no_plan(void **state)
{
    (void)state;
    struct scene scene;
    open_with(&scene, 1);
    submit(&scene, true);
    plan(&scene);
    assert_int_equal(scene.given, 0);
    scene_close(&scene);
}

// Tasks planned for it and not handed out move to other workers; assigned ones stay.
static void silent_workers_are_not_planned_for(void **state)
{
    (void)state;
    struct scene scene;
    open_with(&scene, 3);
    submit(&scene, true);
    plan(&scene);
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_SILENT};
    event.worker.id.number = 3;
    step(&scene, event);
    live_news(scene.live);
    scene.now = live_due(scene.live);
    plan(&scene);
    struct rota_task_view view;
    for (uint32_t i = 1; i <= TASKS; i++) {
        assert_true(rota_task_look(scene.rota, (rota_task_id){1, i}, &view));
        if (view.worker.number == 3) assert_int_equal(scene.place[i], 3);
        else assert_int_not_equal(scene.place[i], 3);
    }
    scene_close(&scene);
}

// A kind of long tasks counts more: the two of them do not share a worker.
static void durations_are_learned_by_kind(void **state)
{
    (void)state;
    struct scene scene;
    open_with(&scene, 2);
    live_learn(scene.live, "make-7", 100);
    live_learn(scene.live, "make-1234", 100);
    live_learn(scene.live, "read-1", 1);
    static const struct rota_task_spec tasks[4] = {{.cores = 1}, {.cores = 1}, {.cores = 1},
                                                   {.cores = 1}};
    static const struct rota_output outputs[3] = {{1, 0, {1, 1}, 1 << 30, {{0}, 0}},
                                                  {2, 0, {1, 2}, 1 << 20, {{0}, 0}},
                                                  {3, 0, {1, 3}, 1 << 20, {{0}, 0}}};
    static const struct rota_input inputs[3] = {{4, 0, {1, 1}}, {4, 0, {1, 2}}, {4, 0, {1, 3}}};
    static const char *const names[4] = {"make-1", "read-2", "make-33", "read-4"};
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 5, .tasks = tasks, .outputs = outputs,
                                          .inputs = inputs, .task_count = 4, .output_count = 3,
                                          .input_count = 3};
    step(&scene, event);
    live_submitted(scene.live, (rota_job_id){1}, &event.submit, names);
    plan(&scene);
    assert_int_not_equal(scene.place[1], scene.place[3]);
    assert_int_equal(scene.place[4], scene.place[1]);  // where the large one is
    scene_close(&scene);
}

// Their sum does not fit into 32 bits.
static void too_many_cores_are_not_planned_for(void **state)
{
    (void)state;
    struct scene scene;
    cores_each = UINT32_MAX / 2 + 1;
    open_with(&scene, 2);
    cores_each = 1;
    submit(&scene, true);
    plan(&scene);
    assert_int_equal(scene.given, 0);
    scene_close(&scene);
}

static void the_number_of_kinds_is_limited(void **state)
{
    (void)state;
    enum { MANY = 100100 };
    char name[4] = "";
    struct live *live = live_open();
    for (uint32_t i = 0; i < MANY; i++) {
        for (uint32_t k = 0, rest = i; k < 3; k++, rest /= 64) name[k] = (char)('@' + rest % 64);
        live_learn(live, name, 1);
    }
    assert_int_equal(live->kind_count, 100000);
    assert_int_equal(live->kinds[0].ends, MANY);
    live_close(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_of_one_task_are_produced_on_one_worker),
        cmocka_unit_test(the_same_is_planned_again),
        cmocka_unit_test(jobs_without_dependencies_are_not_planned),
        cmocka_unit_test(one_worker_needs_no_plan),
        cmocka_unit_test(silent_workers_are_not_planned_for),
        cmocka_unit_test(durations_are_learned_by_kind),
        cmocka_unit_test(too_many_cores_are_not_planned_for),
        cmocka_unit_test(the_number_of_kinds_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
