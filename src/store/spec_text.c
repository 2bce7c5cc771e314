// spec_text.c - conditions, inputs and outputs as text, for the columns of sched_job.
#include "store/line_buffer.h"

#include <stdlib.h>
#include <string.h>

// ---- Conditions: "su(3)&(fa(7.4)|done(2))", left to right ----------------------

static const char *const clause_words[]
    = {[ROTA_CLAUSE_SUCCESS] = "su", [ROTA_CLAUSE_FAILED] = "fa", [ROTA_CLAUSE_NOT_RUNNING] = "nr",
       [ROTA_CLAUSE_DONE] = "done",  [ROTA_CLAUSE_AND] = "&",     [ROTA_CLAUSE_OR] = "|"};

// Returns where the subexpression that ends with this clause begins.
static uint32_t value_begin(const struct rota_clause *clauses, uint32_t last)
{
    uint32_t wanted = 1;
    for (;; last--) {
        bool joins = clauses[last].kind >= ROTA_CLAUSE_AND;
        wanted = joins ? wanted + 1 : wanted - 1;
        if (wanted == 0) return last;
    }
}

static void clause_write(struct line *line, const struct rota_clause *clause)
{
    line_add_word(line, clause_words[clause->kind]);
    line_add_char(line, '(');
    if (clause->task.job)
        line_add_task(line, clause->task);
    else
        line_add_number(line, clause->task.task);
    line_add_char(line, ')');
}

// Converts postfix to infix, from the outside in. A stack has the ranges that are not written yet,
// and the characters between them. Only a right side of more than one clause needs parentheses.
struct piece {
    uint32_t begin, end;  // a range of clauses; begin > end: a character
    char character;
};

static uint32_t piece_split(const struct rota_clause *clauses, struct piece whole,
                            struct piece *stack, uint32_t height)
{
    uint32_t right = value_begin(clauses, whole.end - 1);
    bool wrapped = right < whole.end - 1;
    if (wrapped) stack[height++] = (struct piece){1, 0, ')'};
    stack[height++] = (struct piece){right, whole.end - 1, 0};
    if (wrapped) stack[height++] = (struct piece){1, 0, '('};
    stack[height++] = (struct piece){1, 0, *clause_words[clauses[whole.end].kind]};
    stack[height++] = (struct piece){whole.begin, right - 1, 0};
    return height;
}

void condition_write(struct line *line, const struct rota_clause *clauses, uint32_t count)
{
    if (!count) return;
    // A left side replaces its range, so only right sides make the stack grow.
    size_t room = ((size_t)count + 1) * 4;
    struct piece *stack = malloc(room * sizeof *stack);
    line->failed |= !stack;
    if (!stack) return;
    uint32_t height = 0;
    stack[height++] = (struct piece){0, count - 1, 0};
    while (height) {
        struct piece piece = stack[--height];
        if (piece.begin > piece.end)
            line_add_char(line, piece.character);
        else if (piece.begin == piece.end)
            clause_write(line, &clauses[piece.begin]);
        else
            height = piece_split(clauses, piece, stack, height);
    }
    free(stack);
}

static bool name_read(const char *name, rota_task_id *task)
{
    uint64_t first, second;
    if (!text_read_number(&name, &first)) return false;
    if (text_read_char(&name, '.')) {
        if (!text_read_number(&name, &second)) return false;
        *task = (rota_task_id){(uint32_t)first, (uint32_t)second};
    } else {
        *task = (rota_task_id){0, (uint32_t)first};
    }
    return *name == ')';
}

int condition_read(const char *text, struct rota_clause *clauses, uint32_t max)
{
    const char **names = malloc(max * sizeof *names), *reason;
    uint32_t *lengths = malloc(max * sizeof *lengths), place;
    int count = -1;
    if (names && lengths) {
        count = rota_condition_parse(text, clauses, names, lengths, max, &place, &reason);
    }
    for (int i = 0; i < count; i++) {
        if (names[i] && !name_read(names[i], &clauses[i].task)) count = -1;
    }
    free(names);
    free(lengths);
    return count;
}

// ---- Objects: "7-1f:1000:keep" -------------------------------------------------

static const struct {
    uint32_t flag;
    const char *word;
} flag_words[] = {{ROTA_OBJECT_KEEP, ":keep"},
                  {ROTA_OBJECT_STREAM, ":stream"},
                  {ROTA_OBJECT_AWAY, ":away"},
                  {ROTA_OBJECT_ARTIFACT, ":artifact"}};

static void flags_write(struct line *line, uint32_t flags)
{
    for (size_t i = 0; i < sizeof flag_words / sizeof *flag_words; i++) {
        if (flags & flag_words[i].flag) line_add_word(line, flag_words[i].word);
        flags &= ~flag_words[i].flag;
    }
    if (!flags) return;
    line_add_word(line, ":flags=");
    line_add_number(line, flags);
}

static bool flags_read(const char **text, uint32_t *flags)
{
    *flags = 0;
    for (size_t i = 0; i < sizeof flag_words / sizeof *flag_words; i++) {
        if (text_read_word(text, flag_words[i].word)) *flags |= flag_words[i].flag;
    }
    uint64_t others = 0;
    if (text_read_word(text, ":flags=") && !text_read_number(text, &others)) return false;
    *flags |= (uint32_t)others;
    return **text == '\0' || text_read_char(text, ' ');
}

void input_write(struct line *line, const struct rota_input *input)
{
    if (line->length) line_add_char(line, ' ');
    line_add_object(line, input->object);
    flags_write(line, input->flags);
}

bool input_read(const char **text, struct rota_input *input)
{
    return text_read_object(text, &input->object) && flags_read(text, &input->flags);
}

void output_write(struct line *line, const struct rota_output *output)
{
    if (line->length) line_add_char(line, ' ');
    line_add_object(line, output->object);
    line_add_char(line, ':');
    line_add_number(line, output->bytes);
    flags_write(line, output->flags);
}

bool output_read(const char **text, struct rota_output *output)
{
    return text_read_object(text, &output->object) && text_read_char(text, ':')
           && text_read_number(text, &output->bytes) && flags_read(text, &output->flags);
}
