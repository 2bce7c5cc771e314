// worker_ssh.c - `rota worker --ssh`: starts workers on other hosts over ssh, and ends them.
//
// Keys go through the standard input, where no list of processes shows them. The input stays open
// while this process lives: when it closes, for whatever reason, the remote worker ends.
#define _GNU_SOURCE
#include "cli/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READY = 64, PROGRAM_WORDS = 16, LINE = 4096, END_PATIENCE = 20 * 1000000 };

struct far {
    const char *host;
    int child, input, output;  // child 0: it has ended
    char line[LINE];
    size_t length;
    int status;
};

struct fleet {
    struct far *items;
    uint32_t count, alive;
    int loop, signals;
    uint32_t interrupts;
    int64_t until;  // ticks
};

// ---- What is run ------------------------------------------------------------------------------

// Quotes a word, because a shell on the other host reads it again.
static char *quoted(const char *word)
{
    size_t size = 3;
    for (const char *at = word; *at; at++) size += *at == '\'' ? 4 : 1;
    char *text = malloc(size), *out = text;
    if (!text) return NULL;
    *out++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            out = mempcpy(out, "'\\''", 4);
        else
            *out++ = *word;
    }
    memcpy(out, "'", 2);
    return text;
}

// $ROTA_SSH may contain options: "ssh -p 2222".
static uint32_t program_read(char *text, char **words)
{
    uint32_t count = 0;
    char *place, *word = strtok_r(text, " ", &place);
    for (; word && count < PROGRAM_WORDS; word = strtok_r(NULL, " ", &place)) words[count++] = word;
    return count;
}

static bool far_start(struct far *far, const struct work_ssh *ssh)
{
    char *words[PROGRAM_WORDS + WORK_FAR_WORDS + 8];
    const char *given = getenv("ROTA_SSH");
    char *program = strdup(given && *given ? given : "ssh");
    if (!program) return false;
    uint32_t count = program_read(program, words), first;
    words[count++] = (char *)(uintptr_t) "-T";
    words[count++] = (char *)(uintptr_t)far->host;
    words[count++] = (char *)(uintptr_t) "--";
    first = count;
    bool fine = (words[count++] = quoted(ssh->program)) != NULL;
    fine = fine && (words[count++] = strdup("worker"))
           && (words[count++] = strdup("--key-from-stdin"));
    for (uint32_t i = 0; fine && i < ssh->word_count; i++)
        fine = (words[count++] = quoted(ssh->words[i])) != NULL;
    words[count] = NULL;
    far->child = fine ? os_program_start(words, &far->input, &far->output) : 0;
    for (uint32_t i = first; i < count; i++) free(words[i]);
    free(program);
    return far->child;
}

// Sends the key for the server, the peer keys, and an empty line.
static bool keys_send(const struct far *far, const struct work_ssh *ssh)
{
    char text[(WORK_PEER_KEYS + 1) * LINK_LINE_MAX + 2] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < ssh->key_count; i++) {
        link_key_write(ssh->keys[i], text + length);
        length += strlen(text + length);
    }
    text[length++] = '\n';
    bool sent = write(far->input, text, length) == (ssize_t)length;
    explicit_bzero(text, sizeof text);
    return sent;
}

// ---- Answers ----------------------------------------------------------------------------------

static void line_say(struct far *far)
{
    fprintf(stderr, "%s: ", far->host);
    plain_write(stderr, far->line, far->length);
    fputc('\n', stderr);
    far->length = 0;
}

static void far_end(struct fleet *fleet, struct far *far)
{
    if (far->length) line_say(far);
    os_loop_remove(fleet->loop, far->output);
    close(far->output);
    if (far->input >= 0) close(far->input);
    far->input = -1;
    far->status = os_child_end(far->child);
    far->child = 0;
    fleet->alive--;
    if (far->status == 255)
        fprintf(stderr, "%s: ssh cannot connect\n", far->host);
    else if (far->status)
        fprintf(stderr, "%s: the worker ended with status %d\n", far->host, far->status);
}

static void far_read(struct fleet *fleet, struct far *far)
{
    char bytes[LINE];
    ssize_t count = read(far->output, bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        far_end(fleet, far);
        return;
    }
    for (ssize_t i = 0; i < count; i++) {
        bool ends = bytes[i] == '\n';
        if (!ends) far->line[far->length++] = bytes[i];
        if (ends || far->length == LINE) line_say(far);
    }
}

// ---- The end ----------------------------------------------------------------------------------

static void all_end(struct fleet *fleet)
{
    fleet->interrupts++;
    fleet->until = os_ticks() + END_PATIENCE;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct far *far = &fleet->items[i];
        if (!far->child) continue;
        if (fleet->interrupts > 1) kill(far->child, SIGTERM);
        if (far->input >= 0) close(far->input);
        far->input = -1;
    }
}

static void fleet_run(struct fleet *fleet)
{
    struct os_ready ready[READY];
    while (fleet->alive) {
        uint32_t count = os_loop_wait(fleet->loop, ready, READY, fleet->until);
        if (!count && os_ticks() >= fleet->until) all_end(fleet);
        for (uint32_t i = 0; i < count; i++) {
            if (ready[i].owner != &fleet->signals)
                far_read(fleet, ready[i].owner);
            else
                for (int number; (number = os_signal_next(fleet->signals));) all_end(fleet);
        }
    }
}

static void fleet_start(struct fleet *fleet, const struct work_ssh *ssh)
{
    for (uint32_t i = 0; i < ssh->host_count; i++) {
        struct far *far = &fleet->items[i];
        *far = (struct far){.host = ssh->hosts[i], .input = -1, .status = 70};
        if (!far_start(far, ssh)) {
            fprintf(stderr, "%s: cannot start ssh: %s\n", far->host, strerror(errno));
            continue;
        }
        fleet->alive++;
        os_loop_add(fleet->loop, far->output, far);
        if (!keys_send(far, ssh)) fprintf(stderr, "%s: cannot send the key\n", far->host);
    }
}

int work_ssh(const struct work_ssh *ssh)
{
    struct fleet fleet = {.count = ssh->host_count, .until = INT64_MAX};
    fleet.items = calloc(fleet.count, sizeof *fleet.items);
    fleet.loop = os_loop_open();
    fleet.signals = os_signals_open();
    if (!fleet.items || fleet.loop < 0 || fleet.signals < 0) {
        fprintf(stderr, "rota worker: %s\n", strerror(errno));
        free(fleet.items);
        return 70;
    }
    os_loop_add(fleet.loop, fleet.signals, &fleet.signals);
    fleet_start(&fleet, ssh);
    fleet_run(&fleet);
    int status = 0;
    for (uint32_t i = 0; i < fleet.count; i++)
        if (fleet.items[i].status && !status)
            status = fleet.items[i].status == 255 ? 4 : fleet.items[i].status;
    close(fleet.loop);
    close(fleet.signals);
    free(fleet.items);
    return fleet.interrupts ? 0 : status;
}
