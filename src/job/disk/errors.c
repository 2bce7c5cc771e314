// errors.c - prints the errors of a job file.
#include "job/disk/disk.h"

void jobfile_errors_write(const struct jobfile *file, FILE *out)
{
    for (uint32_t i = 0; i < file->error_count; i++) {
        const struct jobfile_error *error = &file->errors[i];
        fputs(file->path, out);
        if (error->place.line) fprintf(out, ":%u:%u", error->place.line, error->place.column);
        fprintf(out, ": %s\n", error->reason);
    }
    if (file->error_count == JOBFILE_ERRORS_MAX)
        fprintf(out, "%s: too many errors; only the first %d are listed\n", file->path,
                JOBFILE_ERRORS_MAX);
}
