// limit_tls.h - bytes from file to file through OpenSSL alone.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// A child sends `bytes` of one file over loopback TCP with TLS 1.3, this process receives and
// writes them. Seconds from the connection on, with the handshake. The child ends by itself.
double limit_tls(int from, int to, uint64_t bytes, pid_t *child);
