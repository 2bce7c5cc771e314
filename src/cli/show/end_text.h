// end_text.h - how a task of a server ended, as text.
#pragma once

#include "rota.h"

// "exit 2", "timed out", "stopped"; the reason may be "".
enum { END_TEXT = 600 };
const char *end_text(enum rota_outcome outcome, int32_t status, const char *reason,
                     char out[END_TEXT]);
