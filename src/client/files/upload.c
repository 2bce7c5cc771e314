// upload.c - finds and hashes the user's files that tasks read and no task produces.
#include "client/files/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *client_path_in(const char *folder, const char *path)
{
    char *place = submit_path_in(folder, path);
    if (!place) os_out_of_memory();
    return place;
}

static void path_add(struct client_uploads *uploads, const char *folder, const char *path,
                     const struct jobfile_task *task)
{
    struct client_upload *upload = &uploads->items[uploads->count++];
    upload->path = client_path_in(folder, path);
    upload->task = task;
}

static void paths_collect(struct client_uploads *uploads, const struct jobfile *file,
                          const char *folder)
{
    size_t most = 0;
    for (uint32_t i = 0; i < file->task_count; i++) most += file->tasks[i].input_count + 1;
    uploads->items = os_allocate(most, sizeof *uploads->items);
    for (uint32_t i = 0; i < file->task_count; i++) {
        const struct jobfile_task *task = &file->tasks[i];
        for (uint32_t k = 0; k < task->input_count; k++)
            if (!task->inputs[k].producer) path_add(uploads, folder, task->inputs[k].path, task);
        if (task->stdin_path && !task->stdin_input)
            path_add(uploads, folder, task->stdin_path, task);
    }
}

static int by_path(const void *left, const void *right)
{
    const struct client_upload *one = left, *other = right;
    int order = strcmp(one->path, other->path);
    if (order || !one->task || !other->task) return order;
    return one->task < other->task ? -1 : one->task > other->task;
}

static void same_remove(struct client_uploads *uploads)
{
    uint32_t kept = 0;
    if (uploads->count) qsort(uploads->items, uploads->count, sizeof *uploads->items, by_path);
    for (uint32_t i = 0; i < uploads->count; i++) {
        if (kept && strcmp(uploads->items[kept - 1].path, uploads->items[i].path) == 0)
            free(uploads->items[i].path);
        else
            uploads->items[kept++] = uploads->items[i];
    }
    uploads->count = kept;
}

static bool survey(struct client_uploads *uploads, struct client_upload *upload,
                   struct client_fault *fault)
{
    struct cache_error error = {0};
    if (cache_survey(&uploads->cache, upload->path, &upload->survey, &error)) return true;
    fault->place = upload->task->place;
    snprintf(fault->text, sizeof fault->text, "an input of %.60s: %.400s", upload->task->name,
             error.text);
    return false;
}

bool client_uploads_collect(struct client_uploads *uploads, const struct jobfile *file,
                            const char *folder, struct request_id request,
                            struct client_fault *fault)
{
    *uploads = (struct client_uploads){0};
    cache_init(&uploads->cache);
    paths_collect(uploads, file, folder);
    same_remove(uploads);
    for (uint32_t i = 0; i < uploads->count; i++) {
        struct client_upload *upload = &uploads->items[i];
        if (!survey(uploads, upload, fault)) return false;
        bool is_tree = upload->survey.entry.kind == CACHE_DIRECTORY;
        upload->become.kind = is_tree ? WIRE_DIRECTORY : WIRE_FILE;
        upload->become.object = wire_upload(request, i + 1);
    }
    return true;
}

const struct client_upload *client_upload_look(const struct client_uploads *uploads,
                                               const char *path)
{
    struct client_upload like = {.path = (char *)(uintptr_t)path};
    return uploads->count ? bsearch(&like, uploads->items, uploads->count, sizeof like, by_path)
                          : NULL;
}

const struct submit_upload *client_upload_find(const struct client_uploads *uploads,
                                            const char *path)
{
    const struct client_upload *found = client_upload_look(uploads, path);
    return found ? &found->become : NULL;
}

void client_uploads_release(struct client_uploads *uploads)
{
    for (uint32_t i = 0; i < uploads->count; i++) {
        cache_survey_release(&uploads->items[i].survey);
        free(uploads->items[i].path);
    }
    free(uploads->items);
    cache_close(&uploads->cache);
}
