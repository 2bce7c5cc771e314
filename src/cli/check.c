// check.c - `rota check`: prints the errors of a job file, or what it consists of.
#include "cli/cli.h"
#include "cli/show/job.h"

#include <stdio.h>

static void valid_print(const struct jobfile *file)
{
    uint32_t tasks = file->task_count - file->bundle_count;
    printf("%s: %u task%s", file->path, tasks, tasks == 1 ? "" : "s");
    if (file->bundle_count)
        printf(", %u bundle%s", file->bundle_count, file->bundle_count == 1 ? "" : "s");
    if (file->lane_count) printf(", %u lane%s", file->lane_count, file->lane_count == 1 ? "" : "s");
    printf(", %u dependenc%s, OK\n", file->need_count, file->need_count == 1 ? "y" : "ies");
}

static int file_check(const char *path, bool json)
{
    struct jobfile file;
    bool fine = jobfile_load(&file, path);
    if (fine && json)
        jobfile_json_write(&file, stdout);
    else if (fine)
        valid_print(&file);
    jobfile_release(&file);
    return fine ? 0 : 2;
}

struct check_options {
    bool json;
};

static int check(const struct command *command, int count, char **words)
{
    struct check_options options = {0};
    struct arguments files;
    int status = options_read(command, &options, NULL, &files, count, words);
    if (status >= 0) return status;
    status = 0;
    for (uint32_t i = 0; i < files.count; i++)
        if (file_check(files.items[i], options.json)) status = 2;
    return status;
}

static const struct option_row rows[] = {
    {0, "json", "", "print the tasks, with all defaults and variables filled in", OPTION_FLAG,
     .at = offsetof(struct check_options, json)},
    OPTION_ROWS_END};

const struct command check_command = {
    .name = "check",
    .summary = "check a job file for errors",
    .group = GROUP_RUN,
    .is_everyday = true,
    .argument = {ARGUMENT_FILE, "FILE", 1, ARGUMENTS_ANY},
    .run = check,
    .options = rows,
    .usage = "[--json] FILE...\n",
    .text = "The name of the file tells its format: .json, .jsonl, otherwise YAML. '-' is YAML "
            "from the standard input. Errors are printed as FILE:LINE:COLUMN: REASON.\n",
    .examples = "rota check build.yaml\tprint the errors, or the number of tasks\n"
                "rota check --json build.yaml\tprint the tasks as rota runs them\n",
    .exits = "0\tthe files are valid\n2\ta file or an option is wrong\n",
};
