// read_schedule.c - a fixed schedule: where each task runs, and how urgent it is.
#include "sim/whatif/whatif.h"

static bool read_numbers(struct document *document, uint32_t list, const char *what, uint32_t most,
                         uint32_t *numbers, uint32_t count)
{
    uint32_t at = document_first(document, list);
    if (!document_is_list(document, list) || document_count(document, list) != count) {
        document_refuse(document, list, "%s must be a list of %u numbers, one for each task", what,
                        count);
        return false;
    }
    for (uint32_t i = 0; i < count; i++, at = document_next(document, at))
        numbers[i] = document_whole(document, at, what, 0, most);
    return !document_is_wrong(document);
}

// "8x4@128"
static bool names_cluster(const char *key, const struct whatif_setting *setting)
{
    unsigned workers, cores;
    double bandwidth;
    char more;
    if (!key || sscanf(key, "%ux%u@%lf%c", &workers, &cores, &bandwidth, &more) != 3) return false;
    const struct plan_cluster *cluster = &setting->cluster;
    if (workers != cluster->worker_count || bandwidth != cluster->bandwidth) return false;
    for (uint32_t i = 0; i < workers; i++)
        if (cluster->cores[i] != cores) return false;
    return true;
}

static uint32_t find_schedule(struct document *document, const struct whatif_setting *setting)
{
    uint32_t root = document_root(document), at = document_first(document, root);
    if (document_find(document, root, "assign")) return root;
    while (at && document_is_object(document, root)) {
        uint32_t value = document_next(document, at);
        if (names_cluster(document_text(document, at), setting)) return value;
        at = document_next(document, value);
    }
    document_refuse(document, root,
                    "expected \"assign\", or a schedule for these workers and bandwidth");
    return 0;
}

static void check_rooms(struct document *document, uint32_t node,
                        const struct plan_schedule *schedule, const struct whatif_job *job,
                        const struct whatif_setting *setting)
{
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        uint32_t worker = schedule->worker[i], cores = job->graph.tasks[i].cores;
        if (cores <= setting->cores[worker]) continue;
        document_refuse(document, node, "task %u needs %u cores, worker %u has %u", i, cores,
                        worker, setting->cores[worker]);
        return;
    }
}

bool whatif_read_schedule(struct plan_schedule *schedule, const char *path,
                          const struct whatif_job *job, const struct whatif_setting *setting)
{
    struct document document;
    uint32_t count = job->graph.task_count;
    bool fine = document_open(&document, path);
    uint32_t node = fine ? find_schedule(&document, setting) : 0;
    fine = node
           && read_numbers(&document, document_find(&document, node, "assign"), "assign",
                           setting->cluster.worker_count - 1, schedule->worker, count)
           && read_numbers(&document, document_find(&document, node, "prio"), "prio", INT32_MAX,
                           schedule->order, count);
    if (fine) check_rooms(&document, document_find(&document, node, "assign"), schedule, job,
                          setting);
    fine = fine && !document_is_wrong(&document);
    if (!fine) document_errors_write(&document, stderr);
    document_close(&document);
    return fine;
}
