// disk.h - job files on a disk, and their errors as text.
//
//     struct jobfile file;
//     if (!jobfile_read(&file, "night.yaml")) jobfile_errors_write(&file, stderr);
//     ...
//     jobfile_release(&file);
#pragma once

#include <stdio.h>

#include "job/file/jobfile.h"

// The format follows the name: .json, .jsonl (or .ndjson), else YAML; "-" is YAML from the standard
// input. False: there are errors. Release it in either case.
bool jobfile_read(struct jobfile *file, const char *path);

// "path:line:column: reason", a line each.
void jobfile_errors_write(const struct jobfile *file, FILE *out);

// Any JSON file as a tree. The tree points into the bytes; the caller frees both.
struct reader;
bool jobfile_tree_read(struct reader *reader, const char *path, char **bytes);
