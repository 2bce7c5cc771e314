// lease.pml - an exclusive group, its worker, a rival, and two leaders that both believe to lead.
//
// One process makes one step at a time: each option of the loop at the end is something that can
// happen, and Spin tries all orders. The network is a set that nothing leaves. A message may be
// taken out at any later moment, as often as it likes, in any order; one that never is was lost.
//
// The rest follows and needs no state of its own. A worker sends heartbeats all the time, so
// for each tick there is one on its way. Of the acknowledgements only the newest is kept: an older
// one leaves the worker a shorter lease, and a process may end early anyway. Neither knows of
// connections, which gives the network more freedom than TCP has.
//
// Each omission below takes a rule away; ./check knows what must come of it.

#ifndef step
#define step atomic  // or d_step, which is faster; but of that Spin cannot tell what never happens
#endif
#ifndef LEASE
#define LEASE 2  // what the leader waits, in ticks, from the arrival of a heartbeat
#endif
#ifndef TICKS
#define TICKS 5
#endif
#ifndef TOKENS
#define TOKENS 2
#endif
#ifndef CONNECTIONS
#define CONNECTIONS 2
#endif

// The tick between the two leases is for the watchdog to wake up and the kernel to kill.
#ifdef EQUAL_LEASE
#define WORKER_LEASE LEASE
#else
#define WORKER_LEASE (LEASE - 1)
#endif

#define larger(a, b) ((a) > (b) -> (a) : (b))

#define NOBODY 0
#define WORKER 1
#define RIVAL 2

byte now = 1;  // true time; there is no moment 0, so 0 is "never"

// The store. The holder has the newest token.
byte epoch = 1;
byte holder = NOBODY;
byte token;
byte attempt_connection;  // the connection the newest START was committed for
byte task = 1;            // what the next attempt is for: again the same unless it was recorded
byte task_of[TOKENS + 1];
bool recorded[TOKENS + 2];

// The memory of each leader, by its epoch.
byte newest[3];           // the newest time in a heartbeat that arrived
byte arrival[3] = 1;      // when the last heartbeat arrived
byte connected[3];        // the newest connection that said hello

// The network. Reports are in the worker's spool too, which survives it.
byte acknowledged;        // the newest time in an acknowledgement
byte start_stamp[TOKENS + 1];
byte start_connection[TOKENS + 1];
byte start_leader[TOKENS + 1];
bool finished[TOKENS + 1];
bool stopped[TOKENS + 1];  // killed by the watchdog, or refused
byte hello_lists[CONNECTIONS + 1];

// The worker.
byte connection = 1;
byte running;              // the token of its process
byte lease;                // the watchdog kills at this time
byte seen;                 // the newest START it has answered to

byte rival_running;

// The rules that an omission takes away, each with what is left without it.

#ifdef RECORD_ONLY  // processes may meet; then a worker kills the older one of its own first
#define assert_process(condition) skip
#else
#define assert_process(condition) assert(condition)
#endif

// With STOPS a signal or a debugger may stop the agent, or the process that runs commands. Each of
// them has a watchdog for both, and what is stopped can still be killed.
#ifdef STOPS
bool agent_is_stopped, child_is_stopped;
#endif
#if !defined(STOPS)
#define watchdog_can_act true
#elif defined(FENCE_IN_AGENT)  // the agent alone watches
#define watchdog_can_act (!agent_is_stopped)
#elif defined(FENCE_IN_CHILD)  // the process that runs commands does
#define watchdog_can_act (!child_is_stopped)
#else
#define watchdog_can_act (!agent_is_stopped || !child_is_stopped)
#endif
#ifdef BOTH_STOPPED
#define may_stop(other) true
#else
#define may_stop(other) (!other)
#endif

#ifdef PAUSE  // the watchdog may sleep through its deadline
#define watchdog_is_in_time true
#else
#define watchdog_is_in_time (!running || now < lease || !watchdog_can_act)
#endif

#ifdef UNFENCED_WRITE  // a deposed leader writes
#define may_write(leader) (leader <= epoch)
#else
#define may_write(leader) (leader == epoch)
#endif

#ifdef UNFENCED_RENEW  // a deposed leader acknowledges
#define may_renew(leader) (leader <= epoch)
#else
#define may_renew(leader) (leader == epoch)
#endif

// A deposed leader still runs and believes to be the leader. Its state matters only if a rule that
// asks the store is left out; otherwise it would only multiply the states.
#if defined(UNFENCED_RENEW) || defined(UNFENCED_WRITE) || defined(LATE_STAMP)
#define listens(leader) (leader <= epoch)
#define known_by_deposed(what) what
#else
#define listens(leader) (leader == epoch)
#define known_by_deposed(what) 0
#endif

#if defined(NO_GRACE)  // a worker that the new leader has not heard counts as silent forever
#define heard_at_take_over 0
#elif defined(EARLY_GRACE)  // it read the clock before its take-over was committed
#define heard_at_take_over (now - 1)
#elif defined(KEPT_LEASE)  // it continues with a silence that the old leader has recorded
#define heard_at_take_over (silent_since -> silent_since : now)
#else
#define heard_at_take_over now
#endif

#ifdef ACK_TIME  // the worker counts from the arrival of the acknowledgement
#define renewed_until (now + WORKER_LEASE)
#else
#define renewed_until (acknowledged + WORKER_LEASE)
#endif

#ifdef STALE_START  // a START never expires
#define start_is_late(number) false
#else
#define start_is_late(number) (now >= start_stamp[number] + WORKER_LEASE)
#endif

#ifdef ANY_CONNECTION  // and on every connection
#define start_is_ours(number) true
#else
#define start_is_ours(number) (start_connection[number] == connection)
#endif

#ifdef FORGET_START  // a second copy of a START is a second START
#define start_is_new(number) (running != number)
#define copies_of(stamp) stamp
#else
#define start_is_new(number) (seen < number)
#define copies_of(stamp) 0  // they would be ignored
#endif

#ifdef HELLO_ANY  // what a hello does not list is gone, whenever it was committed
#define hello_is_about_attempt(number) true
#else
#define hello_is_about_attempt(number) (attempt_connection < number)
#endif

#ifdef NO_TOKEN  // a report is believed without looking
#define report_is_current(number) true
#else
#define report_is_current(number) (holder != NOBODY && token == number)
#endif

// The process must be gone one tick after the lease: that is A-TIME, and a pause breaks it.
inline time_passes()
{
    step {
        now < TICKS && watchdog_is_in_time ->
        printf("%d: a tick passes\n", now);
        now++
    }
}

// Only the new leader knows of it, and all its state is in the store.
inline leader_takes_over()
{
    step {
        epoch == 1 ->
        printf("%d: leader 2 takes over\n", now);
        epoch = 2;
        arrival[2] = heard_at_take_over;
        newest[1] = known_by_deposed(newest[1]);
        arrival[1] = known_by_deposed(arrival[1]);
        connected[1] = known_by_deposed(connected[1])
    }
}

// A heartbeat that took longer than a lease says no more than one that took as long.
inline heartbeat_arrives(leader, late)
{
    step {
        listens(leader) && now > late && (arrival[leader] < now || newest[leader] < now - late) ->
        printf("%d: leader %d hears the heartbeat of %d\n", now, leader, now - late);
        newest[leader] = larger(newest[leader], now - late);
        arrival[leader] = now
    }
}

// The store is asked for the epoch after the arrival. Later delays count as delays of the network.
inline leader_acknowledges(leader)
{
    step {
        may_renew(leader) && newest[leader] > acknowledged ->
        printf("%d: leader %d acknowledges %d\n", now, leader, newest[leader]);
        acknowledged = newest[leader]
    }
}

// Hello lists the attempts that the worker runs or has in its spool. An attempt that is not listed
// and was committed for an earlier connection will never start. One of this connection may be on
// its way, and one of a later connection does not concern this hello.
inline hello_arrives(leader, number)
{
    step {
        listens(leader) && number <= connection && number > connected[leader] ->
        printf("%d: leader %d hears hello %d\n", now, leader, number);
        connected[leader] = number;
        if
        :: may_write(leader) && holder == WORKER && hello_lists[number] != token &&
           hello_is_about_attempt(number) ->
            holder = NOBODY
        :: else
        fi
    }
}

inline leader_expires(leader)
{
    step {
        may_write(leader) && holder == WORKER && now >= arrival[leader] + LEASE ->
        printf("%d: leader %d ends the lease of token %d\n", now, leader, token);
        holder = NOBODY
    }
}

inline leader_assigns_rival(leader)
{
    step {
        may_write(leader) && holder == NOBODY && token < TOKENS ->
        printf("%d: leader %d lets the rival run token %d\n", now, leader, token + 1);
        token++;
        task_of[token] = task;
        holder = RIVAL;
        assert_process(!running && !rival_running);
        rival_running = token
    }
}

// Stamp and connection are those known before the commit. Sending later is delay of the network.
inline leader_assigns_worker(leader)
{
    step {
        may_write(leader) && holder == NOBODY && token < TOKENS &&
        connected[leader] && newest[leader] ->
        printf("%d: leader %d commits START %d of %d\n", now, leader, token + 1, newest[leader]);
        token++;
        task_of[token] = task;
        holder = WORKER;
        attempt_connection = connected[leader];
        start_connection[token] = connected[leader];
        start_leader[token] = leader;
        start_stamp[token] = newest[leader]
    }
}

#ifdef KEPT_LEASE
byte silent_since;  // in the store; that the worker was heard again is not written in time

inline leader_notes_silence()
{
    step {
        epoch == 1 && !silent_since && holder == WORKER && arrival[1] < now ->
        printf("%d: leader 1 writes that the worker is silent\n", now);
        silent_since = now
    }
}
#endif

#ifdef LATE_STAMP
// The START leaves with what its leader knows by then.
inline start_is_stamped(number)
{
    step {
        start_stamp[number] && start_stamp[number] < newest[start_leader[number]] &&
        holder == WORKER && token == number ->
        printf("%d: START %d is stamped %d\n", now, number, newest[start_leader[number]]);
        start_stamp[number] = newest[start_leader[number]]
    }
}
#endif

// The compare-and-set.
inline leader_records(leader, number)
{
    step {
        may_write(leader) && finished[number] && report_is_current(number) ->
        printf("%d: leader %d records token %d\n", now, leader, number);
        assert(!recorded[task_of[number]]);
        recorded[task_of[number]] = true;
        holder = NOBODY;
        task++
    }
}

inline leader_frees(leader, number)
{
    step {
        may_write(leader) && stopped[number] && holder == WORKER && token == number ->
        printf("%d: leader %d hears that token %d has stopped\n", now, leader, number);
        holder = NOBODY
    }
}

inline acknowledgement_arrives()
{
    step {
        acknowledged && lease < renewed_until ->
        printf("%d: the worker may run until %d\n", now, renewed_until);
        lease = renewed_until
    }
}

// A START is answered once: it runs, or is refused. One of an earlier connection is not
// even refused, since its process may be running.
inline start_arrives(number)
{
    step {
        start_stamp[number] && start_is_ours(number) && start_is_new(number) ->
        printf("%d: the worker gets START %d of %d\n", now, number, start_stamp[number]);
        seen = larger(seen, number);
        if
        :: start_is_late(number) -> stopped[number] = true
        :: else ->
            assert_process(!running && !rival_running);
            running = number;
            lease = larger(lease, start_stamp[number] + WORKER_LEASE)
        fi;
        start_stamp[number] = copies_of(start_stamp[number])
    }
}

inline worker_finishes()
{
    step {
        running ->
        printf("%d: the worker finishes token %d\n", now, running);
        finished[running] = true;
        running = 0
    }
}

inline watchdog_kills()
{
    step {
        running && now >= lease && watchdog_can_act ->
        printf("%d: the watchdog kills token %d\n", now, running);
        stopped[running] = true;
        running = 0
    }
}

#ifdef STOPS
inline stops_or_goes_on(part, other)
{
    step {
        part || may_stop(other) ->
        printf("%d: the agent or its child is stopped, or continues\n", now);
        part = !part
    }
}
#endif

inline worker_connects()
{
    step {
        connection < CONNECTIONS ->
        printf("%d: the worker connects again\n", now);
        connection++;
        hello_lists[connection] = (running || finished[seen] || stopped[seen] -> seen : 0)
    }
}

// The kernel takes the processes along, and the next worker says hello when they are gone.
inline worker_crashes()
{
    step {
        connection < CONNECTIONS ->
        printf("%d: the worker crashes, and the next connects\n", now);
        running = 0;
        lease = 0;
        connection++;
        hello_lists[connection] = (finished[seen] || stopped[seen] -> seen : 0)
    }
}

inline rival_finishes()
{
    step {
        rival_running ->
        printf("%d: the rival finishes token %d\n", now, rival_running);
        finished[rival_running] = true;
        rival_running = 0
    }
}

active proctype world()
{
    do
    :: time_passes()
    :: leader_takes_over()

    :: heartbeat_arrives(1, 0)
    :: heartbeat_arrives(1, 1)
    :: heartbeat_arrives(1, LEASE)
    :: heartbeat_arrives(2, 0)
    :: heartbeat_arrives(2, 1)
    :: heartbeat_arrives(2, LEASE)
#if LEASE > 2
    :: heartbeat_arrives(1, 2)
    :: heartbeat_arrives(2, 2)
#endif
    :: leader_acknowledges(1)
    :: leader_acknowledges(2)
    :: acknowledgement_arrives()

#ifndef CONFIRMED  // the mode in which only evidence frees a group, never time
    :: leader_expires(1)
    :: leader_expires(2)
#endif
    :: leader_assigns_worker(1)
    :: leader_assigns_worker(2)
    :: leader_assigns_rival(1)
    :: leader_assigns_rival(2)
#ifdef KEPT_LEASE
    :: leader_notes_silence()
#endif
#ifdef LATE_STAMP
    :: start_is_stamped(1)
#endif

    :: hello_arrives(1, 1)
    :: hello_arrives(2, 1)
#if CONNECTIONS > 1
    :: hello_arrives(1, 2)
    :: hello_arrives(2, 2)
#endif
#if CONNECTIONS > 2
    :: hello_arrives(1, 3)
    :: hello_arrives(2, 3)
#endif

    :: start_arrives(1)
    :: leader_records(1, 1)
    :: leader_records(2, 1)
    :: leader_frees(1, 1)
    :: leader_frees(2, 1)
#if TOKENS > 1
    :: start_arrives(2)
    :: leader_records(1, 2)
    :: leader_records(2, 2)
    :: leader_frees(1, 2)
    :: leader_frees(2, 2)
#endif
#if TOKENS > 2
    :: start_arrives(3)
    :: leader_records(1, 3)
    :: leader_records(2, 3)
    :: leader_frees(1, 3)
    :: leader_frees(2, 3)
#endif

    :: worker_finishes()
    :: watchdog_kills()
#ifdef STOPS
    :: stops_or_goes_on(agent_is_stopped, child_is_stopped)
    :: stops_or_goes_on(child_is_stopped, agent_is_stopped)
#endif
    :: worker_connects()
    :: worker_crashes()
    :: rival_finishes()
    od
}
