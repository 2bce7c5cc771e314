// refusal.h - the reason of a refusal in words for a user.
#pragma once

#include "rota.h"

#include <stddef.h>

// Jobs below `next` existed once. For cancel, retry, stage, close and manual actions; other
// refusals keep the words of the core.
void refusal_write(struct rota *rota, const struct rota_event *event, enum rota_error error,
                   uint32_t next, char *out, size_t size);
