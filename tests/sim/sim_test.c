/* The simulator as tests: a fixed number of seeds, seeds that once failed, and two kinds of faults
 * in force. */
#include "sim.h"
#include "test.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_MAIN()

struct lab {
    struct ground ground;
    char folder[SIM_PATH_BYTES_MAX / 2];
};

static void lab_open(struct lab *lab)
{
    const char *where = getenv("TMPDIR");
    if (where == NULL || strlen(where) > sizeof lab->folder / 2) where = "/tmp";
    CHECK(sim_folder_make(where, lab->folder, sizeof lab->folder));
    ground_open(&lab->ground, lab->folder);
}

static void lab_close(struct lab *lab)
{
    ground_close(&lab->ground);
    (void)rmdir(lab->folder);
}

static struct sim_result run(struct lab *lab, const struct sim_options *options)
{
    struct sim_result result;
    sim_run(&lab->ground, options, &result);
    if (!result.holds) {
        FAIL("seed %" PRIu64 ": %s (its timeline: pawl_sim --seed %" PRIu64 ")", options->seed,
             result.fault, options->seed);
    }
    return result;
}

static int left_in(const char *where)
{
    int count = 0;
    DIR *folder = opendir(where);
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] == '.' ? 0 : 1;
    }
    (void)closedir(folder);
    return count;
}

TEST("what a killed run has left is swept by the next one, and what one that lives has is not")
{
    enum { MADE_BYTES_MAX = 128 };
    char where[] = "/tmp/sim-sweep-XXXXXX";
    char made[MADE_BYTES_MAX];
    int pipes[2];
    char byte;
    CHECK(mkdtemp(where) != NULL);
    CHECK_EQ(0, pipe(pipes));
    pid_t child = fork();
    if (child == 0) {
        static struct ground ground;
        if (!sim_folder_make(where, made, sizeof made)) _exit(1);
        ground_open(&ground, made);
        if (write(pipes[1], "x", 1) != 1) _exit(1);
        for (;;) (void)pause();
    }
    CHECK_EQ(1, read(pipes[0], &byte, 1));
    CHECK(sim_folder_make(where, made, sizeof made));
    CHECK_EQ(2, left_in(where));
    CHECK_EQ(0, kill(child, SIGKILL));
    CHECK_EQ(child, waitpid(child, NULL, 0));
    CHECK(sim_folder_make(where, made, sizeof made));
    CHECK_EQ(2, left_in(where)); /* both are ours */
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    pid_t cleaner = fork();
    if (cleaner == 0) _exit(execlp("rm", "rm", "-rf", where, (char *)NULL));
    CHECK_EQ(cleaner, waitpid(cleaner, NULL, 0));
}

TEST("the simulation holds for 300 seeds")
{
    enum { SEEDS = 300 };
    static struct lab lab;
    lab_open(&lab);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        (void)run(&lab, &(struct sim_options){.seed = seed});
    }
    lab_close(&lab);
}

TEST("the simulation holds for every seed that ever failed")
{
    static struct lab lab;
    char line[256];
    int count = 0;
    FILE *seeds = fopen("tests/sim/seeds.txt", "re");
    CHECK(seeds != NULL);
    lab_open(&lab);
    while (fgets(line, sizeof line, seeds) != NULL) {
        uint64_t seed;
        if (sscanf(line, "%" SCNu64, &seed) != 1) continue; /* a remark */
        (void)run(&lab, &(struct sim_options){.seed = seed});
        count++;
    }
    (void)fclose(seeds); /* was only read */
    CHECK(count > 0);
    lab_close(&lab);
}

TEST("a seed names a run: played again it gives the same answers and the same rows")
{
    enum { FIRST = 1000, SEEDS = 20 };
    static struct lab lab;
    uint64_t hashes[SEEDS];
    lab_open(&lab);
    for (uint64_t i = 0; i < SEEDS; i++) {
        hashes[i] = run(&lab, &(struct sim_options){.seed = FIRST + i}).hash;
    }
    /* in another order, and beside a timeline: neither may matter */
    FILE *story = fopen("/dev/null", "we");
    CHECK(story != NULL);
    for (uint64_t i = SEEDS; i-- > 0;) {
        struct sim_options options = {.seed = FIRST + i, .story = story};
        CHECK_EQ(hashes[i], run(&lab, &options).hash);
    }
    (void)fclose(story); /* nobody reads it */
    CHECK(hashes[0] != hashes[1]);
    lab_close(&lab);
}

TEST("T-116 random kills during a mixed load, 1 000 rounds: all invariants hold after each "
     "reopening")
{
    enum { ROUNDS = 1000, FIRST = 50000 };
    static struct lab lab;
    int kills = 0;
    lab_open(&lab);
    for (uint64_t i = 0; kills < ROUNDS; i++) {
        kills += run(&lab, &(struct sim_options){.seed = FIRST + i, .kills_more = 100}).kills;
    }
    lab_close(&lab);
}

TEST("T-117 the power is cut 100 times, with tasks held by client-held and by supervised leases: no epoch that was "
     "answered is issued again, nothing acknowledged is lost")
{
    enum { CUTS = 100, FIRST = 60000 };
    static struct lab lab;
    int cuts = 0;
    int held[2] = {0};
    lab_open(&lab);
    for (uint64_t i = 0; cuts < CUTS; i++) {
        struct sim_result result = run(&lab, &(struct sim_options){.seed = FIRST + i, .cuts_power = true});
        cuts += result.power_cuts;
        for (int k = 0; k < 2; k++) held[k] += result.held_at_cuts[k];
    }
    printf("    held at the cuts: %d tasks by client-held leases, %d by supervised ones\n", held[0], held[1]);
    CHECK(held[0] >= CUTS / 2 && held[1] >= CUTS / 2);
    lab_close(&lab);
}
