// history_fuzz.c - libFuzzer chooses the history; core and model must agree on it.
//
//     clang -fsanitize=fuzzer,address -Iinclude test/model/{history_fuzz,history*,model_?*,...}.c
#include <stdlib.h>

#include "history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > HISTORY_BYTES) return 0;
    struct history *history = malloc(sizeof *history);
    struct model *model = malloc(sizeof *model);
    struct history_stats *stats = calloc(1, sizeof *stats);
    if (!history || !model || !stats) abort();
    struct history_setup setup = {.bytes = data, .size = size, .stats = stats};
    bool fine = history_run(history, model, &setup);
    if (!fine) {
        fprintf(stderr, "disagreement: %s\n", model->difference);
        abort();
    }
    free(history);
    free(model);
    free(stats);
    return 0;
}
