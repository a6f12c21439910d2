# What is made from the table of commands besides help: manual pages, completion in shells.
. "$(dirname "$0")/lib.sh"

# ---- Manual pages ------------------------------------------------------------------------------------

export SOURCE_DATE_EPOCH=1000000000

groups() { "$PAWL_BIN" help --man | sed -n 's/^\.Xr pawl-\([a-z]*\) 1 .*/\1/p'; }

# The source of a page without its escapes of a minus: words can be looked for.
page() # GROUP...
{
    run help "$@" --man; exits 0
    sed -i 's/\\-/-/g' "$folder/out"
}

# Each command of a help page is in the manual page, and each of its options.
all_commands() # HEADING...: a command each; the page is $folder/out
{
    local command option
    for command in "$@"; do
        shows "^\\.Ss pawl $command\$" "^\\.Nm pawl $command\$"
        # shellcheck disable=SC2086 # words
        "$PAWL_BIN" help $command | sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' >options
        while read -r option; do shows "^\\.It .*Fl -$option( |\$)"; done <options
    done
}

commands_of() # GROUP
{
    "$PAWL_BIN" help "$1" | sed -n "s/^  $1 \([a-z-]*\) .*/$1 \1/p"
}

pages_are_whole()
{
    local group commands count=0
    for group in $(groups); do
        mapfile -t commands < <(commands_of "$group")
        [ ${#commands[@]} -gt 0 ] || complain "group $group has no commands"
        page "$group"
        all_commands "${commands[@]}"
        count=$((count + ${#commands[@]}))
    done
    # What help calls groups and commands is all there is: its page has nothing else in two words.
    equals "$count" "$("$PAWL_BIN" help | grep -cE '^  [a-z]+ [a-z-]+  ')"
    mapfile -t commands < <("$PAWL_BIN" help | sed -n '/^Besides/,/^$/s/^  \([a-z]*\) .*/\1/p')
    [ ${#commands[@]} -ge 4 ] || complain "commands of one word: ${commands[*]}"
    page
    all_commands "${commands[@]}"
    shows '^\.It Fl o , Fl -output Ar FORM$' '^\.It 130$'
}
test_that "every command and option of the table is in the manual pages" pages_are_whole

pages_are_clean()
{
    command -v mandoc >/dev/null || skips "there is no mandoc"
    local group
    for group in '' $(groups); do
        # shellcheck disable=SC2086 # nothing, or a word
        run help $group --man; exits 0
        ! grep -qP '[^\x00-\x7F]' "$folder/out" || complain "not plain ASCII"
        # Pages that are not installed yet cannot be found.
        ! mandoc -T lint -W style <"$folder/out" | grep -v 'referenced manual not found' || complain "mandoc complains"
    done
}
test_that "mandoc finds nothing to complain of in the manual pages" pages_are_clean

pages_have_dates()
{
    run help --man; exits 0; shows '^\.Dd September 9, 2001$' '^\.Dt PAWL 1$' '^\.Os Pawl [0-9.]+$'
    run help task add --man; exits 0; shows '^\.Dt PAWL-TASK 1$'; cp "$folder/out" page
    run help task --man; exits 0; cmp page "$folder/out"
    run help events --man; exits 0; shows '^\.Dt PAWL 1$'
    SOURCE_DATE_EPOCH=soon run help --man; exits 0; hides '2001$'
}
test_that "the page of a command is its group's, and its date that of SOURCE_DATE_EPOCH" pages_have_dates

# ---- Words -------------------------------------------------------------------------------------------

# Lines of the script for bash: COMMAND|OPTION|WORDS
enumerated() { "$PAWL_BIN" completion bash | sed -n "s/^    '*\([a-z *]*\)'*:--\([a-z-]*\)[^)]*) offers='\(.*\)' ;;/\1|\2|\3/p"; }

words_are_told()
{
    local command option words word
    enumerated >offers
    equals 9 "$(wc -l <offers)"
    while IFS='|' read -r command option words; do
        [ "$command" != '*' ] || command=
        # shellcheck disable=SC2086 # words
        "$PAWL_BIN" help $command | tr '\n' ' ' | tr -s ' ' >"$folder/out"
        for word in $words; do shows "\\b$word\\b"; done
    done <offers
}
test_that "help tells each word that completion offers as a value" words_are_told

takes() # COMMAND... --OPTION: each word offered for it is taken, and another one is not
{
    local option=${*: -1} word
    for word in $(enumerated | sed -n "s/.*|${option#--}|//p" | head -n 1); do
        run "$@" "$word"; exits 0
    done
    run "$@" wobble; exits 2
}

words_are_taken()
{
    takes task add --priority
    takes task add --backoff
    takes task add --dependency-policy
    takes queue set q --backoff
    takes task list --status
    takes task list --output
    takes task list --color
    local word
    for word in $(enumerated | sed -n "s/^task resolve|outcome|//p"); do
        run task resolve nobody --outcome "$word"; refuses 3 NOT_FOUND nobody
    done
    run task resolve nobody --outcome wobble; refuses 2 INVALID wobble
    for word in bash zsh fish; do run completion "$word"; exits 0; done
    for word in $(enumerated | sed -n "s/^token create|role|//p"); do
        run token create "$word" --role "$word"; exits 0
    done
    run token create wobble --role wobble; refuses 2 INVALID role
    run completion csh; refuses 2 INVALID 'none of bash, zsh and fish'
}
test_that "each word that completion offers as a value is taken, and another one refused" words_are_taken

# ---- Shells ------------------------------------------------------------------------------------------

scripts_parse()
{
    local shell missing=
    for shell in bash zsh fish; do
        run completion "$shell"; exits 0
        if command -v "$shell" >/dev/null; then "$shell" -n "$folder/out" || complain "$shell cannot read it"
        else missing="$missing $shell"
        fi
    done
    [ -z "$missing" ] || skips "there is no$missing"
}
test_that "bash, zsh and fish can read their scripts" scripts_parse

# Types at the prompt of a shell, tabs and all; pawl then shows what it was called with. A value may
# come behind a space or a `=`, as the shell likes.
types() # TEXT WANTED
{
    local got
    printf '%s\n' "pawl() { echo \"<\$*>\"; }" "$start" >typed
    printf "$1\nexit\n" >>typed
    # The shell is asked by a terminal, and ends by itself.
    got=$(timeout 30 script -qec "$shell" /dev/null <typed | tr '\r' '\n' | sed -n 's/^<\(.*\)>$/\1/p' | tail -n 1)
    equals "$2" "${got//=/ }"
}

completes()
{
    command -v script >/dev/null || skips "there is no script, which makes a terminal"
    types 'pawl ta\tad\t--prio\tCRI\t' 'task add --priority CRITICAL'
    types 'pawl --db x que\tli\t-o jsonl\t' '--db x queue list -o jsonl'
    types 'pawl task list --status=DEAD\t' 'task list --status DEAD_LETTER'
    types 'pawl comp\tfis\t' 'completion fish'
    types 'pawl ev\t--cons\tname' 'events --consumer name'
    touch only_file
    types 'pawl worker run --unt\t-- cat only_\t' 'worker run --until-empty -- cat only_file'
    types 'pawl --db only_\ttask li\t' '--db only_file task list'
    types 'pawl task add --queue LO\t' 'task add --queue LO'
    local command
    for command in restore import backup 'restore --yes' 'worker run --queues-from' 'task list --db' 'import --dry-run'; do
        types "pawl $command only_\t" "$command only_file"
    done
    types 'pawl restore --y\tonly_\t' 'restore --yes only_file'
    for command in 'task add --input' 'task add --goal' 'task fail t --error' 'task complete t --result' 'dead redrive --input'; do
        types "pawl $command @only_\t" "$command @only_file"
    done
    types 'pawl task add --input=@only_\t' 'task add --input @only_file'
    types 'pawl task add --input only_\t' 'task add --input only_'
}

bash_completes()
{
    shell='bash --norc --noprofile -i' start='source <("$PAWL_BIN" completion bash); PS1='
    completes
    types 'pawl help wor\tru\t' 'help worker run'
}
test_that "bash completes commands, options, values and files" bash_completes

zsh_completes()
{
    command -v zsh >/dev/null || skips "there is no zsh"
    # Tabs must come after the start is done, so the file of functions does it.
    export ZDOTDIR=$folder
    printf '%s\n' 'autoload -Uz compinit; compinit -D -u; PS1=; PROMPT_SP=' \
        "source <(\"$PAWL_BIN\" completion zsh)" >.zshrc
    shell='zsh -i' start=
    completes
}
test_that "zsh completes commands, options, values and files" zsh_completes

offered() # LINE WANTED: fish, which tells it without a terminal
{
    fish -N -c "source pawl.fish; complete -C '$1'" | sed 's/\t.*//' | sort | tr '\n' ' ' >got
    equals "$2" "$(sed 's/ $//' got)"
}

fish_completes()
{
    command -v fish >/dev/null || skips "there is no fish"
    "$PAWL_BIN" completion fish >pawl.fish
    offered 'pawl ta' 'task'
    offered 'pawl task add --prio' '--priority'
    offered 'pawl task add --priority ' 'CRITICAL HIGH LOW MEDIUM'
    offered 'pawl --db x queue p' 'pause'
    offered 'pawl task list --output=js' '--output=json --output=jsonl'
    offered 'pawl completion ' 'bash fish zsh'
    offered 'pawl queue list --prio' ''
    touch only_file
    offered 'pawl restore only_' only_file
    offered 'pawl import --dry-run only_' only_file
    offered 'pawl --db only_' only_file
}
test_that "fish completes commands, options, values" fish_completes

finish
