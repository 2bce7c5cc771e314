// header_cpp17.cpp - rota.h compiles as C++17, and its functions link.
#include <rota.h>
#include <rota_client.h>
#include <rota_pool.h>
#include <rota_queue.h>

#include <cstdio>

int main()
{
    rota_config config = rota_config_default();
    rota *core = nullptr;
    bool opened = rota_open(&config, &core) == ROTA_OK;
    std::printf("%sok 1 - the core opens from C++17\n", opened ? "" : "not ");
    if (!opened) return 1;

    rota_event time{};
    time.kind = ROTA_EVENT_TIME;
    time.now = 1;
    bool stepped = rota_step(core, &time) == ROTA_OK;
    std::printf("%sok 2 - the core takes an event from C++17\n", stepped ? "" : "not ");
    rota_close(core);
    return stepped ? 0 : 1;
}
