// embed_cpp17.cpp - a C++17 program with librota as installed: a graph of lambdas, a lane, a queue.
#include <rota_pool.h>
#include <rota_queue.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Closer {
    void operator()(rota_pool *pool) const { rota_pool_close(pool); }
    void operator()(rota_queue *queue) const { rota_queue_close(queue); }
};

int call(void *argument, rota_pool_call *)
{
    (*static_cast<std::function<void()> *>(argument))();
    return 0;
}

}  // namespace

int main()
{
    rota_pool_config config = rota_pool_config_default();
    rota_pool *pool = nullptr;
    rota_queue *queue = nullptr;
    if (rota_pool_open(&config, &pool) || rota_queue_open(0, &queue)) return 1;
    std::unique_ptr<rota_pool, Closer> pool_owner(pool);
    std::unique_ptr<rota_queue, Closer> queue_owner(queue);
    if (rota_pool_lane(pool, 1, 0)) return 1;

    static int letters[] = {'a', 'b', 'c'};
    std::vector<std::function<void()>> functions;
    for (int &letter : letters)
        functions.push_back([&letter, queue] { rota_queue_put(queue, &letter, ROTA_NEVER); });
    std::vector<rota_pool_task> tasks(functions.size());
    for (std::size_t i = 0; i < tasks.size(); i++) {
        tasks[i].function = call;
        tasks[i].argument = &functions[i];
        tasks[i].lane = 1;
        tasks[i].access = ROTA_ACCESS_WRITE;
    }
    const std::vector<std::uint32_t> first{0, 1, 1, 2}, needs{3, 2};  // a needs c, c needs b
    rota_pool_job job{};
    job.task_count = static_cast<std::uint32_t>(tasks.size());
    job.tasks = tasks.data();
    job.need_first = first.data();
    job.needs = needs.data();
    rota_task_id id{};
    rota_pool_sum sum{};
    if (rota_pool_submit(pool, &job, &id)) return 1;
    if (rota_pool_wait(pool, rota_job_id{id.job}, ROTA_NEVER, &sum)) return 1;

    std::string order;
    for (void *item; !rota_queue_take(queue, &item, 0);)
        order += static_cast<char>(*static_cast<int *>(item));
    std::cout << order << " " << sum.succeeded << std::endl;
    return order == "bca" && sum.succeeded == 3 ? 0 : 1;
}
