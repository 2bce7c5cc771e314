// address.c - parses addresses: /PATH, HOST:PORT or [IPV6]:PORT.
#include "net/link/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool link_fail(struct link_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool link_address_is_local(const char *address)
{
    return address[0] == '/';
}

bool address_of_path(const char *path, struct sockaddr_un *address)
{
    size_t length = strlen(path);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (length >= sizeof address->sun_path) return false;
    memcpy(address->sun_path, path, length);
    return true;
}

static bool port_read(const char *text, char port[6])
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 5 || text[length] || strtol(text, NULL, 10) > 65535) return false;
    memcpy(port, text, length + 1);
    return true;
}

// An IPv6 address is in brackets, because its colons would hide where the port begins.
static bool host_read(const char *text, size_t length, struct address *address)
{
    bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (brackets) text++, length -= 2;
    if (length == 0 || length >= sizeof address->host) return false;
    for (size_t i = 0; i < length; i++) {
        bool is_plain = text[i] > ' ' && text[i] < 127 && !strchr("[]/", text[i]);
        if (!is_plain || (text[i] == ':' && !brackets)) return false;
    }
    memcpy(address->host, text, length);
    address->host[length] = 0;
    return true;
}

bool address_read(struct address *address, const char *text, struct link_error *error)
{
    *address = (struct address){.local = link_address_is_local(text)};
    struct sockaddr_un socket;
    if (address->local) {
        if (!address_of_path(text, &socket))
            return link_fail(error, "%.200s: the path of a Unix socket has at most %zu bytes", text,
                             sizeof socket.sun_path - 1);
        memcpy(address->host, text, strlen(text) + 1);
        return true;
    }
    const char *colon = strrchr(text, ':');
    if (colon && host_read(text, (size_t)(colon - text), address)
        && port_read(colon + 1, address->port))
        return true;
    return link_fail(error, "%.200s: invalid address: use /PATH, HOST:PORT or [IPV6]:PORT", text);
}

bool link_address_check(const char *address, struct link_error *error)
{
    struct address parsed;
    return address_read(&parsed, address, error);
}
