// scene.h - a fixed story of some turns, and checks of its file afterwards.
#pragma once

#include "store/store.h"

enum { SCENE_TURNS = 14 };

struct scene {
    const char *path;
    struct store_options options;
    bool ahead;                         // a turn is prepared while the one before is synced
    uint32_t turns;                     // how many are played; 0: all
    uint64_t digests[SCENE_TURNS + 2];  // of the core after each turn; [0]: before the first
    uint32_t acknowledged;              // turns whose commit said yes
    uint32_t tried;                     // turns whose commit was asked for
    struct store_error error;           // of the open or commit that failed
    bool was_full;
};

// Plays the story into a new file. False: a commit or the opening failed, as scene->error says.
bool scene_run(struct scene *scene);

// Opens the file again. Null: all that was acknowledged is there, and nothing half done.
const char *scene_judge(const struct scene *scene);
