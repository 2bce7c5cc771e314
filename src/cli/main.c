// main.c - the table of commands.
#include "base/base.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef ROTA_VERSION
#define ROTA_VERSION "0.1.0"
#endif

enum { OUTPUT_LOST = 70 };

static command_fn command_help, command_version;

#define ASKING "--json --job --db --server --key --help"

// A row without a function is the head of a group.
static const struct command commands[] = {
    {"run a job file", NULL, NULL, NULL, NULL},
    {"run", command_run, "run it with real processes, or go on where it stopped", "file",
     "-j -k -n -q -v --jobs --keep-going --dry-run --fresh --only --json --quiet --verbose --help"},
    {"check", command_check, "say what is wrong in it", "file", "--json --help"},
    {"graph", command_graph, "draw its tasks", "file", "--text --dot --json --help"},

    {"ask about it", NULL, NULL, NULL, NULL},
    {"ps", command_ps, "what runs, waits or failed", "file", "-a --all " ASKING},
    {"show", command_show, "everything about a task", "task", ASKING},
    {"logs", command_logs, "what a task printed, or prints (-f)", "task",
     "-f --follow --attempt --raw " ASKING},
    {"why", command_why, "what keeps a task from running", "task", ASKING},
    {"lanes", command_lanes, "who is inside each lane, and who waits", "file", ASKING},
    {"data", command_data, "the files and streams that tasks make, and yours",
     "ls locate get put keep unkeep", "--raw --content " ASKING},
    {"top", command_top, "all of it on one screen, as it goes on", "",
     "--server --key --db --interval --once --json --help"},
    {"retry", command_tell, "try again what failed", "task", ASKING},
    {"cancel", command_tell, "stop a task, or the whole job", "task", ASKING},
    {"trace", command_trace, "all attempts, for Perfetto or Chrome", "file", "-o --output " ASKING},
    {"report", command_report, "all of it as one web page", "file", "-o --output " ASKING},

    {"many machines", NULL, NULL, NULL, NULL},
    {"server", command_server, "takes jobs, and gives them to workers", "",
     "--listen --db --data --memory --restored --socket-role --keys --audit --lease "
     "--ahead --no-plan --by-rank --pull-cache --pull-inputs --connections --key-connections "
     "--key-queries --key-memory --key-submissions --tasks --help"},
    {"submit", command_submit, "hand a job file to a server", "file",
     "--server --key --policy --wait --attach --shared --json --help"},
    {"wait", command_wait, "until jobs or tasks of a server are over", "",
     "--server --key --json --any --help"},
    {"close", command_close, "let a job of a server go", "", "--server --key --help"},
    {"events", command_events, "what happens on a server, from now or from a place in the past", "",
     "--after --once --job --task --lane --worker --kind --server --key --json --help"},
    {"worker", command_worker, "run commands for a server", "",
     "-j --server --key --listen --peer-key --name --folder --jobs --memory --machine --alone "
     "--contain --user --env --ssh --remote --key-from-stdin --help"},
    {"pause", command_pause, "a lane, a worker or a job gets nothing new", "lane worker job",
     "--server --key --help"},
    {"resume", command_resume, "and now it does again", "lane worker job",
     "--server --key --help"},

    {"tasks by hand", NULL, NULL, NULL, NULL},
    {"fetch", command_fetch, "get a task of a server, and run a command for it", "",
     "--server --key --wait --timeout --lease --failed-ok --fetched-ok --json --help"},
    {"renew", command_renew, "the lease of a task that was fetched begins anew", "",
     "--server --key --keep --help"},
    {"deliver", command_deliver, "a task that was fetched is done", "",
     "--server --key --message --delivered-ok --nofetch-ok --help"},
    {"fail", command_fail, "a task that was fetched has failed, or is given back", "",
     "--server --key --status --message --again --nofetch-ok --help"},

    {"definitions and calendar", NULL, NULL, NULL, NULL},
    {"define", command_define, "insert, update and delete definitions, from a file", "file",
     "--db --help"},
    {"stage", command_act, "a definition is due now", "name", "--db --help"},
    {"start", command_act, "the same, whatever its condition says", "name", "--db --help"},
    {"green", command_act, "a definition counts as succeeded", "name", "--db --help"},
    {"red", command_act, "a definition counts as failed", "name", "--db --help"},
    {"reset", command_act, "a definition counts as never run", "name", "--db --help"},
    {"freeze", command_act, "a definition does not run; whoever needs it goes on", "name",
     "--db --help"},
    {"abort", command_act, "a definition that is active is stopped", "name", "--db --help"},
    {"allocator", command_allocator, "stage what is due by the calendar", "",
     "--db --pretend --once --json --from --until --help"},

    {"a database file", NULL, NULL, NULL, NULL},
    {"sql", command_sql, "ask it a question, or change its definitions", "database",
     "--json --help"},
    {"jobs", command_jobs, "list its jobs", "database", "--json --help"},
    {"history", command_history, "list what ran", "database", "--json --task --help"},
    {"verify", command_verify, "check every promise about it", "database", "--json --help"},
    {"replay", command_replay, "repeat its journal, and see whether it comes to the same",
     "database", "--json --help"},

    {"more", NULL, NULL, NULL, NULL},
    {"keys", command_keys, "make, list and revoke the keys of several machines",
     "make add list revoke", "--json --help"},
    {"simulate", command_simulate, "what a job would come to on workers that are not there", "file",
     "--workers --bandwidth --policy --info --delay --seed --effort --patience --by-rank --replay "
     "--latency --sources --faults --runs --seeds --shrink --tape --trace "
     "--db --job --recorded --price --seconds --network --gantt --svg --perfetto --schedule "
     "--workflow --json --help"},
    {"play", command_play, "run scenarios against the core in virtual time", "file",
     "--check --no-check --db --log-pages --restart-everywhere --trace --help"},
    {"completion", command_completion, "of commands, for bash, zsh or fish", "bash zsh fish",
     "--help"},
    {"help", command_help, "list the commands", "", "--help"},
    {"version", command_version, "say which rota this is", "", ""},
};

static const char examples[]
    = "    rota run build.yaml         run a graph of commands; again, and it goes on\n"
      "    rota ps                     what runs, waits or failed\n"
      "    rota logs -f compile        what a task prints\n"
      "    rota why link               what it waits for\n"
      "    rota report -o report.html  how it went, as a web page\n\n"
      "usage: rota COMMAND [ARGUMENT...]; rota COMMAND --help says more\n";

const struct command *command_at(size_t place)
{
    return place < sizeof commands / sizeof *commands ? &commands[place] : NULL;
}

static int usage(FILE *out)
{
    fputs(examples, out);
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (command->run)
            fprintf(out, "    %-11s %s\n", command->name, command->summary);
        else
            fprintf(out, "\n%s\n", command->name);
    }
    return out == stdout ? 0 : 2;
}

static int command_help(int count, char **words)
{
    (void)count, (void)words;
    return usage(stdout);
}

static int command_version(int count, char **words)
{
    (void)count, (void)words;
    printf("rota %s\n", ROTA_VERSION);
    return 0;
}

// A server answers what asks, and does what changes; the others know what they do with its address.
static bool is_remote(const struct command *command, int count, char **words)
{
    bool asks = strstr(command->options, ASKING) || command->run == command_jobs
                || command->run == command_history;
    if (!asks && command->run != command_act) return false;
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], "--server") == 0) return true;
    return false;
}

static int command_begin(const struct command *command, int count, char **words)
{
    if (!is_remote(command, count, words)) return command->run(count, words);
    if (command->run == command_logs) return remote_logs(command->name, count, words);
    if (command->run == command_data) return remote_data(count, words);
    bool changes = command->run == command_tell || command->run == command_act;
    return changes ? remote_change(command->name, count, words)
                   : remote_ask(command->name, count, words);
}

static int command_unknown(const char *name)
{
    struct word_meant meant = {0};
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (command->run) word_try(&meant, name, command->name);
    fprintf(stderr, "rota: there is no command '%s'", name);
    if (meant.word) fprintf(stderr, "; did you mean %s?\n", meant.word);
    else fputs("; 'rota help' lists them\n", stderr);
    return 2;
}

// What a full disk has cut must not be taken for an answer. Who stopped reading knows what he has.
static int output_end(int status)
{
    struct stat about;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    int reason = errno;  // none: it is long ago
    bool piped = fstat(STDOUT_FILENO, &about) == 0
                 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
    if (piped || status) return status;
    fprintf(stderr, "rota: standard output: %s\n",
            reason ? strerror(reason) : "it could not be written");
    return OUTPUT_LOST;
}

int main(int count, char **words)
{
    surroundings_mend();
    if (count < 2) return usage(stderr);
    const char *name = words[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) name = "version";
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (command->run && strcmp(command->name, name) == 0)
            return output_end(command_begin(command, count - 2, words + 2));
    return command_unknown(name);
}
