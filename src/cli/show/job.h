// job.h - a job file as text: JSON, Graphviz, a drawing.
#pragma once

#include <stdio.h>

#include "job/file/jobfile.h"

void jobfile_json_write(const struct jobfile *file, FILE *out);   // one object, a task a line
void jobfile_dot_write(const struct jobfile *file, FILE *out);    // dependencies, for Graphviz
void jobfile_graph_write(const struct jobfile *file, FILE *out);  // dependencies, as JSON
void jobfile_draw(const struct jobfile *file, FILE *out);         // layer by layer, for people
