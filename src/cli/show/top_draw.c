// top_draw.c - `rota top`: draws a snapshot as lines of text that fit the screen.
#define _GNU_SOURCE
#include "cli/show/top.h"
#include "cli/show/time_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 20, TEXT = 64, COLUMNS_LEAST = 80, LANE_MOST = 80 };

struct sheet {
    const struct top *top;
    const struct top_request *wish;
    FILE *out;
    uint32_t drawn;  // lines
};

// ---- Pieces ------------------------------------------------------------------------------------

// Draws one line, cut at the edge of the screen. The caller escapes names of other users.
static void line(struct sheet *sheet, enum top_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void line(struct sheet *sheet, enum top_style style, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    if (sheet->wish->rows && sheet->drawn >= sheet->wish->rows) return;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    for (int i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ') text[i] = '?';  // a name must not break the line
    fprintf(sheet->out, "%c%s\n", style, text);
    free(text);
    sheet->drawn++;
}

static uint32_t room(const struct sheet *sheet)
{
    if (!sheet->wish->rows) return UINT32_MAX;
    return sheet->drawn < sheet->wish->rows ? sheet->wish->rows - sheet->drawn : 0;
}

static const char *bar(char text[BAR + 1], uint64_t part, uint64_t all)
{
    uint64_t full = all ? part * BAR / all : 0;
    if (full > BAR) full = BAR;
    memset(text, '#', full);
    memset(text + full, '.', BAR - full);
    text[BAR] = 0;
    return text;
}

static const char *span(char text[TEXT], rota_time time)
{
    long long seconds = time / 1000000;
    if (time < 0)
        snprintf(text, TEXT, "-");
    else if (seconds < 3600)
        snprintf(text, TEXT, "%lld:%02lld", seconds / 60, seconds % 60);
    else
        snprintf(text, TEXT, "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60, seconds % 60);
    return text;
}

static const char *name_of(char text[TEXT], const char *name, int64_t number)
{
    if (*name) return name;
    snprintf(text, TEXT, "w%lld", (long long)number);
    return text;
}

// The width of the column for the lanes of a list: as much as they need, if the screen has it.
static int lane_width(const struct sheet *sheet, enum snapshot_list list)
{
    // The index of the lane column among the texts of a row.
    static const int places[SNAPSHOT_LISTS] = {[SNAPSHOT_QUEUE] = 2};
    static const int leasts[SNAPSHOT_LISTS] = {[SNAPSHOT_QUEUE] = 16, [SNAPSHOT_LANES] = 26};
    const struct top_list *rows = &sheet->top->lists[list];
    uint32_t columns = sheet->wish->columns;
    int more = columns ? (int)columns - COLUMNS_LEAST : LANE_MOST;
    int least = leasts[list], most = least + (more > 0 ? more / 2 : 0), width = least;
    if (most > LANE_MOST) most = LANE_MOST;
    for (uint32_t i = 0; i < rows->count && width < most; i++) {
        size_t length = strlen(rows->rows[i].texts[places[list]]);
        if (length > (size_t)width) width = length < (size_t)most ? (int)length : most;
    }
    return width;
}

// The last bytes of a name that is too long: "/home/x/job.yaml:db" ends with the name of the lane.
static const char *name_end(char text[LANE_MOST + 1], const char *name, int width)
{
    size_t length = strlen(name), most = (size_t)width;
    if (length <= most) return name;
    const char *rest = name + length - (most - 3);
    while (((unsigned char)*rest & 0xc0) == 0x80) rest++;  // not the middle of a UTF-8 character
    snprintf(text, LANE_MOST + 1, "...%s", rest);
    return text;
}

// ---- Lists -------------------------------------------------------------------------------------

// Only a run that works on its tasks comes closer to the end.
static const char *left_text(const struct top *top, const struct top_row *job, char text[TEXT])
{
    return span(text, top->is_running ? top_left(job) : -1);
}

static void job_line(struct sheet *sheet, const struct top_row *job)
{
    char progress[BAR + 1], left[TEXT];
    uint64_t over = top_over(job), all = (uint64_t)job->numbers[1];
    bool is_over = over >= all;
    bool is_stuck = !job->numbers[5] && over + (uint64_t)job->numbers[6] >= all;
    const char *state = is_over ? "ended" : is_stuck ? "blocked" : left_text(sheet->top, job, left);
    line(sheet, job->numbers[3] ? TOP_BAD : is_over ? TOP_GOOD : TOP_PLAIN,
         "%5lld [%s] %3llu%% %7llu %6llu %7lld %6lld %7lld %7s", (long long)job->numbers[0],
         bar(progress, over, all), (unsigned long long)(all ? over * 100 / all : 100),
         (unsigned long long)over, (unsigned long long)all, (long long)job->numbers[5],
         (long long)job->numbers[3], (long long)job->numbers[6], state);
}

static void worker_tasks(const struct top *top, int64_t worker, char *text, size_t size)
{
    const struct top_list *out = &top->lists[SNAPSHOT_OUT];
    size_t length = 0;
    for (uint32_t i = 0; i < out->count && length < size - 1; i++) {
        const struct top_row *row = &out->rows[i];
        if (row->numbers[3] != worker || strcmp(row->texts[1], "RUNNING") != 0) continue;
        int more = snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                            row->texts[0]);
        length += more > 0 ? (size_t)more : 0;
    }
}

static void worker_line(struct sheet *sheet, const struct top_row *worker)
{
    char load[BAR + 1], number[TEXT], silent[TEXT], tasks[300] = "";
    const int64_t *numbers = worker->numbers;
    bool is_here = numbers[2] == ROTA_NEVER;
    worker_tasks(sheet->top, numbers[0], tasks, sizeof tasks);
    line(sheet, is_here ? TOP_PLAIN : TOP_BAD, "%-20.20s [%s] %3lld %3lld %8lld  %-8.8s %s%s",
         name_of(number, worker->texts[0], numbers[0]),
         bar(load, (uint64_t)numbers[4], (uint64_t)numbers[1]), (long long)numbers[4],
         (long long)numbers[1], (long long)numbers[3],
         *worker->texts[1] ? worker->texts[1] : "-",
         is_here ? tasks : "silent for ",
         is_here ? "" : span(silent, sheet->top->now - numbers[2]));
}

static void task_line(struct sheet *sheet, const struct top_row *task)
{
    char id[TEXT], number[TEXT], since[TEXT];
    snprintf(id, sizeof id, "%lld.%lld", (long long)task->numbers[0], (long long)task->numbers[1]);
    bool runs = strcmp(task->texts[1], "RUNNING") == 0 && sheet->top->is_running;
    line(sheet, runs ? TOP_PLAIN : TOP_DIM, "%-10s %-9s %9s  %-16.16s %s", id, task->texts[1],
         span(since, sheet->top->is_running ? sheet->top->now - task->numbers[2] : -1),
         name_of(number, task->texts[2], task->numbers[3]), task->texts[0]);
}

static void queue_line(struct sheet *sheet, const struct top_row *task)
{
    char id[TEXT], lane[LANE_MOST + 1];
    int width = lane_width(sheet, SNAPSHOT_QUEUE);
    snprintf(id, sizeof id, "%lld.%lld", (long long)task->numbers[0], (long long)task->numbers[1]);
    line(sheet, TOP_PLAIN, "%-10s %-9s %-*s %s", id, task->texts[1], width,
         *task->texts[2] ? name_end(lane, task->texts[2], width) : "-", task->texts[0]);
}

static void lane_line(struct sheet *sheet, const struct top_row *lane)
{
    const int64_t *numbers = lane->numbers;
    char number[TEXT], name[LANE_MOST + 1];
    int width = lane_width(sheet, SNAPSHOT_LANES);
    snprintf(number, sizeof number, "%lld", (long long)numbers[0]);
    const char *access = !numbers[1] ? "empty" : numbers[3] ? "readers" : "writers";
    line(sheet, TOP_PLAIN, "%-*s %7lld %8s %8lld", width,
         *lane->texts[0] ? name_end(name, lane->texts[0], width) : number, (long long)numbers[1],
         access, (long long)numbers[2]);
}

// A column for the names of lanes ends `head`.
static const struct view {
    const char *head, *rest;
    enum snapshot_list list;
    void (*line)(struct sheet *sheet, const struct top_row *row);
    bool has_lanes;
} views[TOP_VIEWS] = {
    [TOP_JOBS] = {"  JOB                            FINISHED  TASKS",
                  " RUNNING FAILED BLOCKED    LEFT", SNAPSHOT_JOBS, job_line, false},
    [TOP_WORKERS] = {"WORKER                               RUNNING  OF ASSIGNED",
                     "  USER     TASKS", SNAPSHOT_WORKERS, worker_line, false},
    [TOP_TASKS] = {"ID         STATE         SINCE  WORKER           TASK", "", SNAPSHOT_OUT,
                   task_line, false},
    [TOP_QUEUE] = {"NEXT       STATE     LANE", " TASK", SNAPSHOT_QUEUE, queue_line, true},
    [TOP_LANES] = {"LANE", "  INSIDE           WAITING", SNAPSHOT_LANES, lane_line, true},
};

static void head_line(struct sheet *sheet, const struct view *view)
{
    int width = view->has_lanes ? lane_width(sheet, view->list) - (int)strlen("LANE") : 0;
    line(sheet, TOP_HEAD, "%s%*s%s", view->head, width, "", view->rest);
}

static void list_draw(struct sheet *sheet, enum top_view which, uint32_t skip, uint32_t lines)
{
    const struct view *view = &views[which];
    const struct top_list *list = &sheet->top->lists[view->list];
    if (lines < 2) return;
    if (skip >= list->count) skip = list->count ? list->count - 1 : 0;
    head_line(sheet, view);
    lines--;
    for (uint32_t i = skip; i < list->count; i++) {
        uint32_t left = list->count - i;
        if (lines == 1 && left > 1) {
            line(sheet, TOP_DIM, "... %u more", left);
            return;
        }
        view->line(sheet, &list->rows[i]);
        lines--;
    }
}

// ---- The screen --------------------------------------------------------------------------------

static void head_draw(struct sheet *sheet)
{
    const struct top *top = sheet->top;
    const struct top_list *workers = &top->lists[SNAPSHOT_WORKERS];
    char time[TIME_TEXT];
    uint32_t here = 0;
    int64_t cores = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        if (workers->rows[i].numbers[2] != ROTA_NEVER) continue;
        here++;
        cores += workers->rows[i].numbers[1];
    }
    if (!top->is_running)
        line(sheet, TOP_HEAD, "rota top %s  rota run is not running%s",
             time_write(top->now / 1000000 * 1000000, time),
             top->lists[SNAPSHOT_OUT].count ? "; the next one starts its tasks again" : "");
    else
        line(sheet, TOP_HEAD, "rota top %s  %u worker%s, %lld core%s  %.1f/s (10 s) %.1f/s (60 s)",
         time_write(top->now / 1000000 * 1000000, time), here, here == 1 ? "" : "s",
         (long long)cores, cores == 1 ? "" : "s",
         (double)top->fast / 10, (double)top->slow / 60);
    uint64_t next = top_count(top, "READY") + top_count(top, "OFFERED");
    line(sheet, TOP_PLAIN,
         "%llu %s, %llu assigned, %llu next, %llu in lanes, %llu waiting, %llu blocked",
         (unsigned long long)top_count(top, "RUNNING"), top->is_running ? "running" : "interrupted",
         (unsigned long long)top_count(top, "ASSIGNED"), (unsigned long long)next,
         (unsigned long long)top_count(top, "HELD"), (unsigned long long)top_count(top, "WAITING"),
         (unsigned long long)top_count(top, "BLOCKED"));
    const struct top_planner *planner = &top->planner;
    char since[TEXT];
    if (planner->plans)
        line(sheet, TOP_DIM, "%llu plan%s, the last one %s ago in %.1f ms",
             (unsigned long long)planner->plans, planner->plans == 1 ? "" : "s",
             span(since, top->now - planner->at), (double)planner->took / 1000);
}

// Each list gets the rows it needs, or its share of the rows left for it and the lists after it.
static void all_draw(struct sheet *sheet)
{
    uint32_t lists = TOP_VIEWS - 1;
    for (uint32_t which = TOP_JOBS; which < TOP_VIEWS; which++, lists--) {
        uint32_t count = sheet->top->lists[views[which].list].count;
        if (!count) continue;
        uint32_t share = room(sheet) == UINT32_MAX ? UINT32_MAX : room(sheet) * 2 / (lists + 1);
        list_draw(sheet, (enum top_view)which, 0, count + 1 < share ? count + 1 : share);
    }
}

void top_draw(const struct top *top, const struct top_request *wish, FILE *out)
{
    struct sheet sheet = {top, wish, out, 0};
    head_draw(&sheet);
    if (wish->view == TOP_ALL)
        all_draw(&sheet);
    else
        list_draw(&sheet, wish->view, wish->skip, room(&sheet));
}
