"""rota - tasks, needs and lanes inside a Python program, through librota.

    import rota

    with rota.Pool(threads=2) as pool:
        job = pool.submit([rota.Task(read, "a"), rota.Task(read, "b"),
                           rota.Task(join, needs=[1, 2])])
        pool.wait(job)

Tasks count from 1 in the order in which they are submitted, and are named (job, number). A task
whose function returns is delivered; one whose function raises has failed, and `pool.errors` has
the exception. A task without a function is for handlers, which fetch and deliver it. Times are
seconds; None is for ever. What is refused raises rota.Error and has changed nothing.

One file and nothing but the standard library: copy it, or add its folder to PYTHONPATH. The library
is the one of ROTA_LIBRARY, else the one pkg-config knows, else the one the system finds.
"""
import ctypes
import ctypes.util
import itertools
import os
import subprocess
import threading
from collections import namedtuple

READ, WRITE = 1, 2                  # how a task uses its lane
STRICT, SUBMIT_ORDER = 1, 2         # flags of a lane
FINISH, STOP = 0, 1                 # how a pool is shut
OUTCOMES = ("none", "ok", "failed", "error", "aborted", "lost")

_NOT_NOW = 5
_FETCHED_OK, _FAILED_OK, _DELIVERED_OK, _NOFETCH_OK = 1, 2, 4, 8
_OPEN, _FORGET, _BUNDLE = 1, 2, 1

Grant = namedtuple("Grant", "task attempt function")
Confirmation = namedtuple("Confirmation", "task outcome status")
Sum = namedtuple("Sum", "succeeded failed aborted left")
Lane = namedtuple("Lane", "counter groups")


class Error(RuntimeError):
    """A refusal; `name` is that of enum rota_error in small letters: "not_now"."""

    def __init__(self, name, reason):
        super().__init__(f"{name}: {reason}")
        self.name, self.reason = name, reason


class Task:
    """What is to be done, and what it waits for. `needs` are numbers of tasks in the job."""

    def __init__(self, function=None, *arguments, needs=(), lane=0, group=0, access=0, priority=0,
                 bundle=0, retries=0, is_bundle=False):
        self.function, self.arguments, self.needs = function, arguments, tuple(needs)
        self.lane, self.group, self.access, self.priority = lane, group, access, priority
        self.bundle, self.retries, self.is_bundle = bundle, retries, is_bundle


class Call:
    """A function's task while it runs: what pool.current() gives."""

    def __init__(self, library, handle):
        self._library, self._handle = library, handle
        self.task = _pair(library.rota_pool_call_task(handle))
        self.thread = library.rota_pool_call_thread(handle)

    def stopped(self):
        return self._library.rota_pool_call_stopped(self._handle)

    def started(self):
        """In a strict lane: the next one may start."""
        self._library.rota_pool_call_started(self._handle)


# ---- The library ------------------------------------------------------------------------------


class _TaskId(ctypes.Structure):
    _fields_ = [("job", ctypes.c_uint32), ("task", ctypes.c_uint32)]


class _JobId(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint32)]


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Config(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_uint32), ("tasks_max", ctypes.c_uint32),
                ("resize", ctypes.c_void_p), ("resize_context", ctypes.c_void_p)]


class _PoolTask(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("argument", ctypes.c_void_p),
                ("bundle", ctypes.c_uint32), ("lane", ctypes.c_uint32), ("group", ctypes.c_uint32),
                ("retries_max", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("priority", ctypes.c_int16), ("access", ctypes.c_uint8)]


class _PoolJob(ctypes.Structure):
    _fields_ = [("job", _JobId), ("client", ctypes.c_uint64), ("flags", ctypes.c_uint32),
                ("task_count", ctypes.c_uint32), ("function", ctypes.c_void_p),
                ("argument", ctypes.c_void_p), ("tasks", ctypes.POINTER(_PoolTask)),
                ("need_first", ctypes.POINTER(ctypes.c_uint32)),
                ("needs", ctypes.POINTER(ctypes.c_uint32))]


class _Sum(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in Sum._fields]


class _Confirmation(ctypes.Structure):
    _fields_ = [("task", _TaskId), ("outcome", ctypes.c_int), ("status", ctypes.c_int32)]


class _Grant(ctypes.Structure):
    _fields_ = [("task", _TaskId), ("attempt", ctypes.c_uint32), ("function", ctypes.c_void_p),
                ("argument", ctypes.c_void_p)]


class _Blocked(ctypes.Structure):
    _fields_ = [("task", _TaskId), ("blocker", _TaskId)]


class _Snapshot(ctypes.Structure):
    _fields_ = [("available", ctypes.POINTER(_TaskId)), ("blocked", ctypes.POINTER(_Blocked)),
                ("available_count", ctypes.c_uint32), ("blocked_count", ctypes.c_uint32)]


def _library_path():
    if os.environ.get("ROTA_LIBRARY"):
        return os.environ["ROTA_LIBRARY"]
    try:
        folder = subprocess.run(["pkg-config", "--variable=libdir", "rota"], check=True, text=True,
                                capture_output=True).stdout.strip()
        root = os.environ.get("PKG_CONFIG_SYSROOT_DIR", "")
        for prefix in (root, ""):
            path = os.path.join(prefix + folder, "librota.so.0")
            if os.path.exists(path):
                return path
    except (OSError, subprocess.CalledProcessError):
        pass
    return ctypes.util.find_library("rota") or "librota.so.0"


def _load():
    library = ctypes.CDLL(_library_path())
    pool, task, time = ctypes.c_void_p, _TaskId, ctypes.c_int64
    number, count, pointer = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
    for name, result, *arguments in (
            ("rota_error_name", ctypes.c_char_p, ctypes.c_int),
            ("rota_task_state_name", ctypes.c_char_p, ctypes.c_int),
            ("rota_pool_config_default", _Config),
            ("rota_pool_open", ctypes.c_int, pointer, pointer),
            ("rota_pool_shut", ctypes.c_int, pool, ctypes.c_int, time),
            ("rota_pool_close", None, pool),
            ("rota_pool_reason", ctypes.c_char_p, pool),
            ("rota_pool_submit", ctypes.c_int, pool, pointer, pointer),
            ("rota_pool_lane", ctypes.c_int, pool, count, count),
            ("rota_pool_wait", ctypes.c_int, pool, _JobId, time, pointer),
            ("rota_pool_wait_all", ctypes.c_int, pool, time),
            ("rota_pool_confirmed", count, pool, number, pointer, count, time),
            ("rota_pool_cancel", ctypes.c_int, pool, task),
            ("rota_pool_retry", ctypes.c_int, pool, task),
            ("rota_pool_forget", ctypes.c_int, pool, _JobId),
            ("rota_pool_fetch", ctypes.c_int, pool, number, task, count, time, pointer),
            ("rota_pool_started", ctypes.c_int, pool, number, task),
            ("rota_pool_deliver", ctypes.c_int, pool, number, task, count),
            ("rota_pool_fail", ctypes.c_int, pool, number, task, count, ctypes.c_int32),
            ("rota_pool_lost", count, pool, number),
            ("rota_pool_state", ctypes.c_int, pool, task),
            ("rota_pool_is_stopping", ctypes.c_bool, pool, task),
            ("rota_pool_look", ctypes.c_int, pool, pointer),
            ("rota_pool_snapshot_release", None, pointer),
            ("rota_pool_lane_look", ctypes.c_bool, pool, count, pointer, pointer, count, pointer),
            ("rota_pool_call_task", _TaskId, pointer),
            ("rota_pool_call_thread", count, pointer),
            ("rota_pool_call_stopped", ctypes.c_bool, pointer),
            ("rota_pool_call_started", None, pointer),
            ("rota_queue_open", ctypes.c_int, count, pointer),
            ("rota_queue_close", None, pointer),
            ("rota_queue_put", ctypes.c_int, pointer, pointer, time),
            ("rota_queue_take", ctypes.c_int, pointer, pointer, time),
            ("rota_queue_end", None, pointer),
            ("rota_queue_has_ended", ctypes.c_bool, pointer),
            ("rota_queue_count", count, pointer)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _pair(task):
    return (task.job, task.task)


def _name(task):
    return _TaskId(*task) if task else _TaskId(0, 0)


def _time(seconds):
    return 2 ** 63 - 1 if seconds is None else max(0, int(seconds * 1e6))


# ---- The pool ---------------------------------------------------------------------------------


class Pool:
    """Threads that run functions, and tasks that handlers fetch."""

    def __init__(self, threads=2):
        self._library = _load()
        self._works, self._numbers, self._lock = {}, itertools.count(1), threading.Lock()
        self._by_job, self._local = {}, threading.local()
        self._leaving, self._leaving_most = set(), 64
        self.errors = {}
        self._trampoline = _FUNCTION(self._run)
        config, handle = self._library.rota_pool_config_default(), ctypes.c_void_p()
        config.threads = threads
        self._handle = None
        self._check(self._library.rota_pool_open(ctypes.byref(config), ctypes.byref(handle)))
        self._handle = handle

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.shut(FINISH)
        self.close()

    def _check(self, error):
        if error:
            reason = self._library.rota_pool_reason(self._handle).decode() if self._handle else ""
            raise Error(self._library.rota_error_name(error).decode(), reason)

    def _run(self, argument, call):
        """Called by a thread of the pool."""
        self._local.call = Call(self._library, call)
        function, arguments = self._works[argument]
        try:
            function(*arguments)
            return 0
        except Exception as error:  # whatever it is, the task has failed with it
            self.errors[self._local.call.task] = error
            return 1
        finally:
            self._local.call = None

    def current(self):
        """The task that this thread runs, as a Call; None outside functions."""
        return getattr(self._local, "call", None)

    def close(self):
        """Stops what runs, cancels the rest, and waits for it."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.rota_pool_close(handle)
        self._works.clear()

    def shut(self, ending=FINISH, timeout=None):
        self._check(self._library.rota_pool_shut(self._handle, ending, _time(timeout)))

    # ---- Clients

    def lane(self, lane, flags=0):
        self._check(self._library.rota_pool_lane(self._handle, lane, flags))

    def _keep(self, task):
        with self._lock:
            number = next(self._numbers)
            self._works[number] = (task.function, task.arguments)
        return number

    def _let_go(self, job):
        """Forgets the functions of jobs that the pool has forgotten, many at a time."""
        with self._lock:
            self._leaving.add(job)
            if len(self._leaving) < self._leaving_most:
                return
            gone = {job for job in self._leaving if self.state((job, 1)) == "none"}
            for job in gone:
                for number in self._by_job.pop(job, ()):
                    del self._works[number]
            self._leaving -= gone
            self._leaving_most = 64 + 2 * len(self._leaving)

    def submit(self, tasks, client=0, job=0, open=False, forget=False):
        """Returns the number of the job. `job`: an open one that grows."""
        tasks, first, needs, kept = list(tasks), [0], [], []
        rows = (_PoolTask * max(1, len(tasks)))()
        for row, task in zip(rows, tasks):
            needs += task.needs
            first.append(len(needs))
            row.bundle, row.lane, row.group = task.bundle, task.lane, task.group
            row.retries_max, row.priority, row.access = task.retries, task.priority, task.access
            row.flags = _BUNDLE if task.is_bundle else 0
            if task.function:
                kept.append(self._keep(task))
                row.function = ctypes.cast(self._trampoline, ctypes.c_void_p)
                row.argument = kept[-1]
        spec = _PoolJob(_JobId(job), client, open * _OPEN | forget * _FORGET, len(tasks))
        spec.tasks = rows
        spec.need_first = (ctypes.c_uint32 * len(first))(*first)
        spec.needs = (ctypes.c_uint32 * max(1, len(needs)))(*needs)
        given = _TaskId()
        error = self._library.rota_pool_submit(self._handle, ctypes.byref(spec),
                                               ctypes.byref(given))
        with self._lock:
            if error:
                for number in kept:
                    del self._works[number]
            else:
                self._by_job.setdefault(given.job, []).extend(kept)
        self._check(error)
        if forget:
            self._let_go(given.job)
        return given.job

    def wait(self, job, timeout=None):
        total = _Sum()
        self._check(self._library.rota_pool_wait(self._handle, _JobId(job), _time(timeout),
                                                 ctypes.byref(total)))
        return Sum(*(getattr(total, name) for name in Sum._fields))

    def wait_all(self, timeout=None):
        self._check(self._library.rota_pool_wait_all(self._handle, _time(timeout)))

    def confirmed(self, client, most=64, timeout=0):
        """What a client was told, in order; waits for the first."""
        some = (_Confirmation * most)()
        count = self._library.rota_pool_confirmed(self._handle, client, some, most, _time(timeout))
        return [Confirmation(_pair(one.task), OUTCOMES[one.outcome], one.status)
                for one in some[:count]]

    def cancel(self, task):
        self._check(self._library.rota_pool_cancel(self._handle, _name(task)))

    def retry(self, task):
        self._check(self._library.rota_pool_retry(self._handle, _name(task)))

    def forget(self, job):
        self._check(self._library.rota_pool_forget(self._handle, _JobId(job)))
        self._let_go(job)

    # ---- Handlers

    def fetch(self, handler, task=None, fetched_ok=False, failed_ok=False, timeout=0):
        """A Grant, or None when any task would do and none came in that time."""
        grant, flags = _Grant(), fetched_ok * _FETCHED_OK | failed_ok * _FAILED_OK
        error = self._library.rota_pool_fetch(self._handle, handler, _name(task), flags,
                                              _time(timeout), ctypes.byref(grant))
        if error == _NOT_NOW and not (task and task[1]):
            return None
        self._check(error)
        work = self._works.get(grant.argument) if grant.function else None
        return Grant(_pair(grant.task), grant.attempt, work)

    def started(self, handler, task):
        self._check(self._library.rota_pool_started(self._handle, handler, _name(task)))

    def deliver(self, handler, task, delivered_ok=False, nofetch_ok=False):
        flags = delivered_ok * _DELIVERED_OK | nofetch_ok * _NOFETCH_OK
        self._check(self._library.rota_pool_deliver(self._handle, handler, _name(task), flags))

    def fail(self, handler, task, status=1, nofetch_ok=False):
        self._check(self._library.rota_pool_fail(self._handle, handler, _name(task),
                                                 nofetch_ok * _NOFETCH_OK, status))

    def lost(self, handler):
        return self._library.rota_pool_lost(self._handle, handler)

    # ---- Questions

    def state(self, task):
        state = self._library.rota_pool_state(self._handle, _name(task))
        return self._library.rota_task_state_name(state).decode().lower()

    def is_stopping(self, task):
        return self._library.rota_pool_is_stopping(self._handle, _name(task))

    def look(self):
        """One moment: the set of available tasks, and blocked ones with the set of blockers."""
        moment = _Snapshot()
        self._check(self._library.rota_pool_look(self._handle, ctypes.byref(moment)))
        available = {_pair(task) for task in moment.available[:moment.available_count]}
        blocked = {}
        for entry in moment.blocked[:moment.blocked_count]:
            blocked.setdefault(_pair(entry.task), set()).add(_pair(entry.blocker))
        self._library.rota_pool_snapshot_release(ctypes.byref(moment))
        return available, blocked

    @property
    def available(self):
        return self.look()[0]

    @property
    def blocked(self):
        return self.look()[1]

    def lane_look(self, lane, most=1024):
        counter, groups, count = ctypes.c_int32(), (ctypes.c_uint32 * most)(), ctypes.c_uint32()
        if not self._library.rota_pool_lane_look(self._handle, lane, ctypes.byref(counter), groups,
                                                 most, ctypes.byref(count)):
            return None
        return Lane(counter.value, set(groups[:min(count.value, most)]))


class Queue:
    """A queue that threads share. Items are any objects."""

    def __init__(self, bound=0):
        self._library, self._items, self._numbers = _load(), {}, itertools.count(1)
        self._handle = ctypes.c_void_p()
        if self._library.rota_queue_open(bound, ctypes.byref(self._handle)):
            raise MemoryError

    def put(self, item, timeout=None):
        """False: there was no room in that time, or the queue has ended."""
        number = next(self._numbers)
        self._items[number] = item
        if not self._library.rota_queue_put(self._handle, number, _time(timeout)):
            return True
        del self._items[number]
        return False

    def take(self, timeout=None):
        """Raises LookupError when there was nothing in that time, or the queue has ended."""
        number = ctypes.c_void_p()
        if self._library.rota_queue_take(self._handle, ctypes.byref(number), _time(timeout)):
            raise LookupError("the queue is empty")
        return self._items.pop(number.value)

    def end(self):
        self._library.rota_queue_end(self._handle)

    def has_ended(self):
        return self._library.rota_queue_has_ended(self._handle)

    def __len__(self):
        return self._library.rota_queue_count(self._handle)

    def close(self):
        self._library.rota_queue_close(self._handle)
        self._handle = None
