// completion.c - `rota completion`: prints completion scripts from the table of commands.
#include "cli/query_options.h"
#include "cli/show/table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- bash, and zsh through its own bashcompinit ------------------------------------------------

static const char bash_end[]
    = "    esac\n"
      "    if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return; "
      "fi\n"
      "    local IFS=$'\\n'\n"
      "    case $kind in\n"
      "        task) COMPREPLY=($(compgen -W \"$(rota completion tasks 2>/dev/null)\" -- "
      "\"$word\")\n"
      "                         $(compgen -f -X '!*.@(yaml|yml|json|jsonl|ndjson)' -- \"$word\")) "
      ";;\n"
      "        file|database) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
      "        words) COMPREPLY=($(IFS=' '; compgen -W \"$values\" -- \"$word\")) ;;\n"
      "    esac\n"
      "}\n"
      "complete -o filenames -o bashdefault -F _rota rota\n";

static const char *kind_of(const struct command *command)
{
    static const char *const kinds[] = {[ARGUMENT_NONE] = "", [ARGUMENT_FILE] = "file",
                                        [ARGUMENT_TASK] = "task",
                                        [ARGUMENT_DATABASE] = "database",
                                        [ARGUMENT_NAME] = "name", [ARGUMENT_VERB] = "words"};
    return kinds[command->argument.kind];
}

// A shell completes the first word of a name such as "worker drain".
static bool is_one_word(const struct command *command)
{
    return !strchr(command->name, ' ');
}

static void option_list(const struct option_row *row)
{
    if (row->letter) printf("-%c ", row->letter);
    printf("--%s", row->name);
}

static void bash_print(void)
{
    const struct command *command;
    fputs("_rota()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} options= kind= values=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
          stdout);
    for (size_t i = 0; (command = command_at(i)); i++)
        if (is_one_word(command)) printf("%s ", command->name);
    fputs("--help --version\" -- \"$word\"))\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!is_one_word(command)) continue;
        printf("        %s) options=\"", command->name);
        for (const struct option_row *row = NULL; (row = option_shown(command, row));) {
            option_list(row);
            putchar(' ');
        }
        option_list(&option_help);
        printf("\" kind=%s values=\"%s\" ;;\n", kind_of(command),
               command->verbs ? command->verbs : "");
    }
    fputs(bash_end, stdout);
}

static void zsh_print(void)
{
    puts("autoload -U +X bashcompinit && bashcompinit");
    bash_print();
}

// ---- fish --------------------------------------------------------------------------------------

static void fish_option(const struct command *command, const struct option_row *row)
{
    printf("complete -c rota -n '__fish_seen_subcommand_from %s'", command->name);
    if (row->letter) printf(" -s %c", row->letter);
    printf(" -l %s%s\n", row->name, *row->value ? " -r" : "");
}

static void fish_print(void)
{
    const struct command *command;
    puts("complete -c rota -f");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!is_one_word(command)) continue;
        const char *kind = kind_of(command);
        printf("complete -c rota -n __fish_use_subcommand -a %s -d \"%s\"\n", command->name,
               command->summary);
        for (const struct option_row *row = NULL; (row = option_shown(command, row));)
            fish_option(command, row);
        fish_option(command, &option_help);
        if (strcmp(kind, "task") == 0)
            printf("complete -c rota -n '__fish_seen_subcommand_from %s'"
                   " -a '(rota completion tasks 2>/dev/null)'\n",
                   command->name);
        else if (strcmp(kind, "words") == 0)
            printf("complete -c rota -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name,
                   command->verbs);
        else if (*kind)
            printf("complete -c rota -n '__fish_seen_subcommand_from %s' -F\n", command->name);
    }
}

// ---- Names of tasks, for the scripts ----------------------------------------------------

static int tasks_print(const struct command *command)
{
    struct query_options options = {.command = command};
    int status = access(".rota/rota.db", R_OK) == 0 ? query_options_load(&options) : -1;
    for (uint32_t i = 0; status == 0 && i < options.query.task_count; i++) {
        name_write(stdout, &options.query, i);
        putchar('\n');
    }
    query_options_close(&options);
    return status > 0 ? status : 0;
}

static int completion(const struct command *command, int count, char **words)
{
    struct arguments arguments;
    int status = options_read(command, NULL, NULL, &arguments, count, words);
    if (status >= 0) return status;
    const char *shell = arguments.items[0];
    if (strcmp(shell, "tasks") == 0) return tasks_print(command);
    if (strcmp(shell, "bash") == 0)
        bash_print();
    else if (strcmp(shell, "zsh") == 0)
        zsh_print();
    else if (strcmp(shell, "fish") == 0)
        fish_print();
    else
        return command_wrong(command, "expected bash, zsh or fish, not '%s'", shell);
    return 0;
}

static const struct option_row rows[] = {OPTION_ROWS_END};

const struct command completion_command = {
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .group = GROUP_OTHER,
    .argument = {ARGUMENT_VERB, "SHELL", 1, 1},
    .run = completion,
    .options = rows,
    .verbs = "bash zsh fish",
    .usage = "bash|zsh|fish|tasks\n",
    .text = "`tasks` prints the names of the tasks of the last job; the scripts use it.\n",
    .examples = "eval \"$(rota completion bash)\"\tin ~/.bashrc\n"
                "eval \"$(rota completion zsh)\"\tin ~/.zshrc\n"
                "rota completion fish >~/.config/fish/completions/rota.fish\tfor fish\n",
    .exits = "0\tdone\n2\tthe argument is wrong\n",
};
