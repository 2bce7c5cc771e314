// event_feed.c - sends events of the journal to clients that follow it, from any position.
//
// A client sends FOLLOW with a position and topics, and gets EVENT messages for all later changes
// that match. All events are read from the store, even the newest: so there is one source, no event
// is missed between past and present, and a slow client costs no memory. An event is sent only when
// its turn is durable.
//
// A struct cluster_follow belongs to its peer and is freed with it. cluster_feed() runs between
// turns and writes a limited number of events into the peer's `out`, then continues with the next
// peer; a client that does not read keeps its position and gets the rest later. A position that the
// journal does not have is refused, because it belongs to another database. If reading the store
// fails the position is kept, and the next call tries again.
#include "base/planted.h"
#include "server/cluster/cluster.h"
#include "server/cluster/event_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEED_EVERY = 10000, OUT_MAX = 64 << 10, EVENTS_MAX = 500, TURNS_MAX = 1000 };
enum { TOPICS_MAX = 64, TOPIC_MAX = 300, FAULT = 120 };

enum topic_key { BY_JOB, BY_TASK, BY_NAME, BY_LANE, BY_WORKER, BY_KIND, TOPIC_KEYS };
static const char *const key_names[TOPIC_KEYS] = {"job", "task", "name", "lane", "worker", "kind"};

struct topic {
    enum topic_key key;
    char *value;
};

struct cluster_follow {
    uint64_t sequence;  // the last event that was sent or skipped
    uint32_t place;
    bool ends;  // when all events are sent
    uint32_t topic_count;
    uint32_t counts[TOPIC_KEYS];
    struct topic topics[];
};

// One step for one client.
struct feed {
    struct cluster *cluster;
    struct cluster_peer *peer;
    struct cluster_follow *follow;
    uint32_t events, turns;  // read in this step
};

// ---- Topics ------------------------------------------------------------------------------------

static bool topic_read(struct topic *topic, const wire_text *text, char fault[FAULT])
{
    snprintf(fault, FAULT, "invalid topic: expected job=, task=, name=, lane=, worker= or kind= "
                           "and a value");
    const char *equals = memchr(text->bytes, '=', text->length);
    if (!equals || text->length > TOPIC_MAX || strlen(text->bytes) != text->length) return false;
    size_t length = (size_t)(equals - text->bytes);
    for (int i = 0; i < TOPIC_KEYS; i++) {
        if (strlen(key_names[i]) != length || memcmp(key_names[i], text->bytes, length) != 0)
            continue;
        topic->key = (enum topic_key)i;
        if (i == BY_KIND && !event_kind_check(equals + 1, fault, FAULT)) return false;
        topic->value = strdup(equals + 1);
        if (!topic->value) cluster_no_memory();
        return true;
    }
    return false;
}

// Whether the client filters by this key with this value, or not by this key at all.
static bool topic_admits(const struct cluster_follow *follow, enum topic_key key, const char *value)
{
    if (!follow->counts[key]) return true;
    for (uint32_t i = 0; i < follow->topic_count; i++)
        if (follow->topics[i].key == key && strcmp(follow->topics[i].value, value) == 0)
            return true;
    return false;
}

// ---- Lines of the journal ----------------------------------------------------------------------

// A line for one or more events that differ only in the number of their task.
struct line_read {
    enum wire_event_kind kind;
    rota_task_id first;
    uint32_t count;
    rota_worker_id worker;
    int32_t status;
    uint32_t attempt;
    char state[24];
};

static bool task_line_read(struct line_read *line, const char *text)
{
    uint32_t last;
    int length = 0;
    line->kind = WIRE_EVENT_TASK;
    line->attempt = line->count = 1;
    if (sscanf(text, "%u.%u%n", &line->first.job, &line->first.task, &length) < 2) return false;
    text += length;
    if (sscanf(text, "-%u%n", &last, &length) == 1) {
        if (last < line->first.task) return false;
        line->count = last - line->first.task + 1;
        text += length;
    }
    if (sscanf(text, " %23[A-Z]%n", line->state, &length) != 1) return false;
    for (text += length; *text == ' '; text += length) {
        length = 0;
        if (sscanf(text, " w%u%n", &line->worker.number, &length) == 1) continue;
        if (sscanf(text, " exit %d%n", &line->status, &length) == 1) continue;
        if (sscanf(text, " attempt %u%n", &line->attempt, &length) != 1) return false;
    }
    return true;
}

// False: the line has no event for clients.
static bool line_read(struct line_read *line, const char *text)
{
    *line = (struct line_read){.count = 1};
    if (sscanf(text, "worker w%u %23[a-z]", &line->worker.number, line->state) == 2) {
        line->kind = WIRE_EVENT_WORKER;
        return true;
    }
    if (sscanf(text, "job %u gets %d from %u", &line->first.job, &line->status, &line->first.task)
        == 3) {
        line->kind = WIRE_EVENT_JOB;
        memcpy(line->state, "SUBMITTED", sizeof "SUBMITTED");
        return true;
    }
    if (sscanf(text, "job %u %23[A-Z]", &line->first.job, line->state) == 2) {
        line->kind = WIRE_EVENT_JOB;
        return true;
    }
    return task_line_read(line, text);
}

// ---- Sending --------------------------------------------------------------------------------

static void event_put(struct cluster_peer *peer, const struct wire_event *event)
{
    struct wire_message message = {.kind = WIRE_EVENT_MESSAGE, .event = *event};
    wire_text *texts[] = {&message.event.state, &message.event.name, &message.event.lane,
                          &message.event.worker};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!texts[i]->bytes) *texts[i] = wire_text_of("");
    wire_put(peer->out, &message);
}

static void mark_put(const struct feed *feed, enum wire_event_kind kind)
{
    struct wire_event event = {.kind = kind};
    event.sequence = feed->follow->sequence;
    event.place = feed->follow->place;
    event_put(feed->peer, &event);
}

static const char *worker_name(const struct feed *feed, const struct line_read *line,
                               rota_task_id task)
{
    rota_worker_id id = line->worker;
    uint32_t attempt = line->attempt;
    bool is_over = strcmp(line->state, "SUCCESS") == 0 || strcmp(line->state, "FAILED") == 0;
    if (!id.number && line->kind == WIRE_EVENT_TASK && is_over)
        id = store_attempt_worker(feed->cluster->server->store, task, &attempt);
    const struct cluster_worker *worker = id.number ? cluster_worker_get(feed->cluster, id) : NULL;
    return worker ? worker->name : "";
}

static bool kind_is_wanted(const struct cluster_follow *follow, const struct line_read *line)
{
    static const char *const words[]
        = {[WIRE_EVENT_TASK] = "task", [WIRE_EVENT_JOB] = "job", [WIRE_EVENT_WORKER] = "worker"};
    return topic_admits(follow, BY_KIND, line->state)
           || topic_admits(follow, BY_KIND, words[line->kind]);
}

// Cheap conditions are checked first.
static void event_tell(const struct feed *feed, const struct store_turn *turn,
                       const struct line_read *line, rota_task_id task)
{
    const struct cluster_follow *follow = feed->follow;
    struct store_label label = {"", ""};
    char job[16] = "", number[32] = "";
    if (task.job) snprintf(job, sizeof job, "%u", task.job);
    bool is_task = line->kind == WIRE_EVENT_TASK;
    if (is_task) snprintf(number, sizeof number, "%u.%u", task.job, task.task);
    if (!kind_is_wanted(follow, line) || !topic_admits(follow, BY_JOB, job)) return;
    if (!topic_admits(follow, BY_TASK, number)) return;
    const char *worker = worker_name(feed, line, task);
    if (!topic_admits(follow, BY_WORKER, worker)) return;
    if (is_task) store_label_find(feed->cluster->server->store, task, &label);
    if (!topic_admits(follow, BY_NAME, label.name) || !topic_admits(follow, BY_LANE, label.lane))
        return;
    struct wire_event event = {.sequence = turn->sequence,
                               .place = follow->place,
                               .at = turn->at,
                               .kind = line->kind,
                               .state = wire_text_of(line->state),
                               .task = task,
                               .name = wire_text_of(label.name),
                               .lane = wire_text_of(label.lane),
                               .worker = wire_text_of(worker),
                               .status = line->status,
                               .attempt = line->attempt};
    event_put(feed->peer, &event);
}

// False: enough for now; the position is kept.
static bool line_tell(struct feed *feed, const struct store_turn *turn,
                      const struct line_read *line, uint32_t before)
{
    struct cluster_follow *follow = feed->follow;
    while (follow->place < before + line->count) {
        bool enough = feed->events >= EVENTS_MAX || feed->peer->out->length >= OUT_MAX;
        if (enough) return false;
        rota_task_id task = line->first;
        if (line->kind == WIRE_EVENT_TASK) task.task += follow->place - before;
        follow->place++;
        feed->events++;
        event_tell(feed, turn, line, task);
    }
    return true;
}

static void gap_tell(struct feed *feed, uint64_t until)
{
    feed->follow->sequence = until;
    feed->follow->place = UINT32_MAX;
    mark_put(feed, WIRE_EVENT_GAP);
}

static bool turn_tell(void *context, const struct store_turn *turn)
{
    struct feed *feed = context;
    struct cluster_follow *follow = feed->follow;
    bool is_same = turn->sequence == follow->sequence;
    bool is_next = turn->sequence == follow->sequence + 1 && follow->place == UINT32_MAX;
    if (!is_same && !is_next) gap_tell(feed, turn->sequence - 1);
    if (!is_same) follow->place = 0;
    follow->sequence = turn->sequence;
    feed->turns++;
    uint32_t before = 0;
    for (const char *at = turn->lines; at && *at;) {
        struct line_read line;
        const char *end = strchr(at, '\n');
        if (line_read(&line, at)) {
            if (follow->place < before + line.count && !line_tell(feed, turn, &line, before))
                return false;
            before += line.count;
        }
        at = end ? end + 1 : NULL;
    }
    follow->place = UINT32_MAX;
    return feed->turns < TURNS_MAX && feed->events < EVENTS_MAX
           && feed->peer->out->length < OUT_MAX;
}

// ---- Steps -------------------------------------------------------------------------------------

static bool peer_is_fed(const struct cluster *cluster, const struct cluster_follow *follow)
{
    return follow->sequence > cluster->durable
           || (follow->sequence == cluster->durable && follow->place == UINT32_MAX);
}

// True: there is more, and room for it.
static bool peer_feed(struct cluster *cluster, struct cluster_peer *peer)
{
    struct cluster_follow *follow = peer->follow;
    struct feed feed = {.cluster = cluster, .peer = peer, .follow = follow};
    if (peer->out->length >= OUT_MAX) return false;
    if (!peer_is_fed(cluster, follow)) {
        uint64_t first = follow->place == UINT32_MAX ? follow->sequence + 1 : follow->sequence;
        uint64_t last = PLANTED(FEED_EARLY) ? cluster->durable + 1 : cluster->durable;
        if (!store_journal(cluster->server->store, first, last, turn_tell, &feed)) return false;
        if (!feed.turns) gap_tell(&feed, cluster->durable);
    }
    if (!peer_is_fed(cluster, follow)) return peer->out->length < OUT_MAX;
    if (!follow->ends) return false;
    mark_put(&feed, WIRE_EVENT_END);
    cluster_follow_drop(peer);
    return false;
}

rota_time cluster_feed(struct cluster *cluster, rota_time ticks)
{
    if (ticks < cluster->feed_at) return cluster->feed_at;
    bool fed = false, more = false;
    for (struct cluster_peer *peer = cluster->peers; peer; peer = peer->next) {
        if (!peer->follow || peer->closing) continue;
        bool idle = peer_is_fed(cluster, peer->follow) && !peer->follow->ends;
        if (idle) continue;
        fed = true;
        more |= peer_feed(cluster, peer);
    }
    if (fed) cluster->feed_at = ticks + FEED_EVERY;
    return more ? cluster->feed_at : INT64_MAX;
}

// ---- Starting and ending --------------------------------------------------------------------

void cluster_follow_drop(struct cluster_peer *peer)
{
    if (!peer->follow) return;
    for (uint32_t i = 0; i < peer->follow->topic_count; i++) free(peer->follow->topics[i].value);
    free(peer->follow);
    peer->follow = NULL;
}

void cluster_follow(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_follow *wish)
{
    const wire_texts *topics = &wish->topics;
    bool from_now = wish->flags & WIRE_FOLLOW_FROM_NOW;
    cluster_follow_drop(peer);
    if (!store_journal_last(cluster->server->store)) {
        cluster_refuse(peer, 0, 0, WIRE_REFUSED_STATE, "this server keeps no journal");
        return;
    }
    if (!from_now && wish->sequence > cluster->durable) {
        cluster_refuse(
            peer, 0, 0, WIRE_REFUSED_NOT_FOUND,
            "the journal has no such event yet: this is another database, or an older one");
        return;
    }
    if (topics->count > TOPICS_MAX) {
        cluster_refuse(peer, 0, 0, WIRE_REFUSED_FULL, "too many topics");
        return;
    }
    struct cluster_follow *follow
        = cluster_allocate(1, sizeof *follow + topics->count * sizeof *follow->topics);
    peer->follow = follow;
    follow->sequence = from_now ? cluster->durable : wish->sequence;
    follow->place = from_now || !wish->sequence ? UINT32_MAX : wish->place;
    if (PLANTED(FEED_AGAIN) && wish->sequence) follow->place = 0;
    follow->ends = wish->flags & WIRE_FOLLOW_ENDS;
    for (uint32_t i = 0; i < topics->count; i++) {
        char fault[FAULT];
        struct topic *topic = &follow->topics[follow->topic_count];
        if (!topic_read(topic, &topics->items[i], fault)) {
            cluster_follow_drop(peer);
            cluster_refuse(peer, 0, 0, WIRE_REFUSED_REQUEST, fault);
            return;
        }
        follow->counts[topic->key]++;
        follow->topic_count++;
    }
    mark_put(&(struct feed){.peer = peer, .follow = follow}, WIRE_EVENT_BEGIN);
}
