// service.c - a worker under a supervisor: its status messages, and how often they are sent.
#include "worker/agent/internal.h"

void service_status(const struct agent *agent, const char *status, const char *address)
{
    os_service_tell(agent->options->service, "STATUS=%s %s", status, address);
}

void service_stopping(const struct agent *agent, const char *status)
{
    os_service_tell(agent->options->service, "STOPPING=1\nSTATUS=%s", status);
}

// Only the loop sends this: a loop that hangs is ended by the supervisor, as by the fence.
void service_beat(struct agent *agent, int64_t now)
{
    int64_t every = agent->options->service->watchdog / 2;
    if (!every || now < agent->alive_at) return;
    os_service_tell(agent->options->service, "WATCHDOG=1");
    agent->alive_at = now + every;
}

int64_t service_due(const struct agent *agent)
{
    return agent->options->service->watchdog ? agent->alive_at : INT64_MAX;
}
