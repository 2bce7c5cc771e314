// refuse.c - helpers for tests of job files: their content, and errors with their places.
#include "job/file/refuse.h"

void parsed(struct jobfile *file, enum jobfile_format format, const char *text)
{
    if (jobfile_parse(file, "f", format, text, strlen(text))) return;
    const struct jobfile_error *error = &file->errors[0];
    print_error("%u:%u: %s\n", error->place.line, error->place.column, error->reason);
    jobfile_release(file);
    fail();
}

void refused_bytes(enum jobfile_format format, const char *bytes, size_t size, const char *expected)
{
    struct jobfile file;
    char errors[8000] = "";
    size_t length = 0;
    assert_false(jobfile_parse(&file, "f", format, bytes, size));
    for (uint32_t i = 0; i < file.error_count; i++) {
        const struct jobfile_error *error = &file.errors[i];
        length += (size_t)snprintf(errors + length, sizeof errors - length, "%u:%u: %s\n",
                                   error->place.line, error->place.column, error->reason);
    }
    jobfile_release(&file);
    assert_string_equal(errors, expected);
}

void refused(enum jobfile_format format, const char *text, const char *expected)
{
    refused_bytes(format, text, strlen(text), expected);
}

const struct jobfile_task *task_named(const struct jobfile *file, const char *name)
{
    for (uint32_t i = 0; i < file->task_count; i++)
        if (strcmp(file->tasks[i].name, name) == 0) return &file->tasks[i];
    print_error("there is no task %s\n", name);
    fail();
    return NULL;
}

void needs_are(const struct jobfile *file, const char *task, const char *expected)
{
    const struct jobfile_task *found = task_named(file, task);
    char names[1000] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < found->need_count; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? " " : "",
                                   file->tasks[found->needs[i]].name);
    assert_string_equal(names, expected);
}
