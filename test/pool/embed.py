"""embed - a Python program with the installed librota; install_test runs it. Prints TAP."""
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import rota

counted = failed = 0


def ok(good, what):
    global counted, failed
    counted, failed = counted + 1, failed + (not good)
    print(f"{'' if good else 'not '}ok {counted} - {what}", flush=True)


def refused(name, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except rota.Error as error:
        return error.name == name
    return False


def graph():
    order = []
    with rota.Pool(threads=2) as pool:
        job = pool.submit([rota.Task(order.append, "a", needs=[3]), rota.Task(order.append, "b"),
                           rota.Task(order.append, "c", needs=[2])], client=4)
        total = pool.wait(job, 60)
        told = pool.confirmed(4, timeout=60)
    ok(order == ["b", "c", "a"], "functions run in the order of their needs")
    ok(total == (3, 0, 0, 0) and [one.outcome for one in told] == ["ok"] * 3, "and are confirmed")


def failure():
    def divide(by):
        return 1 // by[0]
    divisor = [0]
    with rota.Pool() as pool:
        job = pool.submit([rota.Task(divide, divisor), rota.Task(divide, divisor, needs=[1])])
        total = pool.wait(job, 60)
        ok(total == (0, 1, 0, 1), "a function that raises has failed")
        ok(isinstance(pool.errors[(job, 1)], ZeroDivisionError), "its exception is kept")
        ok(pool.blocked == {(job, 2): {(job, 1)}} and not pool.available, "and blocks another")
        divisor[0] = 1
        pool.retry((job, 1))
        ok(pool.wait(job, 60) == (2, 0, 0, 0), "until it is repeated")
        ok(refused("bad_graph", pool.submit, [rota.Task(divide, needs=[1])]), "a cycle is refused")


def handlers():
    with rota.Pool(threads=0) as pool:
        job = pool.submit([rota.Task(needs=[2]), rota.Task()])
        grant = pool.fetch(7)
        ok(grant.task == (job, 2) and grant.attempt == 1, "a handler fetches what is available")
        ok(pool.available == {(job, 2)}, "and it stays available")
        ok(refused("not_now", pool.fetch, 8, (job, 2)), "no other handler gets it")
        ok(pool.fetch(8, (job, 2), fetched_ok=True).task == (job, 2), "unless that is fine")
        ok(refused("not_now", pool.deliver, 8, (job, 2)), "only its owner delivers it")
        pool.fail(7, (job, 2), 3)
        ok(pool.blocked == {(job, 1): {(job, 2)}}, "a failure blocks")
        ok(pool.fetch(7, timeout=0.01) is None, "and then there is nothing to fetch")
        pool.fetch(7, (job, 2), failed_ok=True)
        pool.deliver(7, (job, 2))
        pool.deliver(7, (job, 2), delivered_ok=True)
        ok(pool.state((job, 2)) == "succeeded" and pool.available == {(job, 1)}, "until retried")
        pool.fetch(7, (job, 1))
        ok(pool.lost(7) == 1 and pool.state((job, 1)) == "aborted", "a lost handler's are aborted")


def lanes():
    inside, most, lock = [0], [0], threading.Lock()

    def write():
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        with lock:
            inside[0] -= 1
    with rota.Pool(threads=4) as pool:
        pool.lane(1)
        job = pool.submit([rota.Task(write, lane=1, group=2, access=rota.WRITE)] * 8)
        pool.wait(job, 60)
        ok(most == [1], "writers of one group run one at a time")
        ok(pool.lane_look(1) == (0, set()) and pool.lane_look(2) is None, "and leave the lane")


def cancelling():
    began = threading.Event()
    with rota.Pool(threads=1) as pool:
        def until_stopped():
            began.set()
            while not pool.current().stopped():
                time.sleep(0.001)
        job = pool.submit([rota.Task(until_stopped)], client=1)
        began.wait(60)
        pool.cancel((job, 1))
        ok(pool.wait(job, 60) == (0, 0, 1, 0), "a function is told that it is cancelled")
        for _ in range(6):  # the earlier ones have ended
            for _ in range(50):
                pool.submit([rota.Task(time.time)], forget=True)
            pool.wait_all(60)
        ok(len(pool._works) < 300, "functions of forgotten jobs are released")


def queues():
    queue, got = rota.Queue(bound=2), []
    taker = threading.Thread(target=lambda: [got.append(queue.take()) for _ in range(20)])
    taker.start()
    for number in range(20):
        queue.put(number)
    taker.join()
    ok(got == list(range(20)), "a queue keeps the order")
    queue.end()
    try:
        queue.take()
        ok(False, "a queue ends")
    except LookupError:
        ok(queue.has_ended() and len(queue) == 0 and not queue.put(1), "a queue ends")
    queue.close()


def single_functions():
    seen = []
    with rota.Pool(tasks_max=2000) as pool:
        names = {pool.add(seen.append, number) for number in range(1000)}
        pool.wait_all(60)
        pool.check()
        ok(sorted(seen) == list(range(1000)) and len(names) == 1000, "single functions are added")
        ok(refused("too_many", pool.submit, [rota.Task(time.time)] * 2001), "there is a limit")
        failed = pool.submit([rota.Task(sys.exit, 0)])
        ok(pool.wait(failed, 60).failed == 1, "a function that exits has failed")


def misuse():
    pool, calls = rota.Pool(threads=1), []
    ok(refused("bad_event", pool.submit, [rota.Task(needs=[2 ** 32 + 1])])
       and refused("bad_event", pool.deliver, 1, (2 ** 32 + 1, 1))
       and refused("bad_event", pool.submit, [rota.Task(priority=2 ** 16)]),
       "numbers that are too large are not cut off")
    job = pool.submit([rota.Task(lambda: calls.append(pool.current())),
                       rota.Task(pool.close, needs=[1])])
    pool.wait(job, 60)
    ok(refused("not_now", calls[0].stopped), "a call ends with its function")
    ok(pool.errors[(job, 2)].name == "bad_event", "a function cannot close its pool")
    left = []
    waiter = threading.Thread(target=lambda: left.append(pool.fetch(1, timeout=None)))
    waiter.start()
    time.sleep(0.01)
    pool.close()
    waiter.join(60)
    ok(left in ([None], []) and not waiter.is_alive(), "closing releases waiting threads")
    pool.close()
    ok(refused("not_now", pool.submit, [rota.Task()]) and refused("not_now", pool.state, (1, 1)),
       "a closed pool refuses")
    queue = rota.Queue()
    queue.close()
    ok(refused("not_now", queue.put, 1) and refused("not_now", queue.take), "and a closed queue")
    dropped, ran = rota.Pool(), []
    dropped.submit([rota.Task(ran.append, [number]) for number in range(2000)])
    del dropped
    while len(ran) < 2000:
        gc.collect()
    ok(True, "a pool without references keeps running")


def interrupting():
    """Ctrl-C ends a program that waits forever, and a program with an open pool ends."""
    wait = ("import rota, sys\npool = rota.Pool(threads=0)\njob = pool.submit([rota.Task()])\n"
            "print('waits', flush=True)\npool.wait(job)")
    with subprocess.Popen([sys.executable, "-c", wait], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        program.stdout.readline()
        os.kill(program.pid, signal.SIGINT)
        try:
            told = program.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            program.kill()
            told = "it did not end"
    ok("KeyboardInterrupt" in told, "Ctrl-C reaches a waiting program")
    leave = ("import rota, time\npool = rota.Pool()\n"
             "pool.submit([rota.Task(time.sleep, 0.01)] * 50)\nprint('left')")
    done = subprocess.run([sys.executable, "-c", leave], check=False, text=True, timeout=60,
                          capture_output=True)
    ok((done.returncode, done.stdout, done.stderr) == (0, "left\n", ""), "Python ends, too")


for test in (graph, failure, handlers, lanes, cancelling, queues, single_functions, misuse,
             interrupting):
    test()
sys.exit(1 if failed else 0)
