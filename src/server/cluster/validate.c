// validate.c - checks commands and names that clients send.
//
// Job files are checked by the reader, but a client can send a submission without one.
#include "server/cluster/body_objects.h"
#include "server/cluster/submission_pieces.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAME_MAX = 255,
    PATH_BYTES_MAX = 4095,
    WORDS_MAX = 128 << 10,  // bytes of a command and its environment
    BODY_MAX = 15 << 20,    // its frame grows by hashes of inputs before it is sent
    FIRST_PRINTABLE = 0x20,
    DELETE = 0x7f,
    LAST_CONTROL = 0x9f,
    PERCENT_MAX = 10000,
    SUBMIT_FLAGS = WIRE_SUBMIT_MORE | WIRE_SUBMIT_OPEN | WIRE_SUBMIT_WATCH,
    RUN_FLAGS = WIRE_RUN_CACHE | WIRE_RUN_PRIVATE | WIRE_RUN_EXCLUSIVE | WIRE_RUN_ANYWHERE
                | WIRE_RUN_CACHE_FAILURE,
    INPUT_FLAGS = ROTA_OBJECT_ARTIFACT,
    OUTPUT_FLAGS = ROTA_OBJECT_KEEP | ROTA_OBJECT_STREAM | ROTA_OBJECT_AWAY
};
static const rota_time longest = 100ll * 366 * 86400 * 1000000;  // a hundred years

// ---- Texts -------------------------------------------------------------------------------------

static bool has_zero(wire_text text)
{
    return text.length && memchr(text.bytes, 0, text.length);
}

static bool is_control(uint32_t number)
{
    return number < FIRST_PRINTABLE || (number >= DELETE && number <= LAST_CONTROL);
}

bool cluster_is_text(wire_text text)
{
    uint32_t number;
    for (size_t at = 0, size; at < text.length; at += size) {
        size = character_read(text.bytes + at, text.length - at, &number);
        if (!size || !number) return false;
    }
    return true;
}

bool cluster_is_name(wire_text text)
{
    uint32_t number;
    if (text.length > NAME_MAX || !cluster_is_text(text)) return false;
    for (size_t at = 0, size; at < text.length; at += size) {
        size = character_read(text.bytes + at, text.length - at, &number);
        if (is_control(number)) return false;
    }
    return true;
}

wire_text cluster_reason(wire_text text)
{
    enum { REASON_MAX = 4096, AFTER_THE_FIRST = 0x80, UPPER_BITS = 0xc0 };
    if (text.length <= REASON_MAX) return text;
    uint32_t length = REASON_MAX;
    while (length && ((unsigned char)text.bytes[length] & UPPER_BITS) == AFTER_THE_FIRST) length--;
    return (wire_text){text.bytes, length};
}

static bool are_names(const wire_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        if (!texts->items[i].length || !cluster_is_name(texts->items[i])) return false;
    return true;
}

// ---- A command ---------------------------------------------------------------------------------

static bool is_absolute(wire_text path)
{
    return !path.length || (path.bytes[0] == '/' && !has_zero(path));
}

// A relative path that does not leave its directory.
static bool is_inside(wire_text path)
{
    if (!path.length || path.bytes[0] == '/' || has_zero(path)) return false;
    for (const char *part = path.bytes, *end; part; part = *end ? end + 1 : NULL) {
        end = strchr(part, '/');
        if (!end) end = part + strlen(part);
        if (end - part == 2 && memcmp(part, "..", 2) == 0) return false;
    }
    return true;
}

// An unknown bit may change the meaning of the other bits.
static bool is_among(uint32_t flags, uint32_t known)
{
    return !(flags & ~known);
}

static bool are_kinds(const wire_files *files, enum wire_file_kind last)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        bool known = file->kind >= WIRE_FILE && file->kind <= (uint32_t)last;
        if (!known || !is_among(file->flags, WIRE_KEEP)) return false;
    }
    return true;
}

static bool are_paths(const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        if (files->items[i].name.length > PATH_BYTES_MAX
            || files->items[i].path.length > PATH_BYTES_MAX)
            return false;
    return true;
}

// Whether the system can open all of its paths.
static bool has_paths(const struct wire_run *run)
{
    return run->cwd.length <= PATH_BYTES_MAX && run->stdin_path.length <= PATH_BYTES_MAX
           && are_paths(&run->inputs) && are_paths(&run->outputs);
}

static bool are_inside(const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        if (!is_inside(files->items[i].name) || !is_absolute(files->items[i].path)) return false;
    return true;
}

// ---- Inputs that become links in the task's folder ---------------------------------------------

static bool is_link(const struct wire_file *input)
{
    return input->kind == WIRE_SOURCE || input->kind == WIRE_STREAM;
}

struct location {
    wire_text name;
    bool is_link;
};

// Where the texts differ, or the length of the shorter one.
static uint32_t common_length(wire_text one, wire_text other)
{
    enum { BLOCK = 64 };
    uint32_t shorter = one.length < other.length ? one.length : other.length, at = 0;
    while (shorter - at >= BLOCK && memcmp(one.bytes + at, other.bytes + at, BLOCK) == 0)
        at += BLOCK;
    while (at < shorter && one.bytes[at] == other.bytes[at]) at++;
    return at;
}

// The end of a name comes first, then '/'.
static int place_of(wire_text name, uint32_t at)
{
    enum { AFTER_SLASH = 2 };
    if (at == name.length) return 0;
    return name.bytes[at] == '/' ? 1 : AFTER_SLASH + (unsigned char)name.bytes[at];
}

static int location_compare(const void *one, const void *other)
{
    const struct location *a = one, *b = other;
    uint32_t at = common_length(a->name, b->name);
    return place_of(a->name, at) - place_of(b->name, at);
}

static bool is_below(wire_text name, wire_text folder)
{
    return name.length > folder.length && name.bytes[folder.length] == '/'
           && common_length(name, folder) == folder.length;
}

// All names below a folder follow it directly, so only the last link is compared.
static bool any_is_below_a_link(struct location *locations, uint32_t count)
{
    const struct location *link = NULL;
    qsort(locations, count, sizeof *locations, location_compare);
    for (uint32_t i = 0; i < count; i++) {
        if (link && is_below(locations[i].name, link->name)) return true;
        if (locations[i].is_link) link = &locations[i];
    }
    return false;
}

// A worker would create files in the folders of others.
static const char *links_fault(const struct wire_run *run)
{
    uint32_t links = 0, count = 0;
    for (uint32_t i = 0; i < run->inputs.count; i++) links += is_link(&run->inputs.items[i]);
    if (!(run->flags & WIRE_RUN_PRIVATE) || !links) return NULL;
    struct location *locations
        = calloc((size_t)run->inputs.count + run->outputs.count, sizeof *locations);
    if (!locations) return cluster_no_room;
    for (uint32_t i = 0; i < run->inputs.count; i++)
        locations[count++] = (struct location){run->inputs.items[i].name,
                                               is_link(&run->inputs.items[i])};
    for (uint32_t i = 0; i < run->outputs.count; i++)
        locations[count++] = (struct location){run->outputs.items[i].name, false};
    bool fine = !any_is_below_a_link(locations, count);
    free(locations);
    return fine ? NULL : "a file of a task is below an input that is a link to another location";
}

// ---- A complete command ---------------------------------------------------------------------

static bool words_add(const wire_texts *words, uint64_t *bytes)
{
    for (uint32_t i = 0; i < words->count; i++) {
        if (has_zero(words->items[i])) return false;
        *bytes += words->items[i].length + 1;
    }
    return true;
}

static bool is_time(rota_time time)
{
    return time >= 0 && time <= longest;
}

static const char *command_fault(const struct wire_run *run)
{
    uint64_t bytes = 0;
    if (!run->argv.count || !run->argv.items[0].length) return "a command needs at least one word";
    if (!words_add(&run->argv, &bytes) || !words_add(&run->env, &bytes))
        return "a command or its environment contains a zero byte";
    if (bytes > WORDS_MAX) return "a command and its environment may have at most 128 KiB";
    for (uint32_t i = 0; i < run->env.count; i++)
        if (!strchr(run->env.items[i].bytes, '='))
            return "an environment variable must be NAME=VALUE";
    if (!cluster_is_name(run->name)) return "invalid command name";
    if (!has_paths(run)) return "a path may have at most 4,095 bytes";
    if (!is_absolute(run->cwd)) return "a directory must be an absolute path";
    if (has_zero(run->stdin_path)) return "the path of an input contains a zero byte";
    const char *fault = wire_files_fault(run);
    if (fault) return fault;
    if (!are_inside(&run->inputs) || !are_inside(&run->outputs))
        return "a file of a task is outside of its directory";
    if (!are_kinds(&run->inputs, WIRE_SOURCE) || !are_kinds(&run->outputs, WIRE_STREAM))
        return "unknown kind of file";
    fault = links_fault(run);
    if (fault) return fault;
    if (!is_time(run->timeout) || !is_time(run->grace))
        return "a time must be between 0 and 100 years";
    return is_among(run->flags, RUN_FLAGS) ? NULL : "unknown flag of a command";
}

static bool is_repeat(const struct wire_repeat *repeat)
{
    return is_time(repeat->rest) && repeat->percent <= PERCENT_MAX;
}

// The part after the RUN of a body.
static bool repeat_is_sound(struct wire_in *in)
{
    struct wire_message message;
    if (in->taken == in->length) return true;
    return wire_take(in, &message) == WIRE_GOT && message.kind == WIRE_REPEAT_MESSAGE
           && is_repeat(&message.repeat) && in->taken == in->length;
}

// A body is a RUN frame, optionally followed by a REPEAT frame.
const char *cluster_body_fault(struct server *keeper, wire_text body,
                               struct cluster_body_facts *facts)
{
    struct wire_in in = {0};
    struct wire_message message;
    const char *fault = "a body must be a RUN frame";
    *facts = (struct cluster_body_facts){0};
    if (!body.length) return fault;
    if (body.length > BODY_MAX) return "a command with its files may have at most 15 MiB";
    char *copy = wire_in_room(&in, body.length);
    if (!copy) return cluster_no_room;
    memcpy(copy, body.bytes, body.length);
    wire_in_came(&in, body.length);
    if (wire_take(&in, &message) == WIRE_GOT && message.kind == WIRE_RUN_MESSAGE) {
        const char *other = command_fault(&message.run);
        facts->flags = message.run.flags;
        if (keeper && !other && !cluster_objects_note(keeper, &message.run, facts))
            other = cluster_no_room;
        if (repeat_is_sound(&in)) fault = other;
    }
    wire_in_release(&in);
    return fault;
}

// ---- A piece of a submission -------------------------------------------------------------------

static bool are_flags(const struct wire_submit *submit)
{
    bool fine = is_among(submit->flags, SUBMIT_FLAGS);
    for (uint32_t i = 0; i < submit->inputs.count; i++)
        fine &= is_among(submit->inputs.items[i].flags, INPUT_FLAGS);
    for (uint32_t i = 0; i < submit->outputs.count; i++)
        fine &= is_among(submit->outputs.items[i].flags, OUTPUT_FLAGS);
    return fine;
}

const char *cluster_piece_fault(const struct wire_submit *submit, uint32_t *index)
{
    *index = UINT32_MAX;
    if (!are_flags(submit)) return "unknown flag";
    if (!cluster_is_name(submit->name)) return "invalid job name";
    if (!are_names(&submit->groups)) return "invalid group name";
    if (!are_names(&submit->machines)) return "invalid machine name";
    for (uint32_t i = 0; i < submit->lanes.count; i++)
        if (!submit->lanes.items[i].name.length || !cluster_is_name(submit->lanes.items[i].name))
            return "invalid lane name";
    for (uint32_t i = 0; i < submit->commands.count; i++)
        if (!cluster_is_text(submit->commands.items[i])) return "a command must be valid UTF-8";
    for (uint32_t i = 0; i < submit->tasks.count; i++) {
        const struct wire_spec *task = &submit->tasks.items[i];
        *index = i;
        if (!cluster_is_name(task->name))
            return "invalid task name: at most 255 bytes, no control characters";
        if (!cluster_is_text(task->details)) return "the details of a task must be valid UTF-8";
        if (!is_time(task->estimate)) return "a time must be between 0 and 100 years";
    }
    return NULL;
}
