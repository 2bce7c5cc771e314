// header_c11.c - rota.h compiles as strict C11, and its functions link.
#include <rota.h>
#include <rota_client.h>
#include <rota_pool.h>
#include <rota_queue.h>

#include <stdio.h>

int main(void)
{
    struct rota_config config = rota_config_default();
    struct rota *rota = NULL;
    bool opened = rota_open(&config, &rota) == ROTA_OK;
    printf("%sok 1 - the core opens from C11\n", opened ? "" : "not ");
    if (!opened) return 1;

    struct rota_event time = {.kind = ROTA_EVENT_TIME, .now = 1};
    bool stepped = rota_step(rota, &time) == ROTA_OK;
    printf("%sok 2 - the core takes an event from C11\n", stepped ? "" : "not ");
    bool quiet = rota_take(rota).action_count == 0;
    printf("%sok 3 - an empty core asks for no action\n", quiet ? "" : "not ");
    rota_close(rota);
    return stepped && quiet ? 0 : 1;
}
