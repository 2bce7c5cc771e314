// condition.c - resolves start conditions: names to task numbers, and needed bundles to su(bundle).
#include "job/file/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rota_ask.h"

enum { CLAUSES_MAX = 4096, SUGGESTION = 40 };

struct clause_room {
    struct rota_clause clauses[CLAUSES_MAX];
    const char *names[CLAUSES_MAX];
    uint32_t lengths[CLAUSES_MAX];
};

// The column inside the text is known only if the file contains the text without escapes.
static struct jobfile_place place_inside(const struct reader *reader, const struct named *condition,
                                         const char *text, const char *at)
{
    const struct node *node = &reader->tree.nodes[condition->node];
    bool same = node->length == strlen(text)
                && memcmp(reader->tree.text + node->text, text, node->length) == 0;
    uint32_t byte = (uint32_t)(at - text);
    return same ? node_place_inside(reader, condition->node, byte)
                : node_place(reader, condition->node);
}

static void name_resolve(struct reader *reader, const struct named *condition, const char *text,
                         struct clause_room *room, int clause)
{
    const char *name = jobfile_text(reader->file, room->names[clause], room->lengths[clause]);
    if (!name) return;
    struct jobfile_place place = place_inside(reader, condition, text, room->names[clause]);
    uint32_t number = table_find(&reader->names, name);
    if (!number)
        refuse_at(reader->file, place, "no such task: %s%s", QUOTED(name),
                  suggestion_text(reader, name));
    else if (number & FAMILY)
        refuse_at(reader->file, place, "%s is a group of tasks; put them into a bundle",
                  QUOTED(name));
    else
        room->clauses[clause].task.task = number;
}

// For a misspelt kind of clause, such as faild(a): "", or " (did you mean failed?)".
static void kind_suggest(const char *at, char out[SUGGESTION])
{
    static const char *const kinds[] = {"success", "failed", "notrunning", "done"};
    char word[SUGGESTION];
    size_t length = strcspn(at, " \t()&|");
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    const char *meant = at[length] == '(' ? suggestion(word, kinds, 4) : NULL;
    *out = 0;
    if (meant) snprintf(out, SUGGESTION, " (did you mean %s?)", meant);
}

// Returns the number of clauses; 0 after an error.
static uint32_t clauses_read(struct reader *reader, const struct named *condition,
                             struct clause_room *room)
{
    uint32_t place;
    const char *reason;
    char *text = jobfile_text(reader->file, condition->name, strlen(condition->name));
    if (!text) return 0;
    for (char *at = text; *at; at++)
        if (*at == '\n') *at = ' ';
    int count = rota_condition_parse(text, room->clauses, room->names, room->lengths, CLAUSES_MAX,
                                     &place, &reason);
    char suggested[SUGGESTION];
    if (count < 0) {
        kind_suggest(text + place, suggested);
        refuse_at(reader->file, place_inside(reader, condition, text, text + place), "when: %s%s",
                  reason, suggested);
    }
    for (int i = 0; i < count; i++)
        if (room->names[i]) name_resolve(reader, condition, text, room, i);
    return count < 0 ? 0 : (uint32_t)count;
}

void condition_resolve(struct reader *reader, const struct named *condition,
                       const uint32_t *bundles, uint32_t bundle_count, uint32_t task)
{
    if (!reader->clauses) reader->clauses = malloc(sizeof *reader->clauses);
    struct clause_room *room = reader->clauses;
    if (!room) {
        jobfile_no_memory(reader->file);
        return;
    }
    uint32_t count = condition ? clauses_read(reader, condition, room) : 0;
    struct rota_clause *clauses
        = jobfile_take(reader->file, (count + 2 * (size_t)bundle_count) * sizeof *clauses);
    if (!clauses) return;
    memcpy(clauses, room->clauses, count * sizeof *clauses);
    for (uint32_t i = 0; i < bundle_count; i++) {
        bool first = count == 0;
        clauses[count].kind = ROTA_CLAUSE_SUCCESS;
        clauses[count++].task.task = bundles[i] + 1;
        if (!first) clauses[count++].kind = ROTA_CLAUSE_AND;
    }
    reader->file->tasks[task].clauses = clauses;
    reader->file->tasks[task].clause_count = count;
}
