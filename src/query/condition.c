// condition.c - what a task waits for, with the names of the job file.
#include "query/query.h"
#include "store/line_buffer.h"

#include <string.h>

// Adds the name of the task "3" (of this job) or "7.3".
static void name_add(struct line *line, const struct query *query, const char **text)
{
    const char *begin = *text;
    uint64_t job = query->job.number, task = 0;
    text_read_number(text, &task);
    if (text_read_char(text, '.')) {
        job = task;
        text_read_number(text, &task);
    }
    if (job == query->job.number && task && task <= query->task_count)
        line_add_word(line, query->tasks[task - 1].name);
    else
        line_add(line, begin, (size_t)(*text - begin));
}

const char *query_condition(struct query *query, const char *text)
{
    struct line line = {0};
    if (!*text) return text;
    while (*text) {
        char c = *text;
        if (c >= '0' && c <= '9') {
            name_add(&line, query, &text);
            continue;
        }
        bool joins = c == '&' || c == '|';
        if (joins) line_add_char(&line, ' ');
        line_add_char(&line, c);
        if (joins) line_add_char(&line, ' ');
        text++;
    }
    if (line.failed) query_no_memory();
    char *kept = query_allocate(query, line.length + 1);
    memcpy(kept, line.data, line.length);
    line_release(&line);
    return kept;
}
