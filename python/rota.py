"""rota - tasks, needs and lanes inside a Python program, through librota.

    import rota

    with rota.Pool(threads=2) as pool:
        job = pool.submit([rota.Task(read, "a"), rota.Task(read, "b"),
                           rota.Task(join, needs=[1, 2])])
        pool.wait(job)

Tasks count from 1 in the order in which they are submitted, and are named (job, number). A task
whose function returns is delivered; one whose function raises has failed, and `pool.errors` has
the exception. A task without a function is for handlers, which fetch and deliver it. Times are
seconds; None waits forever. A refused call raises rota.Error and has changed nothing.

One file and nothing but the standard library: copy it, or add its folder to PYTHONPATH. The library
is the one of ROTA_LIBRARY, else the one pkg-config knows, else the one the system finds.
"""
import atexit
import ctypes
import ctypes.util
import itertools
import os
import subprocess
import threading
import time
import weakref
from collections import namedtuple

READ, WRITE = 1, 2                  # how a task uses its lane
STRICT, SUBMIT_ORDER = 1, 2         # flags of a lane
FINISH, STOP = 0, 1                 # how a pool is shut
OUTCOMES = ("none", "ok", "failed", "error", "aborted", "lost")

_NO_MEMORY, _NOT_NOW = 1, 5
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
    """A function and its dependencies. `needs` are numbers of tasks in the job."""

    def __init__(self, function=None, *arguments, needs=(), lane=0, group=0, access=0, priority=0,
                 bundle=0, retries=0, is_bundle=False):
        self.function, self.arguments, self.needs = function, arguments, tuple(needs)
        self.lane, self.group, self.access, self.priority = lane, group, access, priority
        self.bundle, self.retries, self.is_bundle = bundle, retries, is_bundle


class Call:
    """A function's task while it runs, as returned by pool.current()."""

    def __init__(self, library, handle):
        self._library, self._handle = library, handle
        self.task = _pair(library.rota_pool_call_task(handle))
        self.thread = library.rota_pool_call_thread(handle)

    def stopped(self):
        return self._library.rota_pool_call_stopped(_opened(self._handle, "the call has ended"))

    def started(self):
        """In a strict lane: the next one may start."""
        self._library.rota_pool_call_started(_opened(self._handle, "the call has ended"))


# ---- The library ------------------------------------------------------------------------------


def _structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": fields})


_number, _pointer = ctypes.c_uint32, ctypes.c_void_p
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer)
_TaskId = _structure("_TaskId", ("job", _number), ("task", _number))
_JobId = _structure("_JobId", ("number", _number))
_Config = _structure("_Config", ("threads", _number), ("tasks_max", _number),
                     ("resize", _pointer), ("resize_context", _pointer))
_PoolTask = _structure("_PoolTask", ("function", _pointer), ("argument", _pointer),
                       ("bundle", _number), ("lane", _number), ("group", _number),
                       ("retries_max", _number), ("flags", _number),
                       ("priority", ctypes.c_int16), ("access", ctypes.c_uint8))
_PoolJob = _structure("_PoolJob", ("job", _JobId), ("client", ctypes.c_uint64),
                      ("flags", _number), ("task_count", _number), ("function", _pointer),
                      ("argument", _pointer), ("tasks", ctypes.POINTER(_PoolTask)),
                      ("need_first", ctypes.POINTER(_number)), ("needs", ctypes.POINTER(_number)))
_Sum = _structure("_Sum", *((name, _number) for name in Sum._fields))
_Confirmation = _structure("_Confirmation", ("task", _TaskId), ("outcome", ctypes.c_int),
                           ("status", ctypes.c_int32))
_Grant = _structure("_Grant", ("task", _TaskId), ("attempt", _number), ("function", _pointer),
                    ("argument", _pointer))
_Blocked = _structure("_Blocked", ("task", _TaskId), ("blocker", _TaskId))
_Snapshot = _structure("_Snapshot", ("available", ctypes.POINTER(_TaskId)),
                       ("blocked", ctypes.POINTER(_Blocked)), ("available_count", _number),
                       ("blocked_count", _number))


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
    error, number, pointer, task = ctypes.c_int, _number, _pointer, _TaskId
    time_span, id_64 = ctypes.c_int64, ctypes.c_uint64
    for names, result, *arguments in (
            ("rota_error_name rota_task_state_name", ctypes.c_char_p, ctypes.c_int),
            ("rota_pool_config_default", _Config),
            ("rota_pool_open rota_pool_look", error, pointer, pointer),
            ("rota_pool_shut", error, pointer, ctypes.c_int, time_span),
            ("rota_pool_close rota_pool_check rota_pool_snapshot_release rota_pool_call_started"
             " rota_queue_close rota_queue_end", None, pointer),
            ("rota_pool_reason", ctypes.c_char_p, pointer),
            ("rota_pool_submit", error, pointer, pointer, pointer),
            ("rota_pool_add", error, pointer, pointer, pointer, pointer),
            ("rota_pool_lane", error, pointer, number, number),
            ("rota_pool_wait", error, pointer, _JobId, time_span, pointer),
            ("rota_pool_wait_all", error, pointer, time_span),
            ("rota_pool_confirmed", number, pointer, id_64, pointer, number, time_span),
            ("rota_pool_cancel rota_pool_retry rota_pool_state", error, pointer, task),
            ("rota_pool_forget", error, pointer, _JobId),
            ("rota_pool_fetch", error, pointer, id_64, task, number, time_span, pointer),
            ("rota_pool_started", error, pointer, id_64, task),
            ("rota_pool_deliver", error, pointer, id_64, task, number),
            ("rota_pool_fail", error, pointer, id_64, task, number, ctypes.c_int32),
            ("rota_pool_lost", number, pointer, id_64),
            ("rota_pool_is_stopping", ctypes.c_bool, pointer, task),
            ("rota_pool_lane_look", ctypes.c_bool, pointer, number, pointer, pointer, number,
             pointer),
            ("rota_pool_call_task", task, pointer),
            ("rota_pool_call_thread rota_queue_count", number, pointer),
            ("rota_pool_call_stopped rota_queue_has_ended", ctypes.c_bool, pointer),
            ("rota_queue_open", error, number, pointer),
            ("rota_queue_put rota_queue_take", error, pointer, pointer, time_span)):
        for name in names.split():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    return library


def _pair(task):
    return (task.job, task.task)


def _opened(handle, reason):
    """A closed handle is never passed to the library."""
    if not handle:
        raise Error("not_now", reason)
    return handle


def _fits(number, bits=32):
    """ctypes would truncate a number that does not fit, without an error."""
    if not 0 <= number < 2 ** bits:
        raise Error("bad_event", f"{number} is not a number of {bits} bits")
    return number


def _name(task):
    return _TaskId(*map(_fits, task)) if task else _TaskId(0, 0)


def _patiently(call, timeout, nothing=_NOT_NOW):
    """Waits half a second at most, again and again: between two calls Python sees Ctrl-C."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        began = time.monotonic()
        some = 0.5 if end is None else min(0.5, end - began)
        result = call(max(0, int(some * 1e6)))
        if result != nothing or some < 0.5 or time.monotonic() - began < 0.4:  # refused at once
            return result


# ---- The pool ---------------------------------------------------------------------------------


class Pool:
    """Threads that run functions, and tasks that handlers fetch."""

    def __init__(self, threads=2, tasks_max=None):
        self._library, self._opened = _load(), None
        self._works, self._numbers, self._lock = {}, itertools.count(1), threading.Lock()
        self._by_job, self._local = {}, threading.local()
        self._leaving, self._leaving_most = set(), 64
        self._door, self._inside = threading.Condition(), 0
        self.errors = {}
        self._trampoline = _FUNCTION(self._run)
        config, handle = self._library.rota_pool_config_default(), ctypes.c_void_p()
        config.threads = _fits(threads)
        config.tasks_max = config.tasks_max if tasks_max is None else _fits(tasks_max)
        error = self._library.rota_pool_open(ctypes.byref(config), ctypes.byref(handle))
        if error:
            raise Error(self._library.rota_error_name(error).decode(), "the pool is not opened")
        self._opened = handle
        atexit.register(self.close)  # and so it stays as long as its threads may call it

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.shut(FINISH)
        self.close()

    def _ask(self, name, *arguments):
        """Calls the library; the pool is not closed before all calls returned."""
        with self._door:
            handle = _opened(self._opened, "the pool is closed")
            self._inside += 1
        try:
            return getattr(self._library, name)(handle, *arguments)
        finally:
            with self._door:
                self._inside -= 1
                self._door.notify_all()

    def _check(self, error):
        if error:
            reason = self._ask("rota_pool_reason").decode()
            raise Error(self._library.rota_error_name(error).decode(), reason)

    def _run(self, argument, handle):
        """Called by a thread of the pool."""
        call = self._local.call = Call(self._library, handle)
        try:
            function, arguments = self._works[argument]
            function(*arguments)
            self.errors.pop(call.task, None)  # of an attempt before
            return 0
        except BaseException as error:  # any exception, also exit(): the task has failed with it
            self.errors[call.task] = error
            return 1
        finally:
            self._local.call = call._handle = None

    def current(self):
        """The task that this thread runs, as a Call; None outside functions."""
        return getattr(self._local, "call", None)

    def close(self):
        """Stops running functions, cancels the other tasks, and waits for them."""
        if self.current():
            raise Error("bad_event", "a function of the pool cannot close it")
        with self._door:
            handle, self._opened = self._opened, None
        if not handle:
            return
        self._library.rota_pool_shut(handle, STOP, 2 ** 63 - 1)  # releases all waiting threads
        with self._door:
            self._door.wait_for(lambda: not self._inside)
        self._library.rota_pool_close(handle)
        self._works.clear()
        atexit.unregister(self.close)

    def shut(self, ending=FINISH, timeout=None):
        self._check(_patiently(lambda some: self._ask("rota_pool_shut", ending, some), timeout))

    # ---- Clients

    def lane(self, lane, flags=0):
        self._check(self._ask("rota_pool_lane", _fits(lane), flags))

    def _keep(self, function, arguments):
        number = next(self._numbers)
        self._works[number] = (function, arguments)
        return number

    def _kept(self, error, job, numbers):
        """The functions belong to the job; if it was refused they are dropped."""
        with self._lock:
            if error:
                for number in numbers:
                    del self._works[number]
            else:
                self._by_job.setdefault(job, []).extend(numbers)
        self._check(error)

    def _let_go(self, job):
        """Drops the functions of jobs that the pool has forgotten, many at a time."""
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
            row.bundle, row.lane = _fits(task.bundle), _fits(task.lane)
            row.group, row.retries_max = _fits(task.group), _fits(task.retries)
            row.access = _fits(task.access, 8)
            row.priority = _fits(task.priority + 2 ** 15, 16) - 2 ** 15
            row.flags = _BUNDLE if task.is_bundle else 0
        spec = _PoolJob(_JobId(_fits(job)), _fits(client, 64), open * _OPEN | forget * _FORGET,
                        len(tasks))
        spec.tasks = rows
        spec.need_first = (ctypes.c_uint32 * len(first))(*first)
        spec.needs = (ctypes.c_uint32 * max(1, len(needs)))(*map(_fits, needs))
        given = _TaskId()
        for row, task in zip(rows, tasks):
            if task.function:
                kept.append(self._keep(task.function, task.arguments))
                row.function = ctypes.cast(self._trampoline, ctypes.c_void_p)
                row.argument = kept[-1]
        error = self._ask("rota_pool_submit", ctypes.byref(spec), ctypes.byref(given))
        self._kept(error, given.job, kept)
        if forget:
            self._let_go(given.job)
        return given.job

    def add(self, function, *arguments):
        """One function, without dependencies, forgotten when it has ended. Returns its task."""
        given, number = _TaskId(), self._keep(function, arguments)
        error = self._ask("rota_pool_add", ctypes.cast(self._trampoline, ctypes.c_void_p), number,
                          ctypes.byref(given))
        self._kept(error, given.job, [number])
        self._let_go(given.job)
        return _pair(given)

    def wait(self, job, timeout=None):
        total, number = _Sum(), _JobId(_fits(job))
        self._check(_patiently(
            lambda some: self._ask("rota_pool_wait", number, some, ctypes.byref(total)), timeout))
        return Sum(*(getattr(total, name) for name in Sum._fields))

    def wait_all(self, timeout=None):
        self._check(_patiently(lambda some: self._ask("rota_pool_wait_all", some), timeout))

    def confirmed(self, client, most=64, timeout=0):
        """Confirmations of a client, in order; waits for the first."""
        client, some = _fits(client, 64), (_Confirmation * most)()
        count = _patiently(
            lambda wait: self._ask("rota_pool_confirmed", client, some, most, wait), timeout,
            nothing=0)
        return [Confirmation(_pair(one.task), OUTCOMES[one.outcome], one.status)
                for one in some[:count]]

    def cancel(self, task):
        self._check(self._ask("rota_pool_cancel", _name(task)))

    def retry(self, task):
        self._check(self._ask("rota_pool_retry", _name(task)))

    def forget(self, job):
        self._check(self._ask("rota_pool_forget", _JobId(_fits(job))))
        self._let_go(job)

    # ---- Handlers

    def fetch(self, handler, task=None, fetched_ok=False, failed_ok=False, timeout=0):
        """A Grant, or None when any task was wanted and none became available in time."""
        grant, flags = _Grant(), fetched_ok * _FETCHED_OK | failed_ok * _FAILED_OK
        handler, name = _fits(handler, 64), _name(task)
        error = _patiently(
            lambda some: self._ask("rota_pool_fetch", handler, name, flags, some,
                                   ctypes.byref(grant)), timeout)
        if error == _NOT_NOW and not (task and task[1]):
            return None
        self._check(error)
        work = self._works.get(grant.argument) if grant.function else None
        return Grant(_pair(grant.task), grant.attempt, work)

    def started(self, handler, task):
        self._check(self._ask("rota_pool_started", _fits(handler, 64), _name(task)))

    def deliver(self, handler, task, delivered_ok=False, nofetch_ok=False):
        flags = delivered_ok * _DELIVERED_OK | nofetch_ok * _NOFETCH_OK
        self._check(self._ask("rota_pool_deliver", _fits(handler, 64), _name(task), flags))

    def fail(self, handler, task, status=1, nofetch_ok=False):
        self._check(self._ask("rota_pool_fail", _fits(handler, 64), _name(task),
                                                 nofetch_ok * _NOFETCH_OK, status))

    def lost(self, handler):
        return self._ask("rota_pool_lost", _fits(handler, 64))

    # ---- Queries

    def state(self, task):
        state = self._ask("rota_pool_state", _name(task))
        return self._library.rota_task_state_name(state).decode().lower()

    def is_stopping(self, task):
        return self._ask("rota_pool_is_stopping", _name(task))

    def look(self):
        """A snapshot: the set of available tasks, and blocked ones with the set of blockers."""
        moment = _Snapshot()
        self._check(self._ask("rota_pool_look", ctypes.byref(moment)))
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
        if not self._ask("rota_pool_lane_look", _fits(lane), ctypes.byref(counter), groups,
                                                 most, ctypes.byref(count)):
            return None
        return Lane(counter.value, set(groups[:min(count.value, most)]))

    def check(self):
        """Stops the program on a broken invariant."""
        self._ask("rota_pool_check")


class Queue:
    """A queue shared by threads. Items are any objects."""

    def __init__(self, bound=0):
        self._library, self._items, self._numbers = _load(), {}, itertools.count(1)
        handle = ctypes.c_void_p()
        if self._library.rota_queue_open(_fits(bound), ctypes.byref(handle)):
            raise MemoryError
        self._opened = handle
        self._close = weakref.finalize(self, self._library.rota_queue_close, handle)

    @property
    def _handle(self):
        return _opened(self._opened, "the queue is closed")

    def put(self, item, timeout=None):
        """False: the queue was full for that time, or has ended."""
        handle, number = self._handle, next(self._numbers)
        self._items[number] = item
        error = _patiently(
            lambda some: self._library.rota_queue_put(handle, number, some), timeout)
        if error:
            del self._items[number]
        if error == _NO_MEMORY:
            raise MemoryError
        return not error

    def take(self, timeout=None):
        """Raises LookupError when the queue was empty for that time, or has ended."""
        number = ctypes.c_void_p()
        if _patiently(lambda some: self._library.rota_queue_take(
                self._handle, ctypes.byref(number), some), timeout):
            raise LookupError("the queue is empty")
        return self._items.pop(number.value)

    def end(self):
        self._library.rota_queue_end(self._handle)

    def has_ended(self):
        return self._library.rota_queue_has_ended(self._handle)

    def __len__(self):
        return self._library.rota_queue_count(self._handle)

    def close(self):
        """No thread may use it any more; remaining items are dropped."""
        self._opened = None
        self._close()
        self._items.clear()
