// id.c - jobs and tasks of a server, as arguments of commands.
#include "base/base.h"
#include "cli/cli.h"

bool word_is_id(enum id_kind kind, const char *word, rota_task_id *id)
{
    size_t length = task_id_read(word, &id->job, &id->task);
    return length && !word[length] && kind & (id->task ? ID_TASK : ID_JOB);
}

int word_id(const struct command *command, enum id_kind kind, const char *word, rota_task_id *id)
{
    static const char *const expected[]
        = {[ID_JOB] = "a job such as 7",
           [ID_TASK] = "a task such as 7.3",
           [ID_ANY] = "a job such as 7 or a task such as 7.3"};
    if (word_is_id(kind, word, id)) return -1;
    return command_wrong(command, "expected %s, not '%s'", expected[kind], word);
}
