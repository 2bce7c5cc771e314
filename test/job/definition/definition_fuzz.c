// definition_fuzz.c - libFuzzer writes a definition file; accepted ones can be written again.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "job/definition/definition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Written, parsed and written again gives the same text.
static void written_again(const struct definition *definition)
{
    int length = definition_write(definition, NULL, 0);
    assert(length > 0);
    char *text = malloc((size_t)length + 1), *again = malloc((size_t)length + 1);
    definition_write(definition, text, (size_t)length + 1);
    struct definitions file;
    bool good = definitions_parse(&file, text, (size_t)length);
    assert(good);
    assert(file.count == 1);
    assert(file.items[0].given == definition->given);
    assert(definition_write(&file.items[0], again, (size_t)length + 1) == length);
    assert(memcmp(text, again, (size_t)length + 1) == 0);
    definitions_release(&file);
    free(text);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct definitions file;
    bool good = definitions_parse(&file, (const char *)data, size);
    assert(good == (file.error_count == 0));
    for (uint32_t i = 0; good && i < file.count; i++) written_again(&file.items[i]);
    definitions_release(&file);
    return 0;
}
