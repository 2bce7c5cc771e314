"""stalls - notices when a busy machine let no process run, so that a late one has an excuse."""
import os
import threading
import time

TICK = 0.02


class Stalls:
    """While it is entered, a thread for each processor measures how late it wakes up."""

    def __init__(self):
        self.longest, self.ended = 0, threading.Event()
        self.threads = [threading.Thread(target=self.tick, args=(processor,))
                        for processor in os.sched_getaffinity(0)]

    def tick(self, processor):
        os.sched_setaffinity(0, {processor})
        before = time.monotonic()
        while not self.ended.is_set():
            time.sleep(TICK)
            now = time.monotonic()
            self.longest, before = max(self.longest, now - before - TICK), now

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def unless_stalled(enough, stall, attempt, tries=5):
    """The time an attempt took. A late one is only repeated if a processor stalled meanwhile."""
    for _ in range(tries):
        with Stalls() as stalls:
            took = attempt()
        if took < enough or stalls.longest < stall:
            break
        print(f"# {took:.2f} s, but a processor stalled for {stalls.longest:.2f} s", flush=True)
    return took
