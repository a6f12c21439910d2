/* A fuzzer's target as a plain test: the texts of PAWL_FUZZ_FOLDERS (with a blank between), each as
 * it is, cut off, and with bytes changed by a generator that begins with the same seed every time.
 */
#include "fuzz/fuzz.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 64 * 1024, CUTS = 300, CHANGES = 1000 };

static uint64_t next_random(uint64_t *state) /* xorshift */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* In memory of exactly its size, so that a sanitizer sees a step beyond it. */
static void give(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    CHECK_EQ(0, LLVMFuzzerTestOneInput(copy, size));
    free(copy);
}

static void run_text(uint8_t *bytes, size_t size)
{
    static const char marks[] = "{}[]\",:\\0-1eE.tfn $_u";
    uint64_t random = 7;
    give(bytes, size);
    for (size_t i = 0; i < CUTS; i++) give(bytes, size * i / CUTS);
    for (size_t i = 0; i < CHANGES; i++) {
        size_t at = next_random(&random) % size;
        uint8_t old = bytes[at];
        uint64_t chosen = next_random(&random);
        bytes[at] = chosen % 4 == 0 ? (uint8_t)(chosen >> 8)
                                    : (uint8_t)marks[(chosen >> 8) % (sizeof marks - 1)];
        give(bytes, size);
        bytes[at] = old;
    }
}

static int run_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) FAIL("%s cannot be opened", path);
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.') continue;
        char name[512];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        FILE *file = fopen(name, "rb");
        if (file == NULL) FAIL("%s cannot be opened", name);
        static uint8_t bytes[TEXT_BYTES_MAX];
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        CHECK(size > 0 && size < TEXT_BYTES_MAX);
        run_text(bytes, size);
        count++;
    }
    closedir(folder);
    return count;
}

TEST("the texts of the corpus, whole, cut off and changed, are taken or refused")
{
    char folders[] = PAWL_FUZZ_FOLDERS;
    for (char *path = folders; *path != '\0';) {
        size_t len = strcspn(path, " ");
        bool is_last = path[len] == '\0';
        path[len] = '\0';
        CHECK(run_folder(path) > 0);
        path += is_last ? len : len + 1;
    }
}

TEST_MAIN()
