// tree.c - the nodes of a file, independent of its format.
#include "job/file/internal.h"

enum { COLUMN_MAX = (1 << 26) - 1 };

// Reserves as many nodes as a file of this size usually has. Untouched memory costs nothing.
bool tree_init(struct tree *tree, struct jobfile *file, size_t size)
{
    tree->file = file;
    if (!jobfile_reserve(file, &tree->nodes, &tree->capacity, (uint32_t)(size / 8),
                         sizeof *tree->nodes))
        return false;
    tree->depth = 0;
    tree->open[0].node = tree_add(tree, NODE_LIST, (struct jobfile_place){0});  // node 0 means none
    tree->open[0].last = 0;
    return true;
}

uint32_t tree_add(struct tree *tree, enum node_kind kind, struct jobfile_place place)
{
    uint32_t number = tree->count, last = tree->open[tree->depth].last;
    uint32_t column = place.column < COLUMN_MAX ? place.column : COLUMN_MAX;
    struct node *node = ARRAY_ADD(tree->file, tree->nodes, tree->count, tree->capacity);
    if (!node) return 0;
    *node = (struct node){.line = place.line, .kind = kind, .column = column & COLUMN_MAX};
    if (!number) return 0;
    if (last) tree->nodes[last].next = number;
    tree->open[tree->depth].last = number;
    tree->nodes[tree->open[tree->depth].node].length++;
    return number;
}

bool tree_open(struct tree *tree, enum node_kind kind, struct jobfile_place place)
{
    if (tree->depth == DEPTH_MAX || tree->count > NODES_MAX) return false;
    uint32_t node = tree_add(tree, kind, place);
    if (!node) return false;
    tree->depth++;
    tree->open[tree->depth].node = node;
    tree->open[tree->depth].last = 0;
    return true;
}

void tree_close(struct tree *tree)
{
    tree->depth--;
}
