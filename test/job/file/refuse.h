// refuse.h - helpers for tests of job files: their content, and errors with their places.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/file/jobfile.h"

// It is fine, or the test fails with what is wrong.
void parsed(struct jobfile *file, enum jobfile_format format, const char *text);
// The mistakes, "line:column: reason" and a newline each, are these.
void refused(enum jobfile_format format, const char *text, const char *expected);
void refused_bytes(enum jobfile_format format, const char *bytes, size_t size,
                   const char *expected);
const struct jobfile_task *task_named(const struct jobfile *file, const char *name);
// The names of what it needs, with blanks between them.
void needs_are(const struct jobfile *file, const char *task, const char *expected);
