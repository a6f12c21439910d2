#include "app/screen.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define SCREEN_ON  "\033[?1049h\033[?25l\033[H\033[2J"
#define SCREEN_OFF "\033[?25h\033[?1049l"

/* What a crash needs to put the terminal back, and nothing else: a handler of a signal gets no
 * argument. It is written once, before the handlers are set. The library has no such thing; this is
 * the program. */
static struct termios terminal_before;

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void put_back(void)
{
    (void)!write(STDOUT_FILENO, SCREEN_OFF, sizeof SCREEN_OFF - 1);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

/* The handler is gone by then (SA_RESETHAND): the signal, sent again, ends the program as it would
 * have. */
static void on_crash(int number)
{
    put_back();
    (void)raise(number);
}

static void measure(struct pawl_screen *screen)
{
    struct winsize size;
    screen->columns = 80;
    screen->rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return;
    if (size.ws_col > 0) screen->columns = size.ws_col;
    if (size.ws_row > 0) screen->rows = size.ws_row;
}

enum pawl_code pawl_screen_prepare(struct pawl_screen *screen, struct pawl_error *err)
{
    static const int heard[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    sigset_t signals;
    *screen = (struct pawl_screen){.signal_fd = -1};
    (void)sigemptyset(&signals); /* these fail only for bad numbers */
    for (size_t i = 0; i < PAWL_COUNT_OF(heard); i++) (void)sigaddset(&signals, heard[i]);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    screen->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen->signal_fd >= 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "cannot listen to signals: %s", strerror(errno));
}

static bool switch_on(struct pawl_screen *screen)
{
    struct termios keys = terminal_before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &keys) != 0) return false;
    (void)!write(STDOUT_FILENO, SCREEN_ON, sizeof SCREEN_ON - 1);
    screen->is_on = true;
    measure(screen);
    return true;
}

enum pawl_code pawl_screen_open(struct pawl_screen *screen, struct pawl_error *err)
{
    if (tcgetattr(STDIN_FILENO, &terminal_before) != 0) {
        return pawl_error_set(err, PAWL_INVALID, "standard input is no terminal: %s",
                              strerror(errno));
    }
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < PAWL_COUNT_OF(crashes); i++) (void)sigaction(crashes[i], &action, NULL);
    if (switch_on(screen)) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "the terminal cannot be set: %s", strerror(errno));
}

void pawl_screen_close(struct pawl_screen *screen)
{
    if (screen->is_on) put_back();
    screen->is_on = false;
    if (screen->signal_fd >= 0) (void)close(screen->signal_fd);
    screen->signal_fd = -1;
}

static void write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(STDOUT_FILENO, bytes, len);
        if (done <= 0) return; /* the next look draws all of it again */
        bytes += done;
        len -= (size_t)done;
    }
}

void pawl_screen_show(const struct pawl_screen *screen, struct pawl_str text)
{
    write_all("\033[H", 3);
    for (int32_t row = 0; row < screen->rows && text.len > 0; row++) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.ptr);
        if (row > 0) write_all("\r\n", 2);
        write_all(text.ptr, len);
        write_all("\033[K", 3);
        if (end == NULL) break;
        text = (struct pawl_str){end + 1, text.len - len - 1};
    }
    write_all("\033[J", 3);
}

/* Ctrl-Z: the shell gets its terminal back, and we the screen when we go on. */
static enum pawl_screen_said stop(struct pawl_screen *screen)
{
    put_back();
    (void)raise(SIGSTOP);
    (void)switch_on(screen);
    return PAWL_SCREEN_RESIZED;
}

static enum pawl_screen_said take_signal(struct pawl_screen *screen)
{
    struct signalfd_siginfo signal;
    if (read(screen->signal_fd, &signal, sizeof signal) != (ssize_t)sizeof signal)
        return PAWL_SCREEN_NOTHING;
    if (signal.ssi_signo == SIGTSTP) return stop(screen);
    if (signal.ssi_signo != SIGWINCH) return PAWL_SCREEN_ENDED;
    measure(screen);
    return PAWL_SCREEN_RESIZED;
}

static enum pawl_screen_said take_key(void)
{
    char key = 0;
    ssize_t got = read(STDIN_FILENO, &key, 1);
    if (got == 0) return PAWL_SCREEN_QUIT;
    return got == 1 && (key == 'q' || key == 'Q') ? PAWL_SCREEN_QUIT : PAWL_SCREEN_NOTHING;
}

enum pawl_screen_said pawl_screen_wait(struct pawl_screen *screen, int other_fd, int64_t wait_ms)
{
    struct pollfd waits[] = {
        {.fd = screen->signal_fd, .events = POLLIN},
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = other_fd, .events = POLLIN},
    };
    if (poll(waits, PAWL_COUNT_OF(waits), (int)wait_ms) <= 0) return PAWL_SCREEN_NOTHING;
    if (waits[0].revents != 0) return take_signal(screen);
    if ((waits[1].revents & POLLIN) != 0) return take_key();
    return waits[1].revents != 0 ? PAWL_SCREEN_QUIT
                                 : PAWL_SCREEN_NOTHING; /* the terminal is gone */
}
