/* pawl completion: scripts that complete command lines, made from the table of commands.
 *
 * A script holds all it offers, so that completing starts no process of ours and opens no store. It
 * offers groups, commands, options, and the values of options that have few. */
#include "app/cli.h"
#include "app/commands.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"

#include <string.h>

/* ---- What scripts are made of ---------------------------------------------------------------- */

/* For between single quotes. Where escaped has characters, a backslash goes before each. */
static void put_quoted(FILE *file, const char *text, const char *quote, const char *escaped)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputs(quote, file);
        } else {
            if (strchr(escaped, *text) != NULL) (void)fputc('\\', file);
            (void)fputc(*text, file);
        }
    }
}

static bool starts(const char *text, const char *with)
{
    return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

static bool is_in(const struct pawl_cli_command *command, const struct pawl_cli_group *group)
{
    if (group == NULL) return command->group == NULL;
    return command->group != NULL && strcmp(command->group, group->name) == 0;
}

/* What the arguments are one of: "bash|zsh|fish" has a bar. */
static bool has_choice(const struct pawl_cli_command *command)
{
    return strchr(command->arguments, '|') != NULL;
}

static void put_choice(FILE *file, const struct pawl_cli_command *command)
{
    for (const char *at = command->arguments; *at != '\0'; at++) {
        (void)fputc(*at == '|' ? ' ' : *at, file);
    }
}

static bool explains_commands(const struct pawl_cli_command *command)
{
    return strcmp(command->arguments, "[COMMAND]") == 0;
}

static bool takes_files(const struct pawl_cli_command *command)
{
    return starts(command->arguments, "FILE") || starts(command->arguments, "[FILE]") ||
           starts(command->arguments, "DEST");
}

/* Its value is a text, or an @ and the file that holds it. */
static bool takes_body(const struct pawl_cli_option *option)
{
    return strstr(option->help, "@FILE") != NULL;
}

static bool runs_commands(const struct pawl_cli_command *command)
{
    return strstr(command->arguments, "-- COMMAND") != NULL;
}

static void put_names(FILE *file, const struct pawl_cli_group *group)
{
    if (group == NULL) {
        for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
            (void)fprintf(file, "%s ", at->name);
        }
    }
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (is_in(at, group)) (void)fprintf(file, "%s ", at->name);
    }
}

/* "task add", "events" */
static void put_path(FILE *file, const struct pawl_cli_command *command)
{
    (void)fprintf(file, "%s%s%s", command->group != NULL ? command->group : "",
                  command->group != NULL ? " " : "", command->name);
}

/* ---- bash ------------------------------------------------------------------------------------ */

static const char bash_start[] =
    "# Completes command lines of pawl in bash; made by `pawl completion bash`.\n"
    "_pawl()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local at command='' offers='' kind=words\n"
    "    COMPREPLY=()\n"
    "    # What stands behind `=` or `@` is a word, and so are these; the `@` is part of what is "
    "completed.\n"
    "    if [[ $cur == @(@|=@) ]]; then cur=@\n"
    "    elif [[ $last == @(@|=@) ]]; then cur=@$cur last=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    elif [[ $cur == '=' ]]; then cur=\n"
    "    fi\n"
    "    if [[ $last == '=' ]]; then last=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
    "    for ((at = 1; at < COMP_CWORD; at++)); do\n"
    "        case ${COMP_WORDS[at]} in\n"
    "        --)\n"
    "            # What is run: a command, then files.\n"
    "            compopt -o default 2>/dev/null\n"
    "            ((at < COMP_CWORD - 1)) || mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
    "            return\n"
    "            ;;\n";

static const char bash_walk[] = ")\n"
                                "            at=$((at + 1))\n"
                                "            [[ ${COMP_WORDS[at]} != '=' ]] || at=$((at + 1))\n"
                                "            ;;\n"
                                "        -*) ;;\n"
                                "        *)\n"
                                "            case $command in\n"
                                "            '') command=${COMP_WORDS[at]} ;;\n";

static const char bash_middle[] = "            esac\n"
                                  "            ;;\n"
                                  "        esac\n"
                                  "    done\n"
                                  "    case $command:$last in\n";

static const char bash_end[] =
    "    esac\n"
    "    case $kind in\n"
    "    files)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "        ;;\n"
    "    folders)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "        ;;\n"
    "    body)\n"
    "        if [[ $cur == @* ]]; then mapfile -t COMPREPLY < <(compgen -f -P @ -- "
    "\"${cur#@}\")\n"
    "        fi\n"
    "        ;;\n"
    "    words) mapfile -t COMPREPLY < <(compgen -W \"$offers\" -- \"$cur\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _pawl pawl\n";

/* What follows an option that takes a value; path is how the command stands in the pattern. */
static void put_bash_value(FILE *file, const char *path, const struct pawl_cli_option *option)
{
    if (option->value == NULL || option->is_hidden) return;
    (void)fprintf(file, "    %s:--%s", path, option->name);
    if (option->letter != 0) (void)fprintf(file, " | %s:-%c", path, option->letter);
    if (option->words != NULL) {
        (void)fprintf(file, ") offers='%s' ;;\n", option->words);
    } else {
        (void)fprintf(file, ") kind=%s ;;\n",
                      starts(option->value, "FILE")     ? "files"
                      : starts(option->value, "FOLDER") ? "folders"
                      : takes_body(option)              ? "body"
                                                        : "none");
    }
}

static void put_bash_options(FILE *file, const struct pawl_cli_command *command)
{
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != NULL; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            if (!at->is_hidden) (void)fprintf(file, "--%s ", at->name);
        }
    }
}

static void put_bash_command(FILE *file, const struct pawl_cli_command *command)
{
    char path[128];
    (void)snprintf(path, sizeof path, "'%s%s%s'", command->group != NULL ? command->group : "",
                   command->group != NULL ? " " : "", command->name);
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != pawl_cli_options_common; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            put_bash_value(file, path, at);
        }
    }
    if (explains_commands(command)) {
        for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
            (void)fprintf(file, "    %s:%s) offers='", path, at->name);
            put_names(file, at);
            (void)fputs("' ;;\n", file);
        }
    }
    (void)fprintf(file, "    %s:*) offers='", path);
    if (explains_commands(command)) put_names(file, NULL);
    if (has_choice(command)) {
        put_choice(file, command);
        (void)fputc(' ', file);
    }
    put_bash_options(file, command);
    (void)fprintf(file, "'%s ;;\n", takes_files(command) ? "; [[ $cur == -* ]] || kind=files" : "");
}

static void print_bash(FILE *file)
{
    (void)fputs(bash_start, file);
    (void)fputs("        ", file);
    const char *before = "";
    for (const struct pawl_cli_option *at = pawl_cli_options_common; at->name != NULL; at++) {
        if (at->value == NULL) continue;
        (void)fprintf(file, "%s--%s", before, at->name);
        if (at->letter != 0) (void)fprintf(file, " | -%c", at->letter);
        before = " | ";
    }
    (void)fputs(bash_walk, file);
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        (void)fprintf(file, "            %s) command+=\" ${COMP_WORDS[at]}\" ;;\n", at->name);
    }
    (void)fputs(bash_middle, file);
    for (const struct pawl_cli_option *at = pawl_cli_options_common; at->name != NULL; at++) {
        put_bash_value(file, "*", at);
    }
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        put_bash_command(file, at);
    }
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        (void)fprintf(file, "    %s:*) offers='", at->name);
        put_names(file, at);
        put_bash_options(file, NULL);
        (void)fputs("' ;;\n", file);
    }
    (void)fputs("    :*) offers='", file);
    put_names(file, NULL);
    put_bash_options(file, NULL);
    (void)fputs("' ;;\n", file);
    (void)fputs(bash_end, file);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static const char zsh_state[] =
    "    local curcontext=$curcontext state line ret=1\n"
    "    local -a names\n"
    "    typeset -A opt_args\n"
    "    _arguments -C -s -S $_pawl_common '(-): :->name' '(-)*:: :->rest' "
    "&& ret=0\n"
    "    case $state in\n"
    "    name)\n"
    "        names=(\n";

static const char zsh_rest[] =
    "        )\n"
    "        _describe -t commands command names && ret=0\n"
    "        ;;\n"
    "    rest)\n"
    "        # What stands before the command is passed over.\n"
    "        while (( $#words > 1 )) && [[ $words[1] != $line[1] ]]; do\n"
    "            shift words\n"
    "            (( CURRENT-- ))\n"
    "        done\n"
    "        case $words[1] in\n";

static const char zsh_end[] = "        esac\n"
                              "        ;;\n"
                              "    esac\n"
                              "    return ret\n"
                              "}\n\n";

static void put_zsh_quoted(FILE *file, const char *text)
{
    put_quoted(file, text, "'\\''", "\\:[]");
}

static void put_zsh_option(FILE *file, const struct pawl_cli_option *option)
{
    const char *takes = option->value != NULL ? "=" : "";
    if (option->is_hidden) return;
    (void)fputs(" \\\n                ", file);
    if (option->letter == 0) {
        (void)fprintf(file, "'%s--%s%s[", option->repeats ? "*" : "", option->name, takes);
    } else {
        if (option->repeats) (void)fputs("'*'", file);
        if (!option->repeats) (void)fprintf(file, "'(-%c --%s)'", option->letter, option->name);
        (void)fprintf(file, "{-%c%s,--%s%s}'[", option->letter, option->value != NULL ? "+" : "",
                      option->name, takes);
    }
    put_zsh_quoted(file, option->help);
    (void)fputc(']', file);
    if (option->value != NULL) {
        (void)fputc(':', file);
        put_zsh_quoted(file, option->value);
        (void)fputc(':', file);
        if (option->words != NULL) {
            (void)fprintf(file, "(%s)", option->words);
        } else if (starts(option->value, "FILE")) {
            (void)fputs("_files", file);
        } else if (starts(option->value, "FOLDER")) {
            (void)fputs("_files -/", file);
        } else if (takes_body(option)) {
            (void)fputs("{compset -P @ && _files}", file);
        }
    }
    (void)fputc('\'', file);
}

static void put_zsh_name(FILE *file, const char *name, const char *summary)
{
    (void)fprintf(file, "            '%s:", name);
    put_zsh_quoted(file, summary);
    (void)fputs("'\n", file);
}

static void put_zsh_command(FILE *file, const struct pawl_cli_command *command)
{
    (void)fprintf(file, "        %s)\n            _arguments -s -S $_pawl_common", command->name);
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != pawl_cli_options_common; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            put_zsh_option(file, at);
        }
    }
    if (explains_commands(command)) {
        (void)fputs(" \\\n                '1: :(", file);
        put_names(file, NULL);
        (void)fputs(")'", file);
    } else if (runs_commands(command)) {
        (void)fputs(" \\\n                '*: :{(( $words[(I)--] )) && _files}'", file);
    } else if (has_choice(command)) {
        (void)fputs(" \\\n                '1: :(", file);
        put_choice(file, command);
        (void)fputs(")'", file);
    } else if (command->arguments[0] != '\0') {
        (void)fputs(" \\\n                '*:", file);
        put_zsh_quoted(file, command->arguments);
        (void)fputs(takes_files(command) ? ":_files'" : ":'", file);
    }
    (void)fputs(" && ret=0\n            ;;\n", file);
}

/* The function of a group; of the program for NULL. */
static void put_zsh_function(FILE *file, const struct pawl_cli_group *group)
{
    (void)fprintf(file, "_pawl%s%s()\n{\n%s", group != NULL ? "_" : "",
                  group != NULL ? group->name : "", zsh_state);
    for (const struct pawl_cli_group *at = pawl_cli_groups; group == NULL && at->name != NULL;
         at++) {
        put_zsh_name(file, at->name, at->summary);
    }
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (is_in(at, group)) put_zsh_name(file, at->name, at->summary);
    }
    (void)fputs(zsh_rest, file);
    for (const struct pawl_cli_group *at = pawl_cli_groups; group == NULL && at->name != NULL;
         at++) {
        (void)fprintf(file, "        %s) _pawl_%s && ret=0 ;;\n", at->name, at->name);
    }
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        if (is_in(at, group)) put_zsh_command(file, at);
    }
    (void)fputs(zsh_end, file);
}

static void print_zsh(FILE *file)
{
    (void)fputs("#compdef pawl\n"
                "# Completes command lines of pawl in zsh; made by `pawl completion zsh`.\n"
                "typeset -ga _pawl_common=(",
                file);
    for (const struct pawl_cli_option *at = pawl_cli_options_common; at->name != NULL; at++) {
        put_zsh_option(file, at);
    }
    (void)fputs("\n)\n\n", file);
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        put_zsh_function(file, at);
    }
    put_zsh_function(file, NULL);
    /* In a folder of fpath the file is the body of the function. */
    (void)fputs(
        "if [[ ${funcstack[1]} == _pawl ]]; then _pawl \"$@\"; else compdef _pawl pawl; fi\n",
        file);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static const char fish_walk[] = "                set skips yes\n"
                                "            case '-*'\n"
                                "            case '*'\n"
                                "                set -a command $word\n"
                                "        end\n"
                                "        switch \"$command\"\n"
                                "            case ''";

static const char fish_end[] = "\n"
                               "            case '*'\n"
                               "                break\n"
                               "        end\n"
                               "    end\n"
                               "    test \"$command\" = \"$argv\"\n"
                               "end\n"
                               "complete -c pawl -f\n"
                               "complete -c pawl -n 'contains -- -- (commandline -opc)' -F\n";

static void put_fish_quoted(FILE *file, const char *text)
{
    (void)fputc('\'', file);
    put_quoted(file, text, "\\'", "\\");
    (void)fputc('\'', file);
}

/* Where to complete: at the command, at the group, at the start. */
static void put_fish_line(FILE *file, const struct pawl_cli_command *command, const char *group)
{
    (void)fputs("complete -c pawl -n '__pawl_at", file);
    if (command != NULL || group != NULL) (void)fputc(' ', file);
    if (command != NULL) put_path(file, command);
    if (command == NULL && group != NULL) (void)fputs(group, file);
    (void)fputc('\'', file);
}

static void put_fish_option(FILE *file, const struct pawl_cli_option *option)
{
    if (option->letter != 0) (void)fprintf(file, " -s %c", option->letter);
    (void)fprintf(file, " -l %s", option->name);
    if (option->words != NULL) {
        (void)fprintf(file, " -xa '%s'", option->words);
    } else if (starts(option->value, "FILE")) {
        (void)fputs(" -rF", file);
    } else if (starts(option->value, "FOLDER")) {
        (void)fputs(" -xa '(__fish_complete_directories)'", file);
    } else if (option->value != NULL) {
        (void)fputs(" -x", file);
    }
    (void)fputs(" -d ", file);
    put_fish_quoted(file, option->help);
    (void)fputc('\n', file);
}

static void put_fish_name(FILE *file, const char *name, const char *summary)
{
    (void)fprintf(file, " -a %s -d ", name);
    put_fish_quoted(file, summary);
    (void)fputc('\n', file);
}

static void put_fish_command(FILE *file, const struct pawl_cli_command *command)
{
    put_fish_line(file, NULL, command->group);
    put_fish_name(file, command->name, command->summary);
    const struct pawl_cli_option *sets[PAWL_OPTION_SETS + 1];
    pawl_cli_option_sets(command, sets);
    for (size_t i = 0; sets[i] != pawl_cli_options_common; i++) {
        for (const struct pawl_cli_option *at = sets[i]; at->name != NULL; at++) {
            if (at->is_hidden) continue;
            put_fish_line(file, command, NULL);
            put_fish_option(file, at);
        }
    }
    if (takes_files(command)) {
        put_fish_line(file, command, NULL);
        (void)fputs(" -F\n", file);
    }
    if (!explains_commands(command) && !has_choice(command)) return;
    put_fish_line(file, command, NULL);
    (void)fputs(" -a '", file);
    if (explains_commands(command)) put_names(file, NULL);
    if (has_choice(command)) put_choice(file, command);
    (void)fputs("'\n", file);
}

static void print_fish(FILE *file)
{
    (void)fputs("# Completes command lines of pawl in fish; made by `pawl completion fish`.\n"
                "function __pawl_at --description 'whether this command is the one named so far'\n"
                "    set -l command\n"
                "    set -l skips no\n"
                "    for word in (commandline -opc)[2..]\n"
                "        if test $skips = yes\n"
                "            set skips no\n"
                "            continue\n"
                "        end\n"
                "        switch $word\n"
                "            case",
                file);
    for (const struct pawl_cli_option *at = pawl_cli_options_common; at->name != NULL; at++) {
        if (at->value == NULL) continue;
        (void)fprintf(file, " --%s", at->name);
        if (at->letter != 0) (void)fprintf(file, " -%c", at->letter);
    }
    (void)fputc('\n', file);
    (void)fputs(fish_walk, file);
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        (void)fprintf(file, " %s", at->name);
    }
    (void)fputs(fish_end, file);
    for (const struct pawl_cli_option *at = pawl_cli_options_common; at->name != NULL; at++) {
        (void)fputs("complete -c pawl", file);
        put_fish_option(file, at);
    }
    for (const struct pawl_cli_group *at = pawl_cli_groups; at->name != NULL; at++) {
        put_fish_line(file, NULL, NULL);
        put_fish_name(file, at->name, at->summary);
    }
    for (const struct pawl_cli_command *at = pawl_cli_commands; at->name != NULL; at++) {
        put_fish_command(file, at);
    }
}

int pawl_cli_completion(struct pawl_cli *cli)
{
    static const struct {
        const char *name;
        void (*print)(FILE *file);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

    struct pawl_str wanted = pawl_word(cli, 0);
    for (size_t i = 0; i < PAWL_COUNT_OF(shells); i++) {
        if (!pawl_str_equal(wanted, pawl_str_of(shells[i].name))) continue;
        shells[i].print(cli->out.file);
        return 0;
    }
    (void)pawl_error_set(&cli->err, PAWL_INVALID,
                         "completion: `%.*s` is none of bash, zsh and fish", PAWL_STR_ARG(wanted));
    return pawl_cli_fail(cli);
}
