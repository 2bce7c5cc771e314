// straight.c - from a socket into a file, without a stop in this process.
//
// The bytes are copied once, from where the other side has them into the file; the thread that
// hashes reads them there. Only where nobody has to decrypt them.
#define _GNU_SOURCE
#include "data/data_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void straight_close(struct straight *straight)
{
    if (straight->pipe[0] >= 0) close(straight->pipe[0]);
    if (straight->pipe[1] >= 0) close(straight->pipe[1]);
    straight->pipe[0] = straight->pipe[1] = -1;
}

static bool pipe_reserve(struct straight *straight)
{
    if (straight->is_no_good) return false;
    if (straight->pipe[0] >= 0) return true;
    if (pipe2(straight->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        straight->pipe[0] = straight->pipe[1] = -1;
        return false;
    }
    fcntl(straight->pipe[1], F_SETPIPE_SZ, DATA_TURN);  // less will do as well
    return true;
}

static bool is_simple(const struct transfer *transfer)
{
    const struct link *link = transfer->link;
    return transfer->piece && transfer->job && !link->tls && link->state == LINK_OPEN
           && link->in.taken == link->in.length && link->out.length == 0;
}

// All that is in the pipe, so that the next who uses it finds it empty.
static bool pipe_empty(struct transfer *transfer, uint64_t count)
{
    struct straight *straight = &transfer->fetcher->straight;
    off_t at = (off_t)transfer->written;
    while (count) {
        ssize_t put = splice(straight->pipe[0], NULL, transfer->arrival.fd, &at, count,
                             SPLICE_F_MOVE);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) break;
        count -= (uint64_t)put;
    }
    if (count == 0) return true;
    int reason = errno;
    straight_close(straight);
    transfer_end_system(transfer, reason, strerror(reason));
    return false;
}

bool straight_receive(struct transfer *transfer, int64_t now)
{
    struct straight *straight = &transfer->fetcher->straight;
    for (uint64_t turn = DATA_TURN; turn;) {
        if (!is_simple(transfer) || !pipe_reserve(straight)) return turn < DATA_TURN;
        uint64_t wanted = transfer->piece < turn ? transfer->piece : turn;
        ssize_t got = splice(transfer->link->file, NULL, straight->pipe[1], NULL, wanted,
                             SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (got < 0 && errno == EINVAL) straight->is_no_good = true;
        if (got <= 0) return turn < DATA_TURN;  // if it is the end, the link says so the next time
        if (!pipe_empty(transfer, (uint64_t)got)) return true;
        turn -= (uint64_t)got;
        receive_written(transfer, (uint64_t)got, now);
        if (!transfer->link) return true;
    }
    return true;
}
