/* pawl_sim: runs seeds.
 *
 *   pawl_sim --seeds N [--from S]   N seeds from S on (default 1), on two processes
 *   pawl_sim --seed N               one, with its timeline
 *   --hash                          prints the hash of each run
 *
 * A failure prints the seed, the rule that was broken, and the last part of the timeline. Exit
 * status: 0 all hold, 1 a rule was broken, 2 wrong arguments. */
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, TAIL_LINES = 60, SEED_SECONDS_MAX = 60 };

struct asked {
    uint64_t first;
    uint64_t count;
    bool is_one;
    bool prints_hash;
};

/* What the processes share: where each of them is. */
struct board {
    _Atomic uint64_t running[WORKERS];
    _Atomic uint64_t done[WORKERS];
    _Atomic uint64_t calls[WORKERS];
    _Atomic uint64_t kills[WORKERS];
    _Atomic uint64_t executions[WORKERS];
    _Atomic uint64_t looks[WORKERS];
    _Atomic bool is_over;
};

static char folder[64];

static void make_folder(void)
{
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (sim_folder_make(where, folder, sizeof folder)) return;
    perror(where);
    exit(2);
}

static void remove_folder(void)
{
    (void)rmdir(folder); /* with what a run that died has left in it the next one sweeps it */
}

static struct ground ground;

/* What an aborted or endless run was doing; nothing is lost any more if this goes wrong. */
static void on_death(int number)
{
    signal(number, SIG_DFL);
    sim_tell_under_way(&ground);
    raise(number);
}

/* ---- One seed ------------------------------------------------------------------------------ */

static int run_alone(const struct asked *asked, FILE *story)
{
    struct sim_result result;
    struct sim_options options = {.seed = asked->first, .story = story};
    (void)setvbuf(story, NULL, _IOLBF, 0);
    signal(SIGABRT, on_death);
    signal(SIGALRM, on_death);
    alarm(SEED_SECONDS_MAX);
    ground_open(&ground, folder);
    sim_run(&ground, &options, &result);
    ground_close(&ground);
    if (asked->prints_hash) printf("%" PRIu64 " %016" PRIx64 "\n", options.seed, result.hash);
    if (result.holds) return 0;
    fprintf(story, "seed %" PRIu64 ": %s\n", options.seed, result.fault);
    return 1;
}

/* In a process of its own, since it may die; its timeline is a file of which the end is shown. */
static void show_failure(uint64_t seed)
{
    FILE *story = tmpfile();
    if (story == NULL) return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct asked asked = {.first = seed, .count = 1};
        (void)dup2(fileno(story), STDERR_FILENO); /* what a failed assertion says */
        _exit(run_alone(&asked, story));
    }
    int status = 0;
    (void)waitpid(pid, &status, 0);
    static char lines[TAIL_LINES][1024];
    int count = 0;
    rewind(story);
    while (fgets(lines[count % TAIL_LINES], sizeof lines[0], story) != NULL) count++;
    (void)fclose(story);
    printf("\nseed %" PRIu64 " fails; the end of its timeline (all of it: pawl_sim --seed %" PRIu64
           "):\n",
           seed, seed);
    for (int i = count > TAIL_LINES ? count - TAIL_LINES : 0; i < count; i++) {
        printf("%s", lines[i % TAIL_LINES]);
    }
    if (WIFSIGNALED(status)) {
        printf("seed %" PRIu64 ": the process was ended by signal %d (%s)\n", seed,
               WTERMSIG(status),
               WTERMSIG(status) == SIGALRM ? "it runs for ever" : strsignal(WTERMSIG(status)));
    }
}

/* ---- Many seeds ---------------------------------------------------------------------------- */

static int run_share(const struct asked *asked, int number, struct board *board)
{
    struct sim_result result;
    ground_open(&ground, folder);
    for (uint64_t i = (uint64_t)number; i < asked->count && !board->is_over; i += WORKERS) {
        struct sim_options options = {.seed = asked->first + i};
        board->running[number] = options.seed;
        alarm(SEED_SECONDS_MAX);
        sim_run(&ground, &options, &result);
        alarm(0);
        if (asked->prints_hash) printf("%" PRIu64 " %016" PRIx64 "\n", options.seed, result.hash);
        if (!result.holds) break;
        board->running[number] = 0;
        board->done[number]++;
        board->calls[number] += (uint64_t)result.calls;
        board->kills[number] += (uint64_t)result.kills;
        board->executions[number] += (uint64_t)result.executions;
        board->looks[number] += (uint64_t)result.looks;
    }
    ground_close(&ground);
    fflush(stdout);
    return board->running[number] == 0 ? 0 : 1;
}

static double seconds_now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static int run_many(const struct asked *asked)
{
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[WORKERS];
    double began = seconds_now();
    if (board == MAP_FAILED) return 2;
    for (int i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        if (pids[i] != 0) continue;
        /* a folder of its own: the file of the turn is real */
        make_folder();
        int status = run_share(asked, i, board);
        remove_folder();
        _exit(status);
    }
    bool has_failed = false;
    for (int left = WORKERS; left > 0; left--) {
        int status = 0;
        pid_t pid = wait(&status);
        int number = 0;
        while (number < WORKERS - 1 && pids[number] != pid) number++;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        board->is_over = true;
        if (board->running[number] != 0) show_failure(board->running[number]);
        has_failed = true;
    }
    uint64_t done = 0;
    uint64_t calls = 0;
    uint64_t kills = 0;
    uint64_t executions = 0;
    uint64_t looks = 0;
    for (int i = 0; i < WORKERS; i++) {
        done += board->done[i];
        calls += board->calls[i];
        kills += board->kills[i];
        executions += board->executions[i];
        looks += board->looks[i];
    }
    double took = seconds_now() - began;
    printf("%" PRIu64 " of %" PRIu64 " seeds hold: %" PRIu64 " calls, %" PRIu64 " kills, %" PRIu64
           " executions, %" PRIu64 " looks for a lock, %.1f s\n",
           done, asked->count, calls, kills, executions, looks, took);
    return has_failed ? 1 : 0;
}

/* ---- Arguments ----------------------------------------------------------------------------- */

static bool parse(int argc, char **argv, struct asked *asked)
{
    *asked = (struct asked){.first = 1, .count = 0};
    for (int i = 1; i < argc; i++) {
        uint64_t number = 0;
        bool has_number = i + 1 < argc && sscanf(argv[i + 1], "%" SCNu64, &number) == 1;
        if (strcmp(argv[i], "--hash") == 0) {
            asked->prints_hash = true;
            continue;
        }
        if (!has_number) return false;
        if (strcmp(argv[i], "--seeds") == 0) {
            asked->count = number;
        } else if (strcmp(argv[i], "--from") == 0) {
            asked->first = number;
        } else if (strcmp(argv[i], "--seed") == 0) {
            asked->first = number;
            asked->count = 1;
            asked->is_one = true;
        } else {
            return false;
        }
        i++;
    }
    return asked->count > 0;
}

int main(int argc, char **argv)
{
    struct asked asked;
    if (!parse(argc, argv, &asked)) {
        fprintf(stderr, "usage: %s --seeds N [--from S] [--hash] | --seed N [--hash]\n", argv[0]);
        return 2;
    }
    make_folder();
    int status;
    if (asked.is_one) {
        FILE *nowhere = asked.prints_hash ? fopen("/dev/null", "w") : NULL;
        status = run_alone(&asked, nowhere != NULL ? nowhere : stdout);
        if (status == 0 && !asked.prints_hash) printf("seed %" PRIu64 " holds\n", asked.first);
        if (nowhere != NULL) (void)fclose(nowhere);
    } else {
        status = run_many(&asked);
    }
    remove_folder();
    return status;
}
