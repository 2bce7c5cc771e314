// jobfile_fuzz.c - libFuzzer writes job files: any bytes are read or refused.
//
// The first byte says which format it is to be. An accepted file must be consistent, and can be
// written and drawn.
#include "cli/show/job.h"
#include "job/disk/disk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds) abort();
}

static void task_check(const struct jobfile *file, const struct jobfile_task *task)
{
    uint32_t other;
    need(task->name && *task->name && strlen(task->name) <= JOBFILE_NAME_MAX);
    need(task->is_bundle || (task->argc && task->argv[0][0] && !task->argv[task->argc]));
    need(task->is_bundle || !task->env[task->env_count]);
    need(task->lane <= file->lane_count && task->bundle <= file->task_count);
    need(!task->lane || task->access);
    for (uint32_t at = 0; (at = jobfile_waits(task, at, &other));) {
        need(other < file->task_count);
        need(task != &file->tasks[other]);
    }
}

static void errors_check(const struct jobfile *file, FILE *out)
{
    need(file->error_count && file->error_count <= JOBFILE_ERRORS_MAX);
    jobfile_errors_write(file, out);
    for (uint32_t i = 0; i < file->error_count; i++) need(*file->errors[i].reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jobfile file;
    FILE *out = fopen("/dev/null", "w");
    if (!out || !size) goto end;
    enum jobfile_format format = (enum jobfile_format)(data[0] % 3);
    if (jobfile_parse(&file, "f", format, (const char *)data + 1, size - 1)) {
        for (uint32_t i = 0; i < file.task_count; i++) task_check(&file, &file.tasks[i]);
        jobfile_json_write(&file, out);
        jobfile_draw(&file, out);
        jobfile_dot_write(&file, out);
    } else {
        errors_check(&file, out);
    }
    jobfile_release(&file);
end:
    if (out) fclose(out);
    return 0;
}
