/* The folder of a worker's inputs, where it cannot be made. */
#include "worker/folder.h"

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

TEST("without a descriptor left it is not made, says why, and leaves nothing behind")
{
    char parent[256];
    struct rlimit files;
    struct rlimit none;
    struct pawl_error err = {0};
    struct pawl_folder folder = PAWL_FOLDER_NONE;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(parent, sizeof parent, "%.200s/pawl-test-folder-XXXXXX",
                   tmp != NULL ? tmp : "/tmp");
    CHECK(mkdtemp(parent) != NULL);
    CHECK_EQ(0, setenv("TMPDIR", parent, 1));
    CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &files));
    none = files;
    none.rlim_cur = 3;
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    enum pawl_code code = pawl_folder_open(&folder, &err);
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
    CHECK_CODE(PAWL_IO, code);
    CHECK(strstr(err.text, strerror(EMFILE)) != NULL);
    CHECK_EQ(0, rmdir(parent)); /* it is empty */
}

TEST_MAIN()
