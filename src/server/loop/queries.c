// queries.c - `rota server`: answers queries with a process for each, which reads the database.
//
// A peer sends a query as the words of a rota command, for example `why 7.3`. The server checks the
// words, starts the command as a child process with the database as its argument, and forwards its
// output in pieces; the last piece has its exit status. Only commands that read are allowed.
//
// A struct serve_question belongs to the loop and to the peer that asked; it ends with the process,
// with the connection, or after a timeout. A peer that does not read leaves the output in the pipe,
// so the process waits. The number of queries is limited, for all and for each key: further ones
// wait, and a query that makes no progress is stopped if another one waits.
#include "server/loop/loop.h"
#include "os/os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 64, PIECE = 64 << 10, QUERIES_MAX = 16, QUERIES_ADMIN = 4 };
enum { SECOND = 1000000, UNREAD_SECONDS = 30, ANSWER_SECONDS = 600 };

// No more of the answer is read, and no other query begins, before the peer has read this.
static bool is_output_full(const struct wire_out *out)
{
    return out->length > 4 * PIECE;
}

// Some are reserved for admins, so that an operator can always query.
bool serve_query_fits(struct serve *serve, struct cluster_peer *peer)
{
    uint32_t most = peer->role == WIRE_ADMIN ? QUERIES_MAX : QUERIES_MAX - QUERIES_ADMIN;
    return !is_output_full(peer->out) && serve->question_count < most
           && cluster_share_fits(&serve->cluster, peer->share, CLUSTER_SHARE_QUERIES, 1);
}

// `jobs` and `history` take the database as their argument, the others as an option.
static int question_start(const struct serve *serve, const wire_texts *words, int *output)
{
    char planned[PIECE];  // plans are not stored, so the database does not have them
    char told[128];
    char *argv[WORDS_MAX + 8] = {(char *)(uintptr_t) "rota"};
    int count = 1;
    const char *name = words->items[0].bytes;
    bool plain = strcmp(name, "jobs") == 0 || strcmp(name, "history") == 0;
    argv[count++] = (char *)(uintptr_t)name;
    if (!plain) argv[count++] = (char *)(uintptr_t) "--db";
    argv[count++] = (char *)(uintptr_t)serve->options.database;
    if (strcmp(name, "why") == 0 && cluster_ahead_text(&serve->cluster, planned, sizeof planned)) {
        argv[count++] = (char *)(uintptr_t) "--planned";
        argv[count++] = planned;
    }
    if (strcmp(name, "why") == 0) {
        snprintf(told, sizeof told, "%" PRId64 ",%" PRId64, serve->options.pull_cache,
                 serve->options.pull_inputs);
        argv[count++] = (char *)(uintptr_t) "--waits";
        argv[count++] = told;
    }
    if (strcmp(name, "top") == 0 && serve->cluster.live) {
        snprintf(told, sizeof told, "%" PRIu64 ",%" PRId64 ",%" PRId64, serve->cluster.plans,
                 serve->cluster.plan_at, serve->cluster.plan_took);
        argv[count++] = (char *)(uintptr_t) "--planner";
        argv[count++] = told;
    }
    for (uint32_t i = 1; i < words->count; i++)
        argv[count++] = (char *)(uintptr_t)words->items[i].bytes;
    return os_child_start(argv, output);
}

void serve_ask(struct serve *serve, struct serve_peer *peer, const struct wire_ask *ask)
{
    char text[200];
    const char *fault = serve->options.query_fault(&ask->words, text, sizeof text);
    if (!serve->options.database) fault = "this server has no database to query";
    int output, child = fault ? 0 : question_start(serve, &ask->words, &output);
    if (!child) {
        cluster_refuse(peer->peer, 0, ask->request, WIRE_REFUSED_REQUEST,
                   fault ? fault : strerror(errno));
        return;
    }
    struct serve_question *question = cluster_allocate(1, sizeof *question);
    *question = (struct serve_question){.kind = SERVE_QUESTION,
                                        .next = serve->questions,
                                        .peer = peer,
                                        .request = ask->request,
                                        .output = output,
                                        .child = child,
                                        .since = os_ticks()};
    serve->questions = question;
    serve->question_count++;
    cluster_share_use(peer->peer->share, CLUSTER_SHARE_QUERIES, 1);
    os_loop_add(serve->loop, output, question);
}

static void question_end(struct serve *serve, struct serve_question *question)
{
    struct serve_question **at = &serve->questions;
    while (*at != question) at = &(*at)->next;
    *at = question->next;
    serve->question_count--;
    cluster_share_return(question->peer->peer->share, CLUSTER_SHARE_QUERIES, 1);
    os_loop_remove(serve->loop, question->output);
    close(question->output);
    free(question);
}

// Output that the peer has not read stays in the pipe, and the process waits.
void serve_answer(struct serve *serve, struct serve_question *question)
{
    struct wire_out *out = &question->peer->link->out;
    char bytes[PIECE];
    if (is_output_full(out)) {
        os_loop_remove(serve->loop, question->output);
        question->rests = true;
        question->since = os_ticks();
        return;
    }
    ssize_t count = read(question->output, bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    question->since = os_ticks();
    struct wire_message message = {.kind = WIRE_ANSWER_MESSAGE};
    if (count > 0) {
        message.answer.request = question->request;
        message.answer.stream = 1;
        message.answer.bytes = (wire_text){bytes, (uint32_t)count};
        wire_put(out, &message);
        return;
    }
    message.kind = WIRE_ANSWERED_MESSAGE;
    message.answered.request = question->request;
    message.answered.status = (uint32_t)os_child_end(question->child);
    wire_put(out, &message);
    question_end(serve, question);
}

void serve_questions_resume(struct serve *serve, const struct serve_peer *peer)
{
    for (struct serve_question *question = serve->questions; question; question = question->next) {
        if (!question->rests || question->peer != peer) continue;
        os_loop_add(serve->loop, question->output, question);
        question->rests = false;
        question->since = os_ticks();
    }
}

static void question_drop(struct serve *serve, struct serve_question *question)
{
    os_child_kill(question->child);
    os_child_end(question->child);
    question_end(serve, question);
}

static uint64_t queries_of(const struct cluster_peer *peer)
{
    return peer->share->used[CLUSTER_SHARE_QUERIES];
}

// A waiting query may replace an answer of its own share, or of the share that has most of them and
// more than its own; but a client cannot replace one of an admin. So one key cannot end the answers
// of another.
static bool is_place_wanted(const struct serve *serve, const struct cluster_peer *holder)
{
    bool has_most = true;
    for (const struct serve_question *other = serve->questions; other; other = other->next)
        has_most &= queries_of(other->peer->peer) <= queries_of(holder);
    for (const struct serve_peer *peer = serve->waiting; peer; peer = peer->next_waiting) {
        const struct cluster_peer *of = peer->peer;
        if (peer->is_gone || !serve_waits_to_ask(peer) || is_output_full(of->out)) continue;
        if (of->share == holder->share) return true;
        bool may_take = of->role == WIRE_ADMIN || holder->role != WIRE_ADMIN;
        if (may_take && has_most && queries_of(of) < queries_of(holder)) return true;
    }
    return false;
}

// Returns the reason to end the answer, or null.
static const char *overdue(const struct serve *serve, const struct serve_question *question,
                           int64_t now)
{
    int64_t seconds = (now - question->since) / SECOND;
    if (seconds >= ANSWER_SECONDS)
        return question->rests ? "the answer was not read for 600 s"
                               : "the query was stopped: no answer came for 600 s";
    if (!question->rests || seconds < UNREAD_SECONDS) return NULL;
    if (!is_place_wanted(serve, question->peer->peer)) return NULL;
    return "the answer was not read for 30 s, and another query waits for its place; try again";
}

// The connection stays, so the peer gets the reason after the unread output. Only one answer is
// ended at a time, the one without progress for longest: the waiting query starts in its place
// before another answer is ended for it.
void serve_questions_look(struct serve *serve, int64_t now)
{
    struct serve_question *oldest = NULL;
    for (struct serve_question *at = serve->questions; at; at = at->next) {
        if (at->peer->is_gone || !overdue(serve, at, now)) continue;
        if (!oldest || at->since < oldest->since) oldest = at;
    }
    if (!oldest) return;
    cluster_refuse(oldest->peer->peer, 0, oldest->request, WIRE_REFUSED_BUSY,
               overdue(serve, oldest, now));
    question_drop(serve, oldest);
}

void serve_questions_drop(struct serve *serve, const struct serve_peer *peer)
{
    struct serve_question *next;
    for (struct serve_question *question = serve->questions; question; question = next) {
        next = question->next;
        if (!peer || question->peer == peer) question_drop(serve, question);
    }
}
