// receive_direct.c - from a socket to where the thread that hashes finds it, and into a file.
//
// Only where nobody has to decrypt it.
#define _GNU_SOURCE
#include "object/transfer/internal.h"

#include <errno.h>
#include <sys/socket.h>

static bool is_simple(const struct transfer *transfer)
{
    const struct link *link = transfer->link;
    return transfer->piece && transfer->job && !link->tls && link->state == LINK_OPEN
           && link->in.taken == link->in.length && link->out.length == 0;
}

bool straight_receive(struct transfer *transfer, int64_t now)
{
    for (uint64_t turn = DATA_TURN; turn;) {
        if (!is_simple(transfer)) return turn < DATA_TURN;
        char *bytes;
        uint32_t room = receive_room(transfer, &bytes);
        if (room == 0) return true;
        ssize_t got = recv(transfer->link->file, bytes, room < turn ? room : turn, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return turn < DATA_TURN;  // if it is the end, the link says so the next time
        turn -= (uint64_t)got;
        receive_bytes(transfer, bytes, (uint32_t)got, now);
        if (!transfer->link) return true;
    }
    return true;
}
