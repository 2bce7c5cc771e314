// story_fuzz.c - libFuzzer makes the choices of story.c: each byte is one choice.
#include "story.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct story *story = story_open(1, data, size);
    while (story_choices_left(story) > 0) {
        story_continue(story);
        story_check(story);
    }
    story_end_turn(story);
    story_check(story);
    story_close(story);
    return 0;
}
