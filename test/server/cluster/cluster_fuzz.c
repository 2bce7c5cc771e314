// cluster_fuzz.c - a server that plans ahead and whose peers, two of them workers, send arbitrary
// messages: its state stays valid.
#include "peers.h"

#include <stdlib.h>
#include <string.h>

enum { PEERS = 4, FIRST = 1, SECOND = 3 };  // the workers

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Bit 6 of a piece of the first worker means the second one.
static uint32_t peer_of(uint8_t byte)
{
    uint32_t peer = byte % SECOND;
    return peer == FIRST && byte & 64 ? SECOND : peer;
}

// Each piece: which peer, how many bytes, the bytes. A turn ends when the peer's number says so.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t roles[PEERS] = {WIRE_CLIENT, WIRE_WORKER, 15, WIRE_WORKER};
    struct store *store = store_open_memory();
    struct peers peers;
    struct played played[PEERS];
    struct wire_in in[PEERS] = {{0}};
    if (!store) return 0;
    peers_plan = true;
    peers_open(&peers, store);
    for (int i = 0; i < PEERS; i++) played_open(&peers, &played[i], roles[i]);
    for (size_t at = 0; at + 3 <= size;) {
        uint32_t who = peer_of(data[at]), length = data[at + 1] | (uint32_t)data[at + 2] << 8;
        bool turns = data[at] & 128;
        at += 3;
        if (length > size - at) length = (uint32_t)(size - at);
        if (!length) continue;
        memcpy(wire_in_room(&in[who], length), data + at, length);
        wire_in_came(&in[who], length);
        at += length;
        struct wire_message message;
        while (wire_take(&in[who], &message) == WIRE_GOT)
            if (!played_says(&peers, &played[who], &message)) break;
        if (turns) peers_turn(&peers);
        rota_check(peers.server.rota);
    }
    for (int i = 0; i < PEERS; i++) {
        played_close(&peers, &played[i]);
        wire_in_release(&in[i]);
    }
    peers_turn(&peers);
    rota_check(peers.server.rota);
    peers_close(&peers);
    store_close(store);
    return 0;
}
