// read.c - reads a job from a file in any of the known formats.
#include "sim/whatif/whatif.h"
#include "job/disk/disk.h"

#include <string.h>

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), wanted = strlen(end);
    return length > wanted && strcmp(path + length - wanted, end) == 0;
}

static bool read_job_file(struct whatif_job *job, const char *path, double seconds_each)
{
    struct jobfile file;
    bool fine = jobfile_read(&file, path);
    if (fine) fine = whatif_read_job(job, &file, seconds_each);
    else jobfile_errors_write(&file, stderr);
    jobfile_release(&file);
    return fine;
}

static bool names_format(const struct document *document, const char *format)
{
    uint32_t node = document_find(document, document_root(document), "format");
    const char *text = document_text(document, node);
    return text && strcmp(text, format) == 0;
}

bool whatif_read(struct whatif_job *job, const char *path, double seconds_each)
{
    *job = (struct whatif_job){0};
    if (!ends_with(path, ".json")) return read_job_file(job, path, seconds_each);
    struct document document;
    bool fine = document_open(&document, path), is_job = false;
    uint32_t root = fine ? document_root(&document) : 0;
    if (fine && names_format(&document, "tg-1"))
        fine = whatif_read_graph(job, &document);
    else if (fine && document_find(&document, root, "workflow"))
        fine = whatif_read_workflow(job, &document);
    else
        is_job = fine;
    if (!is_job && !fine) document_errors_write(&document, stderr);
    document_close(&document);
    return is_job ? read_job_file(job, path, seconds_each) : fine;
}
