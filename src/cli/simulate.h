// simulate.h - `rota simulate`: what its files share.
#pragma once

#include "cli/options.h"
#include "plan/plan.h"
#include "sim/whatif/whatif.h"

struct simulate_request {
    const char *file, *replay, *svg, *perfetto, *workflow, *schedule;
    bool is_database;    // `file` is a database
    uint32_t job;        // of the database; 0: the last one
    bool recorded;       // show how the job ran, simulate nothing
    uint32_t policy, sources, network;  // places in the words of the options
    struct whatif_setting setting;
    struct whatif_options options;
    double seconds_each;
    double price;        // of a core for an hour; below 0: not given
    bool json, gantt;
    bool has_faults;
    uint32_t runs;
    struct simulate_runs {  // the results of several runs
        uint32_t failed;
        double least, median, most_of_ten,
            most;  // seconds; nine of ten runs take at most most_of_ten
    } of_runs;
};

// ---- simulate_values.c: values of options; false: the value is invalid -------------------------

bool value_bandwidth(const char *text, double *mib);
bool value_workers(struct whatif_setting *setting, const char *text);
bool value_faults(const char *text, struct whatif_faults *faults);

// ---- simulate_options.c ------------------------------------------------------------------------

extern const struct option_row simulate_rows[];
// Returns -1, or the exit status. Release it in either case.
int simulate_read(const struct command *command, struct simulate_request *request, int count,
                  char **words);
void simulate_release(struct simulate_request *request);

// ---- simulate_show.c -------------------------------------------------------------------------

void simulate_show(const struct simulate_request *request, const struct whatif_job *job,
                   const struct whatif_course *course);
// False: an error was printed.
bool simulate_files(const struct simulate_request *request, const struct whatif_job *job,
                    const struct whatif_course *course);

// ---- simulate_recorded.c: a job from a database -------------------------------------------------

// Returns the exit status; prints why it is not 0. Release the job in any case. With
// `request->recorded`, sets the workers that ran the job, and the course of the run.
int recorded_read(struct simulate_request *request, struct whatif_job *job,
                  struct whatif_course *course);
