// load_job.c - reads a job file for a command, checks its schedule, and prints its errors.
#include "cli/cli.h"
#include "job/disk/disk.h"
#include "job/calendar/calendar.h"

#include <stdio.h>
#include <string.h>

// Prints an error of the schedule with its place in the file.
static bool schedule_check(const struct jobfile *file)
{
    static const char *const words[]
        = {"run_days", "start_times", "run_window", "start_mins", "cron", "zone"};
    const struct jobfile_schedule *schedule = &file->schedule;
    struct calendar_fields fields = {schedule->run_days,   schedule->start_times,
                                     schedule->run_window, schedule->start_mins,
                                     schedule->cron,       schedule->zone};
    struct calendar calendar;
    struct calendar_error error;
    if (calendar_parse(&fields, &calendar, &error)) return true;
    struct jobfile_place place = {0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], error.field) == 0 || !place.line) place = schedule->places[i];
    fprintf(stderr, "%s:%u:%u: %s: column %u: %s\n", file->path, place.line, place.column,
            error.field, error.column, error.reason);
    return false;
}

bool jobfile_load(struct jobfile *file, const char *path)
{
    if (jobfile_read(file, path)) return schedule_check(file);
    jobfile_errors_write(file, stderr);
    return false;
}
