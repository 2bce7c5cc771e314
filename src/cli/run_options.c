// run_options.c - what can be said behind `rota run`.
#include "cli/runner.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota run [OPTION...] FILE\n\n"
      "    rota run build.yaml            run it; again, and it goes on where it stopped\n"
      "    rota run -j 8 -k build.yaml    eight at a time, and go on after failures\n"
      "    rota run -n build.yaml         only say what would run\n\n"
      "    -j, --jobs N      so many at a time (as many as there are processors)\n"
      "    -k, --keep-going  after a failure run all that does not need what failed; files with\n"
      "                      handlers of failures (when: fa(x) or done(x)) always do so\n"
      "    -n, --dry-run     run nothing; list what would run\n"
      "    --fresh           forget what was done before\n"
      "    --only NAME,...   only these tasks and what they need\n"
      "    --json            one object a line for each event\n"
      "    -q, --quiet       only failures\n"
      "    -v, --verbose     a line for each task, on a terminal too\n\n"
      "Exit status: 0 all is done, 1 a task failed, 2 the file or an option is wrong, 3 "
      "cancelled,\n"
      "5 nothing can go on, 70 the disk or the worker failed, 130 interrupted.\n";

enum { FRESH = 256, ONLY, JSON, CONTAIN };

static bool number_read(const char *text, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || !*text || *text == '-' || value < 1 || value > 100000) return false;
    *number = (uint32_t)value;
    return true;
}

static bool option_take(struct run_options *options, int option)
{
    switch (option) {
    case 'j': return number_read(optarg, &options->jobs);
    case 'k': return options->keep_going = true;
    case 'n': return options->dry = true;
    case 'q': return options->quiet = true;
    case 'v': return options->verbose = true;
    case FRESH: return options->fresh = true;
    case JSON: return options->json = true;
    case ONLY: return *(options->only = optarg) != 0;
    case CONTAIN:
        options->contain = WORKER_CONTAIN_TREE;
        return strcmp(optarg, "tree") == 0 || strcmp(optarg, "best") == 0;
    default: return false;
    }
}

int run_options_read(struct run_options *options, int count, char **words)
{
    static const struct option longs[] = {{"jobs", required_argument, NULL, 'j'},
                                          {"keep-going", no_argument, NULL, 'k'},
                                          {"dry-run", no_argument, NULL, 'n'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"fresh", no_argument, NULL, FRESH},
                                          {"only", required_argument, NULL, ONLY},
                                          {"json", no_argument, NULL, JSON},
                                          {"contain", required_argument, NULL, CONTAIN},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option;
    optind = 1;
    while ((option = getopt_long(count + 1, words - 1, "j:knqvh", longs, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (option_take(options, option)) continue;
        if (option != '?') fprintf(stderr, "rota run: '%s' cannot be used there\n", optarg);
        fputs("'rota run --help' says more\n", stderr);
        return 2;
    }
    if (options->quiet && options->verbose) {
        fputs("rota run: --quiet and --verbose cannot both be meant\n", stderr);
        return 2;
    }
    if (optind != count) {
        fputs(usage, stderr);
        return 2;
    }
    options->path = words[optind - 1];
    return -1;
}
