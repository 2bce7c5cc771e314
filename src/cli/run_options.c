// run_options.c - what can be said behind `rota run`.
#include "run/loop.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota run [OPTION...] FILE\n\n"
      "    rota run build.yaml            run it; again, and it goes on where it stopped\n"
      "    rota run -j 8 -k build.yaml    eight at a time, and go on after failures\n"
      "    rota run -n build.yaml         only say what would run\n\n"
      "    -j, --jobs N      so many at a time (as many as it may use cores)\n"
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

enum { FRESH = 256, ONLY, JSON, CONTAIN, JOBS_MAX = 100000 };

static const char letters[] = ":j:knqvh";

static bool number_read(const char *text, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || !*text || *text == '-' || value < 1 || value > JOBS_MAX) return false;
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

__attribute__((format(printf, 1, 2)))
static int refuse(const char *format, ...)
{
    va_list arguments;
    fputs("rota run: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\n'rota run --help' says more\n", stderr);
    return 2;
}

// A letter may stand anywhere in its word; a long one is the word before.
static int unknown_refuse(const char *word)
{
    bool letter = optopt > ' ' && optopt < 127 && !strchr(letters, optopt);
    if (letter) return refuse("there is no option '-%c'", optopt);
    return refuse("'%s' is not understood", word);
}

static int option_refuse(int option, const char *word)
{
    switch (option) {
    case 'j': return refuse("-j wants a number from 1 to %d, not '%s'", JOBS_MAX, word);
    case ONLY: return refuse("--only wants names of tasks, not '%s'", word);
    case CONTAIN: return refuse("--contain wants best or tree, not '%s'", word);
    default: return 2;
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
    while ((option = getopt_long(count + 1, words - 1, letters, longs, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (option == ':') return refuse("%s wants a word behind it", words[optind - 2]);
        if (option == '?') return unknown_refuse(words[optind - 2]);
        if (!option_take(options, option)) return option_refuse(option, optarg);
    }
    if (options->quiet && options->verbose)
        return refuse("--quiet and --verbose cannot both be meant");
    if (optind > count) return refuse("which file?");
    if (optind < count) return refuse("one file at a time: '%s' is too much", words[optind]);
    if (strcmp(words[optind - 1], "-") == 0)
        return refuse("a job file from the standard input has no folder to run in");
    options->path = words[optind - 1];
    return -1;
}
