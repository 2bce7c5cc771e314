// simulate.h - `rota simulate`: what its parts share.
#pragma once

#include "sim/whatif/whatif.h"

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
    bool has_faults;
    uint32_t runs;
    struct simulate_runs {  // what several of them came to
        uint32_t failed;
        double least, median, most_of_ten, most;  // seconds: nine of ten take no longer than
    } of_runs;
};

// ---- simulate_values.c: what stands behind an option. False: it has said why -------

bool value_refuse(const char *option, const char *word, const char *expected);  // returns false
bool value_number(const char *option, const char *text, double *number);
bool value_whole(const char *option, const char *text, uint64_t *number);
bool value_bandwidth(const char *text, double *mib);
bool value_workers(struct lab_setting *setting, const char *text);
bool value_faults(const char *text, struct lab_faults *faults);

// ---- simulate_options.c ------------------------------------------------------------------------

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
