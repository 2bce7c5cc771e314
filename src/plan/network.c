// network.c - links between workers: each gets its fair share of the capacity of both ends.
//
// Max-min fairness: the port with the smallest share for each of its links fixes the rates of those
// links first; the remaining capacity is shared by the others.
#include "plan/model_internal.h"

#include <stdlib.h>

struct link *network_link(struct model *model, uint32_t source, uint32_t worker, uint32_t *number)
{
    assert(source != worker);
    uint32_t at = model->workers[worker].links;
    while (at && model->links[at - 1].source != source) at = model->links[at - 1].next;
    if (!at) {
        uint32_t before = model->link_capacity;
        model_grow(&model->links, &model->link_capacity, model->link_count, sizeof *model->links);
        for (; before < model->link_capacity; before++) model->links[before] = (struct link){0};
        struct link *link = &model->links[model->link_count++];
        struct plan_queue waiting = link->waiting;  // reuse its memory
        waiting.count = 0;
        *link = (struct link){source, worker, model->workers[worker].links, .waiting = waiting};
        model->workers[worker].links = at = model->link_count;
    }
    *number = at - 1;
    return &model->links[at - 1];
}

static void network_start(struct model *model, uint32_t copy)
{
    assert(copy < model->copy_count);
    uint32_t number = model->copies[copy].link, room = model->moving_capacity;
    struct link *link = &model->links[number];
    if (model->moving_count == room) {
        model_grow(&model->moving, &model->moving_capacity, room, sizeof *model->moving);
        model->left = realloc(model->left, model->moving_capacity * sizeof *model->left);
        model->rate = realloc(model->rate, model->moving_capacity * sizeof *model->rate);
        if (!model->left || !model->rate) abort();
    }
    model->moving[model->moving_count] = copy;
    model->left[model->moving_count] = model->graph->mib[model->copies[copy].object];
    model->rate[model->moving_count++] = 0;
    model->is_changed = true;
    if (link->moving++ > 0) return;
    model_grow(&model->active, &model->active_capacity, model->active_count, sizeof *model->active);
    model->active[model->active_count++] = number;
    link->place = model->active_count;
}

void network_open(struct model *model, uint32_t copy)
{
    assert(copy < model->copy_count);
    struct link *link = &model->links[model->copies[copy].link];
    model->workers[link->worker].moving++;
    if (model->cluster->latency <= 0) {
        network_start(model, copy);
        return;
    }
    link->opening++;
    model_grow(&model->openings, &model->opening_capacity, model->opening_count,
               sizeof *model->openings);
    model->openings[model->opening_count++]
        = (struct opening){model->now + model->cluster->latency, copy};
}

void network_opened(struct model *model)
{
    while (model->opening_first < model->opening_count
           && model->openings[model->opening_first].at <= model->now) {
        uint32_t copy = model->openings[model->opening_first++].copy;
        model->links[model->copies[copy].link].opening--;
        network_start(model, copy);
    }
    if (model->opening_first == model->opening_count)
        model->opening_first = model->opening_count = 0;
}

void network_stop(struct model *model, uint32_t place)
{
    assert(place < model->moving_count);
    struct link *link = &model->links[model->copies[model->moving[place]].link];
    uint32_t last = --model->moving_count;
    model->moving[place] = model->moving[last];
    model->left[place] = model->left[last];
    model->rate[place] = model->rate[last];
    model->workers[link->worker].moving--;
    model->workers[link->source].sending--;
    model->is_changed = true;
    if (--link->moving > 0) return;
    uint32_t other = model->active[--model->active_count];
    model->active[link->place - 1] = other;
    model->links[other].place = link->place;
    link->place = 0;
}

static void opening_remove(struct model *model, uint32_t copy)
{
    assert(copy < model->copy_count);
    uint32_t kept = model->opening_first;
    for (uint32_t i = kept; i < model->opening_count; i++)
        if (model->openings[i].copy != copy) model->openings[kept++] = model->openings[i];
    if (kept == model->opening_count) return;
    struct link *link = &model->links[model->copies[copy].link];
    model->opening_count = kept;
    link->opening--;
    model->workers[link->worker].moving--;
    model->workers[link->source].sending--;
}

void network_close(struct model *model, uint32_t copy)
{
    assert(copy < model->copy_count);
    struct copy *at = &model->copies[copy];
    if (at->state == COPY_WAITS) {
        model_queue_remove(&model->links[at->link].waiting, model->copy_keys, copy);
        model->workers[at->worker].waiting--;
        model->workers[model->links[at->link].source].sending--;
    } else if (at->state == COPY_MOVES) {
        uint32_t place = 0;
        while (place < model->moving_count && model->moving[place] != copy) place++;
        if (place < model->moving_count) network_stop(model, place);
        else opening_remove(model, copy);
    }
}

static void port_add(struct model *model, uint32_t port, double goodput, uint32_t *count)
{
    struct port *at = &model->ports[port];
    if (at->links++ > 0) return;
    at->left = goodput;
    at->first = 0;
    model->busy[(*count)++] = port;
}

// Lists the links of each port that has any; returns the number of such ports.
static uint32_t list_ports(struct model *model)
{
    uint32_t count = 0, senders = model->cluster->worker_count;
    double goodput = plan_goodput(model->cluster);
    for (uint32_t i = 0; i < model->active_count; i++) {
        struct link *link = &model->links[model->active[i]];
        uint32_t to = senders + link->worker;
        port_add(model, link->source, goodput, &count);
        port_add(model, to, goodput, &count);
        link->rate = -1;
        link->next_sent = model->ports[link->source].first;
        model->ports[link->source].first = model->active[i] + 1;
        link->next_received = model->ports[to].first;
        model->ports[to].first = model->active[i] + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct port *port = &model->ports[model->busy[i]];
        port->share = port->left / port->links;
    }
    return count;
}

static void port_give(struct port *port, double rate)
{
    port->left -= rate;
    if (--port->links > 0) port->share = port->left / port->links;
}

static void settle_port(struct model *model, uint32_t number)
{
    uint32_t senders = model->cluster->worker_count, at = model->ports[number].first;
    double share = model->ports[number].share;
    while (at) {
        struct link *link = &model->links[at - 1];
        at = number < senders ? link->next_sent : link->next_received;
        if (link->rate >= 0) continue;
        link->rate = share;
        port_give(&model->ports[link->source], share);
        port_give(&model->ports[senders + link->worker], share);
    }
}

static void find_shares(struct model *model)
{
    uint32_t count = list_ports(model);
    model->sums.steps += count + 2 * model->active_count;
    while (count > 0) {
        uint32_t best = PLAN_NONE, kept = 0;
        double least = 0;
        model->sums.steps += count;
        for (uint32_t i = 0; i < count; i++) {
            const struct port *port = &model->ports[model->busy[i]];
            if (port->links == 0) continue;
            model->busy[kept++] = model->busy[i];
            if (best != PLAN_NONE && port->share >= least) continue;
            best = model->busy[i];
            least = port->share;
        }
        count = kept;
        if (best != PLAN_NONE) settle_port(model, best);
    }
}

void network_share(struct model *model)
{
    if (!model->is_changed) return;
    model->is_changed = false;
    if (model->cluster->shared) find_shares(model);
    double most = plan_bandwidth(model->cluster);
    for (uint32_t i = 0; i < model->moving_count; i++) {
        const struct link *link = &model->links[model->copies[model->moving[i]].link];
        double share = model->cluster->shared ? link->rate / link->moving : most;
        model->rate[i] = share < most ? share : most;
    }
}
