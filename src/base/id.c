// id.c - reads the number of a job or task.
#include "base/base.h"

// Without leading zeros, so that each number has one form. Null: not a number in range.
static const char *number_read(const char *at, uint32_t *number)
{
    uint64_t value = 0;
    if (*at < '1' || *at > '9') return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > UINT32_MAX) return NULL;
    }
    *number = (uint32_t)value;
    return at;
}

size_t task_id_read(const char *text, uint32_t *job, uint32_t *task)
{
    const char *end = number_read(text, job);
    *task = 0;
    if (end && *end == '.') end = number_read(end + 1, task);
    return end ? (size_t)(end - text) : 0;
}
