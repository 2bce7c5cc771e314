// receive_direct.c - moves bytes from a socket directly to the hashing thread and into a file.
//
// Used only on connections without encryption.
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

bool receive_direct(struct transfer *transfer, int64_t now)
{
    for (uint64_t turn = DATA_TURN; turn;) {
        if (!is_simple(transfer)) return turn < DATA_TURN;
        char *bytes;
        uint32_t room = receive_room(transfer, &bytes);
        if (room == 0) return true;
        ssize_t got = recv(transfer->link->file, bytes, room < turn ? room : turn, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        // if it is the end, the link reports it the next time
        if (got <= 0) return turn < DATA_TURN;
        turn -= (uint64_t)got;
        receive_bytes(transfer, bytes, (uint32_t)got, now);
        if (!transfer->link) return true;
    }
    return true;
}
