/* Upgrades the SQLite store of its argument to one more version, that only tests know, and exits
 * with the code. */
#include "engine/env.h"
#include "store/handle.h"
#include "store/schema_text.h"

#include "base/str.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    static const char more[] = "ALTER TABLE task ADD COLUMN colour TEXT;"
                               "CREATE TABLE shade (key INTEGER PRIMARY KEY, of TEXT) STRICT;"
                               "INSERT INTO shade (key, of) SELECT key, id FROM task;";
    const char *files[PAWL_SCHEMA_COUNT + 1];
    for (int i = 0; i < PAWL_SCHEMA_COUNT; i++) files[i] = pawl_schema_sqlite[i];
    files[PAWL_SCHEMA_COUNT] = more;
    const struct pawl_schema schema = {files, files, PAWL_SCHEMA_COUNT + 1};
    struct pawl_env_real real;
    struct pawl_store *store = NULL;
    struct pawl_error err;
    if (argc != 2) return PAWL_MISUSE;
    pawl_env_real_init(&real);
    struct pawl_store_options options = {
        .target = pawl_str_of(argv[1]), .must_exist = true, .env = &real.env, .schema = &schema};
    enum pawl_code code = pawl_store_open(&store, &options, &err);
    if (code != PAWL_OK) (void)fprintf(stderr, "%s\n", err.text);
    pawl_store_close(store);
    return (int)code;
}
