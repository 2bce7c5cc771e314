// digest.c - sends random events to the core and prints the results.
//
//     digest [SEED [EVENTS]]
//
// Every build of the same sources must print the same text: after every 100 events the
// digest of the core, a hash of all effects, and how many events were refused for what.
#include "story.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint32_t events = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 6000;
    struct story *story = story_open(seed, NULL, 0);
    for (uint32_t event = 1; event <= events; event++) {
        story_continue(story);
        if (event % 100) continue;
        story_end_turn(story);
        story_check(story);
        printf("%u ", event);
        story_print(story);
    }
    story_close(story);
    return 0;
}
