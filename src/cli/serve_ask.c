// serve_ask.c - `rota server`: questions are answered by a process of their own, from the database.
#include "cli/serve.h"
#include "os/os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 64, WORD_MAX = 4096, PIECE = 64 << 10, QUESTIONS_MAX = 16 };

// What may be asked: commands that only read, and print what they found.
static const char *const commands[]
    = {"ps", "show", "why", "lanes", "data", "trace", "report", "jobs", "history", "top"};

static const char *fault_of(const struct serve *serve, const wire_texts *words)
{
    bool known = false;
    if (!serve->options.database) return "this server keeps nothing that could be asked";
    if (!words->count || words->count > WORDS_MAX) return "a question has 1 to 64 words";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        known |= strcmp(words->items[0].bytes, commands[i]) == 0;
    if (!known) return "that cannot be asked of a server";
    for (uint32_t i = 1; i < words->count; i++) {
        const char *word = words->items[i].bytes;
        if (strlen(word) != words->items[i].length || words->items[i].length > WORD_MAX)
            return "a word is too long";
        // Files are the server's, and none of the client's business.
        bool file = strncmp(word, "-o", 2) == 0 || strncmp(word, "--o", 3) == 0
                    || strncmp(word, "--db", 4) == 0 || strchr(word, '/');
        if (file) return "a question to a server names no files";
    }
    return serve->question_count < QUESTIONS_MAX ? NULL : "too many questions at a time";
}

// `jobs` and `history` take the database as their argument, the others as an option.
static int question_start(const struct serve *serve, const wire_texts *words, int *output)
{
    char planned[PIECE];  // plans are kept nowhere, so the database does not have them
    char told[128];
    char *argv[WORDS_MAX + 8] = {(char *)(uintptr_t) "rota"};
    int count = 1;
    const char *name = words->items[0].bytes;
    bool plain = strcmp(name, "jobs") == 0 || strcmp(name, "history") == 0;
    argv[count++] = (char *)(uintptr_t)name;
    if (!plain) argv[count++] = (char *)(uintptr_t) "--db";
    argv[count++] = (char *)(uintptr_t)serve->options.database;
    if (strcmp(name, "why") == 0 && hub_ahead_text(&serve->hub, planned, sizeof planned)) {
        argv[count++] = (char *)(uintptr_t) "--planned";
        argv[count++] = planned;
    }
    if (strcmp(name, "why") == 0) {
        snprintf(told, sizeof told, "%" PRId64 ",%" PRId64, serve->options.pull_cache,
                 serve->options.pull_inputs);
        argv[count++] = (char *)(uintptr_t) "--waits";
        argv[count++] = told;
    }
    if (strcmp(name, "top") == 0 && serve->hub.guide) {
        snprintf(told, sizeof told, "%" PRIu64 ",%" PRId64 ",%" PRId64, serve->hub.plans,
                 serve->hub.plan_at, serve->hub.plan_took);
        argv[count++] = (char *)(uintptr_t) "--planner";
        argv[count++] = told;
    }
    for (uint32_t i = 1; i < words->count; i++)
        argv[count++] = (char *)(uintptr_t)words->items[i].bytes;
    return os_child_start(argv, output);
}

void serve_ask(struct serve *serve, struct serve_peer *peer, const struct wire_ask *ask)
{
    const char *fault = fault_of(serve, &ask->words);
    int output, child = fault ? 0 : question_start(serve, &ask->words, &output);
    if (!child) {
        hub_refuse(peer->peer, 0, ask->request, WIRE_REFUSED_REQUEST,
                   fault ? fault : strerror(errno));
        return;
    }
    struct serve_question *question = hub_allocate(1, sizeof *question);
    *question = (struct serve_question){.kind = SERVE_QUESTION,
                                        .next = serve->questions,
                                        .peer = peer,
                                        .request = ask->request,
                                        .output = output,
                                        .child = child};
    serve->questions = question;
    serve->question_count++;
    os_loop_add(serve->loop, output, question);
}

static void question_end(struct serve *serve, struct serve_question *question)
{
    struct serve_question **at = &serve->questions;
    while (*at != question) at = &(*at)->next;
    *at = question->next;
    serve->question_count--;
    os_loop_remove(serve->loop, question->output);
    close(question->output);
    free(question);
}

// What a peer does not take stays in the pipe, and the process waits.
void serve_answer(struct serve *serve, struct serve_question *question)
{
    struct wire_out *out = &question->peer->link->out;
    char bytes[PIECE];
    if (out->length > 4 * PIECE) {
        os_loop_remove(serve->loop, question->output);
        question->rests = true;
        return;
    }
    ssize_t count = read(question->output, bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
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

void serve_questions_go_on(struct serve *serve, const struct serve_peer *peer)
{
    for (struct serve_question *question = serve->questions; question; question = question->next) {
        if (!question->rests || question->peer != peer) continue;
        os_loop_add(serve->loop, question->output, question);
        question->rests = false;
    }
}

void serve_questions_drop(struct serve *serve, const struct serve_peer *peer)
{
    struct serve_question *next;
    for (struct serve_question *question = serve->questions; question; question = next) {
        next = question->next;
        if (peer && question->peer != peer) continue;
        os_child_kill(question->child);
        os_child_end(question->child);
        question_end(serve, question);
    }
}
