// terminal.c - what a terminal can do, and unbuffered input from one.
#define _GNU_SOURCE
#include "os/os.h"
#include "os/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct os_terminal {
    int file;
    struct termios found;
};

// Ctrl-C stays a signal. Ctrl-Z and Ctrl-\ are off, because they would leave the terminal in this
// mode.
struct os_terminal *os_terminal_open(int file)
{
    struct os_terminal *terminal = calloc(1, sizeof *terminal);
    if (!terminal || tcgetattr(file, &terminal->found)) {
        free(terminal);
        return NULL;
    }
    struct termios keys = terminal->found;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = keys.c_cc[VQUIT] = _POSIX_VDISABLE;
    terminal->file = file;
    if (tcsetattr(file, TCSAFLUSH, &keys) == 0) return terminal;
    free(terminal);
    return NULL;
}

void os_terminal_close(struct os_terminal *terminal)
{
    if (!terminal) return;
    tcsetattr(terminal->file, TCSAFLUSH, &terminal->found);
    free(terminal);
}

void os_terminal_size(int file, uint32_t *columns, uint32_t *rows)
{
    struct winsize size;
    bool known = ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    *columns = known ? size.ws_col : 80;
    *rows = known ? size.ws_row : 24;
}

int os_terminal_key(int file)
{
    unsigned char byte;
    return read(file, &byte, 1) == 1 ? byte : 0;
}

bool terminal_is_able(FILE *out)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(out)) && !(kind && strcmp(kind, "dumb") == 0);
}

bool colour_is_wanted(FILE *out)
{
    const char *wish = getenv("NO_COLOR");
    return terminal_is_able(out) && !(wish && *wish);
}
