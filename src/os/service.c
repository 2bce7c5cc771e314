// service.c - the protocol of supervisors such as systemd: sockets, readiness, watchdog.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FILE = 3 };

// The number in a variable; 0: the variable is missing or not a number.
static int64_t number_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || *text < '0' || *text > '9') return 0;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return errno || *end ? 0 : number;
}

static bool is_for_us(const char *variable)
{
    return number_of(variable) == getpid();
}

static void files_read(struct os_service *service)
{
    int64_t count = is_for_us("LISTEN_PID") ? number_of("LISTEN_FDS") : 0;
    if (count > OS_SERVICE_FILES) count = OS_SERVICE_FILES;
    for (int i = 0; i < (int)count; i++) {
        if (fcntl(FIRST_FILE + i, F_SETFD, FD_CLOEXEC)) continue;  // not open
        service->files[service->file_count++] = FIRST_FILE + i;
    }
}

void os_service_read(struct os_service *service)
{
    static const char *const variables[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                                            "LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES"};
    const char *notify = getenv("NOTIFY_SOCKET");
    *service = (struct os_service){0};
    if (notify && strlen(notify) < sizeof service->notify && (*notify == '/' || *notify == '@'))
        memcpy(service->notify, notify, strlen(notify) + 1);
    if (!getenv("WATCHDOG_PID") || is_for_us("WATCHDOG_PID"))
        service->watchdog = number_of("WATCHDOG_USEC");
    files_read(service);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
}

void os_service_tell(const struct os_service *service, const char *format, ...)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char text[1000];
    if (!*service->notify) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t length = strlen(service->notify);
    memcpy(to.sun_path, service->notify, length);
    if (*to.sun_path == '@') *to.sun_path = 0;
    int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return;
    // Errors are ignored: the supervisor may be gone or slow, and rota does not depend on it.
    sendto(file, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(file);
}
