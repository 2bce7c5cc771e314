// time_text.c - parses and formats times, and prints lines about tasks.
#define _GNU_SOURCE
#include "cli/show/time_text.h"
#include "os/json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static bool date_is_real(const struct tm *date)
{
    struct tm copy = *date;
    time_t seconds = timegm(&copy);
    return seconds != (time_t)-1 && copy.tm_mday == date->tm_mday && copy.tm_mon == date->tm_mon
           && copy.tm_hour == date->tm_hour && copy.tm_min == date->tm_min;
}

bool time_read(const char *text, rota_time *time)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm date = {0};
        const char *end = strptime(text, formats[i], &date);
        if (!end || (*end && strcmp(end, "Z") != 0) || !date_is_real(&date)) continue;
        *time = (rota_time)timegm(&date) * 1000000;
        return true;
    }
    return false;
}

const char *time_write(rota_time time, char out[TIME_TEXT])
{
    time_t seconds = (time_t)(time / 1000000);
    struct tm date;
    if (!gmtime_r(&seconds, &date) || !strftime(out, TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &date))
        snprintf(out, TIME_TEXT, "-");
    return out;
}

void line_print(const struct line_about *line, bool is_json)
{
    char at[TIME_TEXT];
    time_write(line->at, at);
    if (!is_json) {
        printf("%s %s %s%s%s\n", at, line->what, line->name, *line->status ? " " : "",
               line->status);
        return;
    }
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "at", at);
    json_string(&json, "what", line->what);
    json_plain(&json, "task", "%u.%u", line->task.job, line->task.task);
    json_string(&json, "name", line->name);
    json_string(&json, "status", line->status);
    json_line(&json);
}
