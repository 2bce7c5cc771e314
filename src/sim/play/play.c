// play.c - runs a play from its first line to its last.
#include "sim/play/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// ---- Statements ------------------------------------------------------------

enum verb_flag {
    VERB_NEEDS_NO_CORE = 1,
    VERB_CHANGES_NOTHING = 2,  // there is no turn after it
    VERB_MAY_BE_STALE = 4,     // a late report is rejected, which is not an error
    VERB_MAY_BE_DONE = 8,      // refused as not_now: it is already done
    VERB_DRAFTS = 16,          // between begin and submit it only adds to the submission
    VERB_TAKES_TURNS = 32,     // it makes its own turns, without one after it
};

static const struct verb {
    const char *word;
    play_verb_fn *run;
    unsigned flags;
    enum rota_event_kind event;  // that it sends, if it shares its function with others
} verbs[] = {
    { "config", verb_config, VERB_NEEDS_NO_CORE | VERB_CHANGES_NOTHING, 0 },
    { "worker", verb_worker, 0, 0 },
    { "lane", verb_lane, 0, 0 },
    { "job", verb_job, VERB_DRAFTS, 0 },
    { "begin", verb_begin, VERB_CHANGES_NOTHING, 0 },
    { "submit", verb_submit, 0, 0 },
    { "task", verb_task, VERB_DRAFTS, 0 },
    { "bundle", verb_bundle, VERB_DRAFTS, 0 },
    { "object", verb_object, VERB_DRAFTS, 0 },
    { "claim", verb_of_handler, 0, ROTA_EVENT_CLAIM },
    { "deliver", verb_of_handler, 0, ROTA_EVENT_DELIVER },
    { "fail", verb_of_handler, 0, ROTA_EVENT_FAIL },
    { "start", verb_start, VERB_MAY_BE_STALE, 0 },
    { "finish", verb_finish, VERB_MAY_BE_STALE, 0 },
    { "pick", verb_pick, 0, 0 },
    { "complete", verb_complete, VERB_MAY_BE_STALE, 0 },
    { "located", verb_located, VERB_MAY_BE_STALE, 0 },
    { "lost", verb_lost, VERB_MAY_BE_STALE, 0 },
    { "holds", verb_holds, 0, 0 },
    { "progress", verb_progress, VERB_MAY_BE_STALE, 0 },
    { "silent", verb_silent, 0, 0 },
    { "heard", verb_heard, 0, 0 },
    { "leave", verb_leave, 0, 0 },
    { "bind", verb_bind, 0, 0 },
    { "pause", verb_of_pause, 0, ROTA_EVENT_PAUSE },
    { "resume", verb_of_pause, 0, ROTA_EVENT_RESUME },
    { "keep", verb_keep, VERB_DRAFTS, ROTA_EVENT_KEEP },
    { "unkeep", verb_of_object, 0, ROTA_EVENT_RELEASE },
    { "read", verb_of_object, 0, ROTA_EVENT_READ },
    { "cancel", verb_cancel, 0, 0 },
    { "retry", verb_of_task, 0, ROTA_EVENT_RETRY },
    { "close", verb_close, 0, 0 },
    { "gone", verb_gone, 0, 0 },
    { "stage", verb_of_task, VERB_MAY_BE_DONE, ROTA_EVENT_STAGE },
    { "manual", verb_manual, 0, 0 },
    { "wait", verb_wait, 0, 0 },
    { "waitsome", verb_waitsome, 0, 0 },
    { "at", verb_at, VERB_TAKES_TURNS, 0 },
    { "advance", verb_advance, VERB_TAKES_TURNS, 0 },
    { "turn", verb_turn, VERB_TAKES_TURNS, 0 },
    { "end", verb_end, VERB_TAKES_TURNS, 0 },
    { "restart", verb_restart, VERB_CHANGES_NOTHING, 0 },
    { "plan", verb_plan, 0, 0 },
    { "expect", verb_expect, VERB_CHANGES_NOTHING, 0 },
};

static const struct verb *verb_find(struct play *play, const char *word)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verbs[i].word, word) == 0) return &verbs[i];
    }
    play_wrong(play, "unknown statement '%s'", word);
    return NULL;
}

// ---- Checking a statement -----------------------------------------------------------------------

static bool code_exists(const char *code)
{
    if (strcmp(code, "any") == 0) return true;
    for (int error = ROTA_OK + 1; error < ROTA_ERRORS; error++) {
        if (strcmp(rota_error_name((enum rota_error)error), code) == 0) return true;
    }
    return false;
}

static bool is_tolerated(const struct play *play, const struct verb *verb)
{
    if (play->answer == ROTA_STALE) return verb->flags & VERB_MAY_BE_STALE;
    return play->answer == ROTA_NOT_NOW && verb->flags & VERB_MAY_BE_DONE;
}

// Any answer of the core is accepted.
static bool is_maybe(const struct play *play)
{
    return play->refused && strcmp(play->refused, "maybe") == 0;
}

static void answer_judge(struct play *play, const struct verb *verb)
{
    char expected[100] = "accepted", actual[300] = "accepted";
    const char *name = rota_error_name(play->answer);
    bool fine = !play->answer || is_tolerated(play, verb);
    if (play->answer) {
        snprintf(actual, sizeof actual, "refused: %s: %s", name, play->reason);
    }
    if (play->refused) {
        bool any = strcmp(play->refused, "any") == 0, maybe = is_maybe(play);
        fine = maybe || (play->answer && (any || strcmp(play->refused, name) == 0));
        snprintf(expected, sizeof expected, "refused: %s", play->refused);
    }
    if (!fine) play_fail(play, expected, actual);
    if (play->changed) play_fail(play, "a refusal changes nothing", "the digest has changed");
}

// ---- Line by line ----------------------------------------------------------

// Takes `refused CODE`, or `maybe`, and the verb off the front.
static const struct verb *statement_begin(struct play *play)
{
    uint32_t at = 0;
    play->halt = PLAY_CONTINUES;
    play->refused = NULL;
    play->answer = ROTA_OK;
    play->changed = false;
    if (strcmp(play->words[0].text, "refused") == 0) {
        if (play->word_count < 3 || !code_exists(play->words[1].text)) {
            play_wrong(play, "the form is: refused CODE STATEMENT");
            return NULL;
        }
        play->refused = play->words[1].text;
        at = 2;
    }
    if (strcmp(play->words[0].text, "maybe") == 0 && play->word_count > 1) {
        play->refused = "maybe";
        at = 1;
    }
    for (uint32_t i = 0; i <= at; i++) play->words[i].used = true;
    const struct verb *verb = verb_find(play, play->words[at].text);
    if (verb) play->event = verb->event;
    return verb;
}

static bool is_request(const struct play *play, const struct verb *verb)
{
    if (verb->flags & VERB_CHANGES_NOTHING || play->block.open) return false;
    return !(verb->flags & VERB_DRAFTS) || !play->batch.open;
}

static void statement_carry_out(struct play *play, const struct verb *verb)
{
    verb->run(play);
    if (play->halt && play->block.open) return;
    if (play->halt) {
        // Everything that the core has accepted must be recorded before the next statement.
        if (play->kept_count && play->halt != PLAY_STOPS) turn_settle(play);
        return;
    }
    answer_judge(play, verb);
    if (play->block.open) return;
    if (!(verb->flags & (VERB_CHANGES_NOTHING | VERB_TAKES_TURNS))) turn_settle(play);
    if (play->batch.sent && !play->halt) {
        play_fail(play, "an answer that names the job", "none");
        play->halt = PLAY_STOPS;
    }
}

static void statement_run(struct play *play)
{
    const struct verb *verb = statement_begin(play);
    if (!verb) return;
    if (!(verb->flags & VERB_NEEDS_NO_CORE) && !turn_open(play)) return;
    if (is_request(play, verb)) request_begin(play);
    if (!play->halt) statement_carry_out(play, verb);
    if (!play->block.open) request_end(play);
}

static void restart_if_asked(struct play *play, const char *verb)
{
    if (!play->options.restart_everywhere || !play->rota || play->batch.open || play->halt) return;
    if (play->block.open) return;
    if (strcmp(verb, "expect") == 0) return;
    turn_restart(play);
    if (!play->halt) bounds_tell(play);
}

// Separates the decisions by their statements; also if an assertion of the core fails.
static void statement_trace(const struct play *play)
{
    if (!play->options.trace) return;
    fprintf(play->out, "%s:%u: %.*s\n", play->file, play->line,
            (int)strcspn(play->line_text, "\r\n"), play->line_text);
}

static void lines_run(struct play *play, const char *text, char *copy)
{
    char *place = copy;
    for (play->line = 1; *place && play->halt != PLAY_STOPS; play->line++) {
        play->line_text = text + (place - copy);
        play->halt = PLAY_CONTINUES;
        const char *mistake = words_cut(&place, &play->words, &play->word_count,
                                        &play->word_capacity);
        if (mistake) play_wrong(play, "%s", mistake);
        if (mistake || !play->word_count) continue;
        request_read_line(play);
        statement_trace(play);
        statement_run(play);
        restart_if_asked(play, play->words[0].text);
    }
    if (play->halt == PLAY_STOPS) return;
    play->line_text = "";
    play->halt = PLAY_CONTINUES;
    if (play->batch.open) play_wrong(play, "the play ends before 'submit'");
    else if (play->block.open) play_wrong(play, "the play ends before 'end'");
    else turn_open(play);  // a play that only configures opens the core, too
    again_end(play);
}

// ---- A play from the first line to the last -----------------------------------------------------

// Plans are made at once, and all decisions are kept for the message of a failure.
static struct rota_config config_of_plays(void)
{
    struct rota_config config = rota_config_default();
    config.policy = ROTA_POLICY_PLAN;
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    config.overbook = 0;
    config.trace = true;
    return config;
}

static void play_init(struct play *play)
{
    play->config = config_of_plays();
    play->completed = "-";
    play->store = store_open_memory();
    assert(play->store);
    ARRAY_GROW(play->tasks, 0, play->task_capacity);
    ARRAY_GROW(play->jobs, 0, play->job_capacity);
}

static void play_release(struct play *play)
{
    rota_close(play->rota);
    store_close(play->store);
    store_close(play->lasting);
    turn_keep_nothing(play);
    batch_release(play);
    play_things_release(play);
    strings_release(&play->decisions);
    strings_release(&play->started);
    strings_release(&play->dropped);
    free(play->kept);
    free(play->actions);
    free(play->words);
}

static enum play_result play_judge(const struct play *play)
{
    if (play->broken) return PLAY_BROKEN;
    if (play->wrong) return PLAY_WRONG;
    return play->failures ? PLAY_FAILED : PLAY_PASSED;
}

static enum play_result text_run(struct play *play, const char *text)
{
    char *copy = text_copy(text, strlen(text));
    lines_run(play, text, copy);
    free(copy);
    return play_judge(play);
}

enum play_result play_run(const char *file, const char *text, const struct play_options *options,
                          FILE *out)
{
    struct play play = { .file = file, .options = *options, .out = out, .line_text = "" };
    play_init(&play);
    enum play_result result = again_open(&play);
    if (!result) result = text_run(&play, text);
    play_release(&play);
    return result;
}
