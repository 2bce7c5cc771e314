// simulate.h - `rota simulate`: what its parts share.
#pragma once

#include "lab/lab.h"

struct simulate_request {
    const char *file, *replay, *svg, *perfetto, *workflow, *schedule;
    bool is_database;    // `file` is one
    uint32_t job;        // of the database; 0: its last
    bool recorded;       // how it went, and not how it would go
    struct lab_setting setting;
    struct lab_options options;
    double seconds_each;
    double price;        // of a core for an hour; below 0: nobody asked
    bool json, gantt;
};

// ---- simulate_words.c ------------------------------------------------------------------------

// Returns the exit status, or -1 to go on. Release it in either case.
int simulate_words(struct simulate_request *request, int count, char **words);
void simulate_release(struct simulate_request *request);

// ---- simulate_show.c -------------------------------------------------------------------------

void simulate_show(const struct simulate_request *request, const struct lab_job *job,
                   const struct lab_course *course);
// False: it has said why.
bool simulate_files(const struct simulate_request *request, const struct lab_job *job,
                    const struct lab_course *course);

// ---- recorded.c: a job as a database has it --------------------------------------------------

// The exit status, and it has said why it is not 0. Release the job in any case. With
// `request->recorded` the setting becomes the workers that were there, and the course is taken.
int recorded_read(struct simulate_request *request, struct lab_job *job,
                  struct lab_course *course);
