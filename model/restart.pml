// restart.pml - a server that crashes and comes back while a worker keeps working.
//
// One task, one database file, so one epoch. The worker continues without answers, and keeps
// its result until the server has said that it is recorded. Nothing here depends on time: how long
// a worker may be away is the subject of lease.pml.

#ifndef step
#define step atomic  // or d_step, which is faster; but of that Spin cannot tell what never happens
#endif
#ifndef SERVER_CRASHES
#define SERVER_CRASHES 2
#endif
#ifndef WORKER_CRASHES
#define WORKER_CRASHES 1
#endif
#ifndef BREAKS
#define BREAKS 1
#endif
#define TOKENS (1 + SERVER_CRASHES + WORKER_CRASHES + BREAKS)

// The store.
byte token;
bool attempt_is_open;
byte attempt_connection;
bool recorded;

// The server.
bool server_is_up = true;
byte connected;           // the connection that said hello
byte planned;             // the attempt it wants to send
byte server_crashes_seen;

// The network. Messages of a connection can be read until the next hello.
byte start_token;
byte start_connection;
byte reported;            // the token of a result on its way

// The worker. Its spool is a file and survives it.
byte connection;
bool is_connected;
byte hello_lists;
byte running;
byte spooled;
byte seen;
byte runs;
byte worker_crashes_seen;
byte breaks_seen;

// The rules that an omission takes away, each with what is left without it.

#ifdef FORGET_TOKEN  // a restarted server takes what was running for lost
#define attempt_after_restart false
#else
#define attempt_after_restart attempt_is_open
#endif

#ifdef START_EARLY  // the message does not wait for the commit
#define may_send (planned != 0)
#else
#define may_send (planned != 0 && planned == token)
#endif

#ifdef ANY_CONNECTION  // a START is good on every connection
#define start_is_ours true
#else
#define start_is_ours (start_connection == connection)
#endif

#ifdef HELLO_WITHOUT_SPOOL  // hello lists processes only
#define listed running
#else
#define listed (running -> running : spooled)
#endif

#ifdef DROP_EARLY  // a result that was sent is a result that arrived
#define may_drop (reported == spooled)
#else
#ifdef ACK_EARLY  // the server acknowledges what it has not committed
#define may_drop (server_is_up && connected == connection && reported == spooled)
#else
#define may_drop (server_is_up && connected == connection && reported == spooled && \
                  !(attempt_is_open && token == spooled))
#endif
#endif

inline server_plans()
{
    step {
        server_is_up && connected && !attempt_is_open && !recorded && !planned && token < TOKENS ->
        printf("the server plans token %d\n", token + 1);
        planned = token + 1
    }
}

inline server_commits_the_attempt()
{
    step {
        planned > token ->
        printf("the server commits token %d\n", planned);
        token = planned;
        attempt_is_open = true;
        attempt_connection = connected
    }
}

inline server_sends_start()
{
    step {
        may_send && start_token < planned ->
        printf("the server sends START %d\n", planned);
        start_token = planned;
        start_connection = connected
    }
}

inline server_forgets_the_plan()
{
    step {
        planned && planned == token && start_token == planned ->
        planned = 0
    }
}

inline hello_arrives()
{
    step {
        server_is_up && is_connected && connected < connection ->
        printf("the server hears hello %d, token %d\n", connection, hello_lists);
        connected = connection;
        planned = 0;
        if
        :: attempt_is_open && hello_lists != token && attempt_connection < connection ->
            attempt_is_open = false
        :: else
        fi
    }
}

inline server_records()
{
    step {
        server_is_up && connected && reported && attempt_is_open && token == reported ->
        printf("the server records token %d\n", reported);
        assert(!recorded);
        recorded = true;
        attempt_is_open = false
    }
}

inline server_crashes()
{
    step {
        server_is_up && server_crashes_seen < SERVER_CRASHES ->
        printf("the server crashes\n");
        server_crashes_seen++;
        server_is_up = false;
        connected = 0;
        planned = 0;
        reported = 0;
        is_connected = false
    }
}

inline server_restarts()
{
    step {
        !server_is_up ->
        printf("the server restarts\n");
        server_is_up = true;
        attempt_is_open = attempt_after_restart
    }
}

inline connection_breaks()
{
    step {
        is_connected && breaks_seen < BREAKS ->
        printf("the connection breaks\n");
        breaks_seen++;
        is_connected = false
    }
}

inline worker_connects()
{
    step {
        server_is_up && !is_connected ->
        connection++;
        printf("the worker opens connection %d\n", connection);
        is_connected = true;
        reported = 0;
        hello_lists = listed
    }
}

// The worker accepts a START that it has read even if the connection has broken since, but not if
// it has opened another connection: then its hello has said that it does not have it.
inline start_arrives()
{
    step {
        start_token > seen && start_is_ours ->
        printf("the worker runs token %d\n", start_token);
        assert(runs <= worker_crashes_seen);
        runs++;
        seen = start_token;
        running = start_token
    }
}

inline worker_finishes()
{
    step {
        running && !spooled ->
        printf("the worker keeps the result of token %d\n", running);
        spooled = running;
        running = 0
    }
}

inline worker_reports()
{
    step {
        spooled && is_connected && reported != spooled ->
        printf("the worker reports token %d\n", spooled);
        reported = spooled
    }
}

inline worker_drops()
{
    step {
        spooled && may_drop ->
        printf("the worker forgets the result of token %d\n", spooled);
        assert(!(attempt_is_open && token == spooled));
        spooled = 0
    }
}

// Its processes die with it, and the next one says hello when they are gone. Nothing that was
// sent to the old one reaches the new one, so the connection has ended for both.
inline worker_crashes()
{
    step {
        worker_crashes_seen < WORKER_CRASHES ->
        printf("the worker crashes\n");
        worker_crashes_seen++;
        running = 0;
        is_connected = false;
        connection++
    }
}

// It ends when the result is recorded and no process keeps it any more. Spin reports any other
// state in which nothing can happen: a task that is forgotten.
active proctype world()
{
    do
    :: server_plans()
    :: server_commits_the_attempt()
    :: server_sends_start()
    :: server_forgets_the_plan()
    :: hello_arrives()
    :: server_records()
    :: server_crashes()
    :: server_restarts()
    :: connection_breaks()
    :: worker_connects()
    :: start_arrives()
    :: worker_finishes()
    :: worker_reports()
    :: worker_drops()
    :: worker_crashes()
    :: recorded && !spooled && !running -> break
    od
}
