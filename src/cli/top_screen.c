// top_screen.c - `rota top` on a terminal: reads keys, and draws a frame every interval.
//
// A frame comes from a database, or from a server as the answer to a query. The last frame stays on
// the screen while the server is unreachable. The terminal is restored at the end.
#define _GNU_SOURCE
#include "cli/top_screen.h"
#include "cli/show/top.h"
#include "base/base.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_EVERY = 100000, PATIENCE = 5000000, SLICE = 50000, RETRY = 1000000 };

struct screen {
    const struct top_source *source;
    struct os_terminal *terminal;
    int signals;
    struct top_request wish;
    char *frame;            // the last frame, as lines
    size_t frame_size;
    char trouble[300];      // why there is no newer frame, or ""
    bool is_paused, is_over, is_asked;  // is_asked: a key asks to draw at once
    int64_t retry_at;
};

// ---- Frames ------------------------------------------------------------------------------------

static bool frame_of_file(struct screen *screen, FILE *out)
{
    struct top top;
    struct store_error error;
    bool fine = top_load(&top, screen->source->path, &error);
    if (fine)
        top_draw(&top, &screen->wish, out);
    else
        snprintf(screen->trouble, sizeof screen->trouble, "%.290s", error.text);
    top_release(&top);
    return fine;
}

static struct request_id query_put(const struct screen *screen, struct rota_client *client)
{
    char wish[80];
    snprintf(wish, sizeof wish, "%u,%u,%u,%u", screen->wish.columns, screen->wish.rows,
             (unsigned)screen->wish.view, screen->wish.skip);
    wire_text words[] = {wire_text_of("top"), wire_text_of("--frame"), wire_text_of(wish)};
    return question_put(client, words, 3);
}

static bool is_told_to_end(struct screen *screen)
{
    while (os_signal_next(screen->signals)) screen->is_over = true;
    return screen->is_over;
}

// Waits in short intervals, so that keys work while a server hangs.
static bool frame_of_server(struct screen *screen, FILE *out)
{
    struct rota_client *client = &screen->source->connection->client;
    struct wire_message message;
    struct request_id request = query_put(screen, client);
    int64_t until = os_ticks() + PATIENCE;
    enum rota_client_code code = ROTA_CLIENT_OK;
    while (os_ticks() < until && !is_told_to_end(screen)) {
        code = client_answer(client, request, client_until(SLICE), &message);
        if (code == ROTA_CLIENT_TIMED_OUT) continue;
        if (code) break;
        if (message.kind == WIRE_ANSWERED_MESSAGE) return message.answered.status == 0;
        fwrite(message.answer.bytes.bytes, 1, message.answer.bytes.length, out);
    }
    snprintf(screen->trouble, sizeof screen->trouble, "%s%.250s",
             client->refusal ? "" : "cannot reach the server: ",
             code ? client->reason : "no answer");
    if (!client->refusal) client_leave(client);
    return false;
}

// Tries to reconnect at intervals. The last frame stays on the screen meanwhile.
static bool server_is_there(struct screen *screen)
{
    struct connection *connection = screen->source->connection;
    if (client_is_open(&connection->client)) return true;
    if (os_ticks() < screen->retry_at) return false;
    screen->retry_at = os_ticks() + RETRY;
    if (connect_quickly(connection, CLIENT_OPEN_PATIENCE)) return true;
    snprintf(screen->trouble, sizeof screen->trouble, "cannot reach the server: %.250s",
             connection->client.reason);
    return false;
}

static void frame_get(struct screen *screen)
{
    char *bytes = NULL;
    size_t size = 0;
    if (!screen->source->path && !server_is_there(screen)) return;
    FILE *out = open_memstream(&bytes, &size);
    if (!out) return;
    bool fine = screen->source->path ? frame_of_file(screen, out) : frame_of_server(screen, out);
    fclose(out);
    if (!fine) {
        free(bytes);
        return;
    }
    free(screen->frame);
    screen->frame = bytes;
    screen->frame_size = size;
    screen->trouble[0] = 0;
}

// ---- Drawing -----------------------------------------------------------------------------------

static const char *const styles[]
    = {[TOP_PLAIN] = "", [TOP_HEAD] = "\033[1m", [TOP_GOOD] = "\033[32m", [TOP_BAD] = "\033[31m",
       [TOP_DIM] = "\033[2m"};

// The length in bytes of the text that fits into the columns.
static size_t cut(const char *text, size_t length, uint32_t columns)
{
    size_t at = 0;
    for (uint32_t number; at < length && columns; columns--) {
        size_t size = character_read(text + at, length - at, &number);
        at += size ? size : 1;
    }
    return at;
}

static void line_draw(const struct screen *screen, const char *text, size_t length, FILE *out)
{
    int style = length ? *text : TOP_PLAIN;
    bool known = style >= TOP_PLAIN && style <= TOP_DIM;
    if (known) text++, length--;
    fputs(styles[known && !getenv("NO_COLOR") ? style : TOP_PLAIN], out);
    plain_write(out, text, cut(text, length, screen->wish.columns));
    fputs("\033[0m\033[K\r\n", out);
}

static void foot_draw(const struct screen *screen, FILE *out)
{
    static const char *const names[TOP_VIEWS] = {"all", "jobs", "workers", "tasks", "next",
                                                  "lanes"};
    char text[400];
    snprintf(text, sizeof text, "q quit  tab view (%s)  up down scroll  p %s  %s",
             names[screen->wish.view], screen->is_paused ? "resume" : "pause",
             *screen->trouble ? screen->trouble : screen->is_paused ? "PAUSED" : "");
    fputs(*screen->trouble ? "\033[7;31m" : "\033[7m", out);
    plain_write(out, text, cut(text, strlen(text), screen->wish.columns));
    fputs("\033[0m\033[K", out);
}

// Overwrites the old frame with one write, without clearing it, to avoid flicker.
static void draw(const struct screen *screen)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out) return;
    fputs("\033[H", out);
    uint32_t drawn = 0;
    const char *at = screen->frame, *end = at ? at + screen->frame_size : NULL;
    for (; at && at < end && drawn < screen->wish.rows; drawn++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        line_draw(screen, at, (size_t)((next ? next : end) - at), out);
        at = next ? next + 1 : end;
    }
    for (; drawn < screen->wish.rows; drawn++) fputs("\033[K\r\n", out);
    foot_draw(screen, out);
    fclose(out);
    for (size_t sent = 0; sent < size;) {
        ssize_t count = write(STDOUT_FILENO, bytes + sent, size - sent);
        if (count <= 0) break;
        sent += (size_t)count;
    }
    free(bytes);
}

// ---- Keys --------------------------------------------------------------------------------------

static void view_turn(struct screen *screen, int by)
{
    screen->wish.view = (enum top_view)((screen->wish.view + TOP_VIEWS + by) % TOP_VIEWS);
    screen->wish.skip = 0;
}

static void scroll(struct screen *screen, int by)
{
    if (screen->wish.view == TOP_ALL) view_turn(screen, 1);
    int64_t skip = (int64_t)screen->wish.skip + by;
    screen->wish.skip = skip < 0 ? 0 : skip > 1000 ? 1000 : (uint32_t)skip;
}

// An escape sequence arrives in one piece; unknown ones are ignored.
static int key_read(void)
{
    int key = os_terminal_key(STDIN_FILENO);
    if (key != 27 || os_terminal_key(STDIN_FILENO) != '[') return key;
    key = os_terminal_key(STDIN_FILENO);
    if (key == '5' || key == '6') os_terminal_key(STDIN_FILENO);  // page up and down end with ~
    return key ? 256 + key : 0;
}

static void keys_take(struct screen *screen)
{
    int page = screen->wish.rows > 5 ? (int)screen->wish.rows - 4 : 1;
    for (int key; (key = key_read()); screen->is_asked = true) {
        switch (key) {
        case 'q': case 'Q': screen->is_over = true; break;
        case 'p': case ' ': screen->is_paused = !screen->is_paused; break;
        case '\t': case 256 + 'C': case 'l': view_turn(screen, 1); break;
        case 256 + 'Z': case 256 + 'D': case 'h': view_turn(screen, -1); break;
        case 256 + 'A': case 'k': scroll(screen, -1); break;
        case 256 + 'B': case 'j': scroll(screen, 1); break;
        case 256 + '5': scroll(screen, -page); break;
        case 256 + '6': scroll(screen, page); break;
        default:
            if (key < '0' || key >= '0' + TOP_VIEWS) break;
            screen->wish.view = (enum top_view)(key - '0');
            screen->wish.skip = 0;
        }
    }
}

// ---- The loop ----------------------------------------------------------------------------------

static void size_look(struct screen *screen)
{
    uint32_t columns, rows;
    os_terminal_size(STDOUT_FILENO, &columns, &rows);
    rows = rows > 1 ? rows - 1 : 1;
    if (columns == screen->wish.columns && rows == screen->wish.rows) return;
    screen->wish.columns = columns;
    screen->wish.rows = rows;
    screen->is_asked = true;
}

static void await(struct screen *screen, int64_t until)
{
    while (!screen->is_over && !screen->is_asked && os_ticks() < until) {
        struct os_watch watches[] = {{.file = STDIN_FILENO}, {.file = screen->signals}};
        int64_t slice = os_ticks() + LOOK_EVERY;
        os_wait(watches, 2, slice < until ? slice : until);
        if (watches[0].can_read) {
            keys_take(screen);
            // The terminal was closed: its file is always readable, and empty.
            if (!screen->is_asked) screen->is_over = true;
        }
        is_told_to_end(screen);
        size_look(screen);
    }
}

int top_screen(const struct top_source *source, int64_t interval)
{
    struct screen screen = {.source = source, .signals = os_signals_open()};
    screen.terminal = screen.signals < 0 ? NULL : os_terminal_open(STDIN_FILENO);
    if (!screen.terminal) return fputs("rota top: cannot use the terminal\n", stderr), 2;
    fputs("\033[?1049h\033[?25l\033[?7l", stdout);
    fflush(stdout);
    while (!screen.is_over) {
        size_look(&screen);
        int64_t begun = os_ticks();
        if (!screen.is_paused || screen.is_asked) frame_get(&screen);
        screen.is_asked = false;
        if (!screen.is_over) draw(&screen);
        // A large database is read less often.
        int64_t took = os_ticks() - begun, pause = took * 4 > interval ? took * 4 : interval;
        await(&screen, os_ticks() + pause);
    }
    fputs("\033[?7h\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    os_terminal_close(screen.terminal);
    close(screen.signals);
    free(screen.frame);
    return 0;
}
