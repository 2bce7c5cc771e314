// startup.c - repairs the environment of the program: standard streams and umask.
#include "cli/cli.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void startup_prepare(void)
{
    int file;
    while ((file = open("/dev/null", O_RDWR)) >= 0 && file <= STDERR_FILENO) continue;
    if (file >= 0) close(file);
    umask(umask(0777) & ~0700u);
}
