// completion.c - `rota completion`: what a shell has to know of the table of commands.
#include "cli/query_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[]
    = "    eval \"$(rota completion bash)\"                                in ~/.bashrc\n"
      "    eval \"$(rota completion zsh)\"                                 in ~/.zshrc\n"
      "    rota completion fish >~/.config/fish/completions/rota.fish\n\n"
      "usage: rota completion bash|zsh|fish\n";

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
    static const char *const kinds[] = {"task", "file", "database", "name", ""};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], command->words) == 0) return kinds[i];
    return "words";
}

static void bash_print(void)
{
    const struct command *command;
    fputs("_rota()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} options= kind= values=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
          stdout);
    for (size_t i = 0; (command = command_at(i)); i++)
        if (command->run) printf("%s ", command->name);
    fputs("--help --version\" -- \"$word\"))\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; (command = command_at(i)); i++)
        if (command->run)
            printf("        %s) options=\"%s\" kind=%s values=\"%s\" ;;\n", command->name,
                   command->options, kind_of(command), command->words);
    fputs(bash_end, stdout);
}

static void zsh_print(void)
{
    puts("autoload -U +X bashcompinit && bashcompinit");
    bash_print();
}

// ---- fish --------------------------------------------------------------------------------------

static void fish_option(const char *command, const char *option, size_t length)
{
    bool is_long = length > 2 && option[1] == '-';
    printf("complete -c rota -n '__fish_seen_subcommand_from %s' -%c %.*s\n", command,
           is_long ? 'l' : 's', (int)(length - (is_long ? 2 : 1)), option + (is_long ? 2 : 1));
}

static void fish_options(const struct command *command)
{
    for (const char *at = command->options; *at;) {
        size_t length = strcspn(at, " ");
        if (length > 1) fish_option(command->name, at, length);
        at += length + (at[length] == ' ');
    }
}

static void fish_print(void)
{
    const struct command *command;
    puts("complete -c rota -f");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!command->run) continue;
        const char *kind = kind_of(command);
        printf("complete -c rota -n __fish_use_subcommand -a %s -d '%s'\n", command->name,
               command->summary);
        fish_options(command);
        if (strcmp(kind, "task") == 0)
            printf("complete -c rota -n '__fish_seen_subcommand_from %s'"
                   " -a '(rota completion tasks 2>/dev/null)'\n",
                   command->name);
        else if (strcmp(kind, "words") == 0)
            printf("complete -c rota -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name,
                   command->words);
        else if (*kind)
            printf("complete -c rota -n '__fish_seen_subcommand_from %s' -F\n", command->name);
    }
}

// ---- What is asked for while somebody types ----------------------------------------------------

static int tasks_print(void)
{
    static const struct asker_use use = {"completion", usage, "", ASKER_TASKS};
    char name[] = "completion", *words[] = {name, NULL};
    struct asker asker;
    int status = asker_open(&asker, &use, 0, words + 1);
    if (status < 0 && access(".rota/rota.db", R_OK) == 0) status = asker_load(&asker);
    for (uint32_t i = 0; status == 0 && i < asker.ask.task_count; i++) {
        name_write(stdout, &asker.ask, i);
        putchar('\n');
    }
    asker_close(&asker);
    return status > 0 ? status : 0;
}

int command_completion(int count, char **words)
{
    const char *shell = count == 1 ? words[0] : "";
    if (strcmp(shell, "tasks") == 0) return tasks_print();
    if (strcmp(shell, "bash") == 0)
        bash_print();
    else if (strcmp(shell, "zsh") == 0)
        zsh_print();
    else if (strcmp(shell, "fish") == 0)
        fish_print();
    else {
        bool help = strcmp(shell, "--help") == 0;
        fputs(usage, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    return 0;
}
