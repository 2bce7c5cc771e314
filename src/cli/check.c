// check.c - `rota check`: what is wrong in a job file, or that it is fine.
#include "cli/cli.h"
#include "job/file/jobfile.h"

#include <stdio.h>
#include <string.h>

static const char usage[]
    = "example: rota check night.yaml\n\n"
      "usage: rota check [--json] FILE...\n\n"
      "    FILE      .json, .jsonl, else YAML; - is YAML from the standard input\n"
      "    --json    print the tasks with everything filled in and looked up\n\n"
      "Mistakes are printed as FILE:LINE:COLUMN: REASON, and the exit status is 2.\n";

static void fine_say(const struct jobfile *file)
{
    uint32_t tasks = file->task_count - file->bundle_count;
    printf("%s: %u task%s", file->path, tasks, tasks == 1 ? "" : "s");
    if (file->bundle_count)
        printf(", %u bundle%s", file->bundle_count, file->bundle_count == 1 ? "" : "s");
    if (file->lane_count) printf(", %u lane%s", file->lane_count, file->lane_count == 1 ? "" : "s");
    printf(", %u need%s: fine\n", file->need_count, file->need_count == 1 ? "" : "s");
}

static int file_check(const char *path, bool json)
{
    struct jobfile file;
    bool fine = jobfile_load(&file, path);
    if (fine && json)
        jobfile_json_write(&file, stdout);
    else if (fine)
        fine_say(&file);
    jobfile_release(&file);
    return fine ? 0 : 2;
}

int command_check(int count, char **words)
{
    bool json = false;
    int files = 0, status = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        bool option = words[i][0] == '-' && words[i][1];
        files += !option;
        if (strcmp(words[i], "--json") == 0)
            json = true;
        else if (option) {
            fprintf(stderr, "rota check: '%s' is not understood here\n%s", words[i], usage);
            return 2;
        }
    }
    if (!files) fputs(usage, stderr);
    for (int i = 0; i < count; i++) {
        if (words[i][0] == '-' && words[i][1]) continue;
        int one = file_check(words[i], json);
        if (one) status = one;
    }
    return files ? status : 2;
}
