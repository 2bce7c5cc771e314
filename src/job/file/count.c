// count.c - counts the list items of a submission.
#include "job/file/jobfile.h"

struct jobfile_counts jobfile_counts(const struct jobfile *file)
{
    struct jobfile_counts counts = {0};
    for (uint32_t i = 0; i < file->task_count; i++) {
        const struct jobfile_task *task = &file->tasks[i];
        counts.edges += task->need_count;
        counts.clauses += task->clause_count;
        counts.inputs += task->input_count;
        counts.outputs += task->output_count;
    }
    return counts;
}
