# What the text of the tree keeps to: layers, banned functions, words.
. tests/checks/lib.sh

example() # FILE TEXT...: an example tree in $tmp/tree
{
    mkdir -p "$tmp/tree/$(dirname "$1")"
    file=$tmp/tree/$1
    shift
    printf '%s\n' "$@" >"$file"
}

layers_of_example() { tools/check_layers src/layers.txt "$tmp/tree/src"; }

holds "the arrows of src point down" tools/check_layers src/layers.txt src

example src/core/rule.h '#include "base/str.h"' '#include "pawl.h"' '#include <stdint.h>'
example src/store/store.c '#include "store/store.h"' '#include "core/rule.h"'
holds "an include of the own layer or of a lower one is allowed" layers_of_example
example src/core/rule.h '#include "store/store.h"'
bites "an include that points up is found" layers_of_example
example src/core/rule.h '#include "rule.h"'
bites "an include that names no layer is found" layers_of_example
example src/core/rule.h ''
example src/util/x.c ''
bites "a folder that is no layer is found" layers_of_example
rm -rf "$tmp/tree"

holds "no banned function is called in src" tools/check_banned src include

example x.c '/* strcpy(a, b) */ const char *s = "strcpy("; char c = '"'\"'"'; // gets(x)' \
    'int my_strcpy(int); /* two' 'lines: atoi(x) */'
holds "a banned name in a comment, a string or a longer name is no call" tools/check_banned "$tmp/tree"
for name in strcpy strcat strncpy sprintf strtok atoi strtol gets alloca; do
    example x.c "/* a call */ x = $name (a);"
    bites "a call of $name is found" tools/check_banned "$tmp/tree"
done
rm -rf "$tmp/tree"

holds "the tree names no folder of a machine and no unlisted host" tools/check_words .

example tools/hosts.txt 'example.com'
example x.md 'See https://example.com/x and <http://example.com>.'
holds "a listed host may be named" tools/check_words "$tmp/tree"
example x.md 'See http''s://other.example.com/x.'
bites "a host that is not listed is found" tools/check_words "$tmp/tree"
example x.md "The file is in $tmp/tree/x."
bites "the path of the folder the tree lies in is found" tools/check_words "$tmp/tree"
example x.md 'cd /ho''me/somebody'
bites "the path of a home is found" tools/check_words "$tmp/tree"

finish
