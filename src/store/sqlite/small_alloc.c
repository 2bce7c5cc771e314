// small_alloc.c - the memory allocator of SQLite: small blocks come from free lists by size.
//
// To open a database, SQLite allocates thousands of blocks and frees most of them at once: with a
// general allocator that is a third of the instructions of a short run. Blocks in the lists belong
// to the thread that freed them. Larger blocks, such as pages, come from the heap.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = 16, LARGEST = 1024, CLASSES = LARGEST / STEP + 1, SLAB = 1 << 16 };

// Precedes every block, even those of the heap. The memory of SQLite follows it, so its size is the
// alignment that SQLite needs.
struct head {
    uint64_t size;  // of the block with its head
};

struct free_piece {
    struct head head;
    struct free_piece *next;
};

static _Thread_local struct {
    struct free_piece *lists[CLASSES];
    char *slab, *slab_end;
} pieces;

static void *piece_new(size_t size)
{
    if ((size_t)(pieces.slab_end - pieces.slab) < size) {
        char *slab = malloc(SLAB);
        if (!slab) return NULL;
        pieces.slab = slab;
        pieces.slab_end = slab + SLAB;
    }
    void *piece = pieces.slab;
    pieces.slab += size;
    return piece;
}

static size_t whole_size(int bytes)
{
    return ((size_t)bytes + sizeof(struct head) + STEP - 1) / STEP * STEP;
}

static void *piece_get(int bytes)
{
    size_t size = whole_size(bytes);
    struct head *head;
    if (size > LARGEST) {
        head = malloc(size);
    } else if (pieces.lists[size / STEP]) {
        head = &pieces.lists[size / STEP]->head;
        pieces.lists[size / STEP] = pieces.lists[size / STEP]->next;
    } else {
        head = piece_new(size);
    }
    if (!head) return NULL;
    head->size = size;
    return head + 1;
}

static void piece_put(void *memory)
{
    struct head *head = (struct head *)memory - 1;
    if (head->size > LARGEST) {
        free(head);
        return;
    }
    struct free_piece *piece = (struct free_piece *)head;
    piece->next = pieces.lists[head->size / STEP];
    pieces.lists[head->size / STEP] = piece;
}

static int piece_size(void *memory)
{
    return (int)(((struct head *)memory - 1)->size - sizeof(struct head));
}

static void *piece_resize(void *memory, int bytes)
{
    struct head *head = (struct head *)memory - 1;
    size_t size = whole_size(bytes);
    if (size == head->size) return memory;
    if (size > LARGEST && head->size > LARGEST) {
        head = realloc(head, size);
        if (!head) return NULL;
        head->size = size;
        return head + 1;
    }
    void *to = piece_get(bytes);
    if (!to) return NULL;
    int kept = piece_size(memory);
    memcpy(to, memory, (size_t)(kept < bytes ? kept : bytes));
    piece_put(memory);
    return to;
}

static int piece_round(int bytes)
{
    return (int)(whole_size(bytes) - sizeof(struct head));
}

static int pieces_begin(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void pieces_end(void *context)
{
    (void)context;
}

const sqlite3_mem_methods small_alloc_methods = {
    piece_get, piece_put, piece_resize, piece_size, piece_round, pieces_begin, pieces_end, NULL,
};
