// submission.c - tasks, bundles and objects of a play, collected into a submission.
#include "sim/play/internal.h"

#include <stdlib.h>
#include <string.h>

// ---- The batch -------------------------------------------------------------

static void draft_release(struct play *play, struct draft *draft)
{
    if (draft->name && draft->name < play->drafted_capacity) play->drafted[draft->name] = 0;
    for (uint32_t i = 0; i < draft->spec.clause_count; i++) free(draft->clause_names[i]);
    free(draft->clause_names);
    free(draft->clauses);
}

static void drafts_release(struct play *play)
{
    struct batch *batch = &play->batch;
    for (uint32_t i = 0; i < batch->draft_count; i++) draft_release(play, &batch->drafts[i]);
    batch->draft_count = 0;
    strings_release(&batch->keeps);
}

void batch_begin(struct play *play)
{
    struct batch *batch = &play->batch;
    if (play->block.open && play->block.submitted)
        play_wrong(play, "this turn has a submission already");
    if (play->halt) return;
    drafts_release(play);
    batch->opens_job = batch->last = false;
    batch->grows = 0;
    batch->task_count = 0;
    batch->error = ROTA_OK;
    batch->edge_count = batch->clause_count = batch->input_count = batch->output_count = 0;
}

void batch_release(struct play *play)
{
    struct batch *batch = &play->batch;
    drafts_release(play);
    free(batch->drafts);
    free(batch->tasks);
    free(batch->edges);
    free(batch->clauses);
    free(batch->inputs);
    free(batch->outputs);
}

void batch_refuse(struct play *play, enum batch_blame blame, enum rota_error error,
                  const char *reason)
{
    struct batch *batch = &play->batch;
    if (batch->open && play->refused) {
        turn_refuse(play, error, reason);
        return;
    }
    if (batch->error) return;
    batch->error = error;
    batch->blame = blame;
    batch->error_line = play->line;
    snprintf(batch->error_reason, sizeof batch->error_reason, "%s", reason);
}

static void batch_add(struct play *play, const struct draft *draft)
{
    struct batch *batch = &play->batch;
    ARRAY_GROW(batch->drafts, batch->draft_count, batch->draft_capacity);
    batch->drafts[batch->draft_count++] = *draft;
    if (draft->is_object) return;
    batch->task_count++;
    ARRAY_GROW(play->drafted, draft->name, play->drafted_capacity);
    play->drafted[draft->name] = batch->task_count;
}

// ---- Tasks and bundles -----------------------------------------------------

// A name is taken by the batch, or by an earlier task of the job that the batch extends.
static bool name_is_taken(const struct play *play, uint32_t name)
{
    if (name < play->drafted_capacity && play->drafted[name]) return true;
    uint32_t row = name < play->newest_capacity ? play->newest[name] : 0;
    if (!row || play->batch.opens_job) return false;
    uint32_t job = play->batch.grows ? play->batch.grows : play->job_count;
    return play->tasks[row].id.job == play->jobs[job].id.number;
}

static void draft_take_condition(struct play *play, struct draft *draft)
{
    const char *text = take_pair(play, "when");
    if (!text || !*text) return;  // an empty value names nothing
    uint32_t max = (uint32_t)strlen(text) + 1, place = 0;
    const char *reason = "", **names = array_resize(NULL, max, sizeof *names);
    uint32_t *lengths = array_resize(NULL, max, sizeof *lengths);
    draft->clauses = array_resize(NULL, max, sizeof *draft->clauses);
    draft->clause_names = array_resize(NULL, max, sizeof *draft->clause_names);
    int count = rota_condition_parse(text, draft->clauses, names, lengths, max, &place, &reason);
    for (int i = 0; i < count; i++) {
        draft->clause_names[i] = names[i] ? text_copy(names[i], lengths[i]) : NULL;
    }
    draft->spec.clause_count = count > 0 ? (uint32_t)count : 0;
    free(names);
    free(lengths);
    if (count >= 0) return;
    char message[160];
    snprintf(message, sizeof message, "when=\"%s\": at %u: %s", text, place + 1, reason);
    batch_refuse(play, BATCH_BLAMES_TEXT, ROTA_BAD_EVENT, message);
}

static void draft_take_lane(struct play *play, struct rota_task_spec *spec)
{
    const char *lane = take_pair(play, "lane"), *group = take_pair(play, "group");
    const char *access = take_pair(play, "access");
    if (lane) spec->lane = names_add(&play->lane_names, lane);
    if (group) spec->group = names_add(&play->group_names, group);
    if (!access) return;
    if (strcmp(access, "read") == 0) spec->access = ROTA_ACCESS_READ;
    else if (strcmp(access, "write") == 0) spec->access = ROTA_ACCESS_WRITE;
    else batch_refuse(play, BATCH_BLAMES_TEXT, ROTA_BAD_EVENT, "access is read or write");
}

// A value out of bounds is sent to the core, which refuses it.
static int16_t take_priority(struct play *play)
{
    const char *value = take_pair(play, "priority");
    uint64_t number = 0;
    if (!value) return 0;
    bool negative = *value == '-';
    if (!number_parse(value + (negative || *value == '+'), UINT32_MAX, &number)) {
        play_wrong(play, "priority=%s: not a number", value);
    }
    int16_t priority = number < INT16_MAX ? (int16_t)number : INT16_MAX;
    return negative ? (int16_t)-priority : priority;
}

static void draft_take_needs(struct play *play, struct rota_task_spec *spec)
{
    const uint64_t mib = 1 << 20;
    const char *machine = take_pair(play, "machine");
    uint64_t memory = take_size(play, "mem", 0);
    uint64_t memory_mib = memory / mib + (memory % mib != 0);
    spec->cores = take_number(play, "cpus", 1);
    spec->memory_mib = memory_mib < UINT32_MAX ? (uint32_t)memory_mib : UINT32_MAX;
    if (machine) spec->machine = names_add(&play->machine_names, machine);
    spec->retries_max = take_number(play, "retries", 0);
    spec->estimate = take_time(play, "estimate", 0);
    spec->priority = take_priority(play);
}

// A bundle takes every option of a task, so that the core refuses those that a bundle may not have.
static void draft_take_words(struct play *play, struct draft *draft)
{
    const char *key;
    draft->after = take_pair(play, "after");
    draft->bundle = take_pair(play, "bundle");
    draft->inputs = take_pair(play, "in");
    draft->outputs = take_pair(play, "out");
    draft->keys = take_pair(play, "deps");
    if ((key = take_pair(play, "key"))) draft->spec.key = key_meet(play, key);
    if (take_flag(play, "idle")) draft->spec.flags |= ROTA_TASK_ON_DEMAND;
    draft_take_needs(play, &draft->spec);
    draft_take_lane(play, &draft->spec);
    draft_take_condition(play, draft);
    take_end(play);
}

static void task_or_bundle(struct play *play, uint32_t flags)
{
    bool alone = !play->batch.open;
    if (alone) batch_begin(play);
    struct draft draft = { .spec.flags = flags };
    draft.name = names_add(&play->task_names, take_name(play));
    draft_take_words(play, &draft);
    if (!play->halt && name_is_taken(play, draft.name)) {
        batch_refuse(play, BATCH_BLAMES_PLAY, ROTA_BAD_EVENT, "its job has a task of that name");
        draft.name = 0;
    }
    if (play->halt || play->answer || !draft.name) draft_release(play, &draft);
    else batch_add(play, &draft);
    if (alone && !play->halt) batch_submit(play);
}

void verb_task(struct play *play)
{
    task_or_bundle(play, 0);
}

void verb_bundle(struct play *play)
{
    task_or_bundle(play, ROTA_TASK_BUNDLE);
}

// ---- Objects ---------------------------------------------------------------

void verb_object(struct play *play)
{
    bool alone = !play->batch.open;
    if (alone) batch_begin(play);
    struct draft draft = { .is_object = true };
    object_meet(play, take_name(play), &draft.upload.object);
    draft.upload.bytes = take_size(play, "size", 0);
    draft.holders = take_pair(play, "at");
    if (draft.holders) draft.upload.flags |= ROTA_OBJECT_AWAY;
    if (take_flag(play, "keep")) draft.upload.flags |= ROTA_OBJECT_KEEP;
    take_end(play);
    if (play->halt) return;
    batch_add(play, &draft);
    if (alone) batch_submit(play);
}

// ---- begin, submit ---------------------------------------------------------

void verb_begin(struct play *play)
{
    take_end(play);
    if (play->batch.open) play_wrong(play, "'submit' is missing after the last 'begin'");
    batch_begin(play);
    play->batch.open = !play->halt;
}

void verb_submit(struct play *play)
{
    play->batch.last = take_flag(play, "last");
    take_end(play);
    if (!play->batch.open) play_wrong(play, "'submit' without 'begin'");
    play->batch.open = false;
    if (!play->halt) batch_submit(play);
}
