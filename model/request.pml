// request.pml - a request that may be repeated, and a commit with an unknown result.
//
// The client sends one request under one id until it is told that it is done. Copies of it stay in
// the network forever, and answers get lost. The server crashes, or loses its connection in the
// middle of a COMMIT, which the store then carries out or not, now or later.
//
// Every transaction begins by writing the row of the leader. So it waits for the end of the one
// before, also for one that a dead server or a dead connection has not ended.

#ifndef step
#define step atomic  // or d_step, which is faster; but of that Spin cannot tell what never happens
#endif
#ifndef FAULTS
#define FAULTS 3
#endif

// The store.
byte effects;
bool id_is_known;
bool is_committing;       // a transaction was told to commit and has not ended
bool has_committed;       // how the last one ended

// The server.
mtype = { IDLE, WAITING, UNKNOWN };
mtype server = IDLE;

// The network and the client.
bool done_is_sent;
bool client_knows;

byte faults;

// The rules that an omission takes away, each with what is left without it.

#ifdef EFFECT_ONLY  // what is said does not count, only what is done
#define assert_answer(condition) skip
#else
#define assert_answer(condition) assert(condition)
#endif

#ifdef SEPARATE_ID  // the id is written by a transaction of its own, after the effect
#define id_with_effect id_is_known
#define id_after_effect true
#else
#define id_with_effect true
#define id_after_effect id_is_known
#endif

#ifdef ID_FIRST  // or before it
#define id_before_effect true
#else
#define id_before_effect id_is_known
#endif

#ifdef NO_GUARD  // reading again does not wait for the transaction it asks about
#define store_is_free true
#else
#define store_is_free (!is_committing)
#endif

#ifdef GUESS_FAILED  // no answer to COMMIT is taken for a failure
#define looks_done false
#else
#define looks_done id_is_known
#endif

inline answer_done()
{
    assert_answer(effects == 1);
    printf("the server answers: done\n");
    done_is_sent = true;
    server = IDLE
}

// The client may ask again under the same id, or give up: nothing has happened, nor will it.
inline answer_failed()
{
    assert_answer(effects == 0 && !is_committing);
    printf("the server answers: not done\n");
    server = IDLE
}

inline request_arrives()
{
    step {
        server == IDLE && !is_committing ->
        printf("the server gets the request\n");
        if
        :: id_is_known -> answer_done()
        :: else ->
            id_is_known = id_before_effect;
            is_committing = true;
            server = WAITING
        fi
    }
}

inline store_commits()
{
    step {
        is_committing ->
        printf("the store commits\n");
        is_committing = false;
        has_committed = true;
        assert(effects == 0);
        effects++;
        id_is_known = id_with_effect
    }
}

inline store_rolls_back()
{
    step {
        is_committing && faults < FAULTS ->
        printf("the store rolls back\n");
        faults++;
        is_committing = false;
        has_committed = false
    }
}

inline outcome_arrives()
{
    step {
        server == WAITING && !is_committing ->
        printf("the server hears of the commit\n");
        if
        :: has_committed ->
            id_is_known = id_after_effect;
            answer_done()
        :: else -> answer_failed()
        fi
    }
}

#ifdef ANSWER_EARLY
inline server_answers_before_the_commit()
{
    step { server == WAITING -> answer_done() }
}
#endif

inline outcome_is_lost()
{
    step {
        server == WAITING && faults < FAULTS ->
        printf("the server loses the store\n");
        faults++;
        server = UNKNOWN
    }
}

inline server_reads_again()
{
    step {
        server == UNKNOWN && store_is_free ->
        printf("the server reads again\n");
        if
        :: looks_done -> answer_done()
        :: else -> answer_failed()
        fi
    }
}

inline server_crashes()
{
    step {
        server != IDLE && faults < FAULTS ->
        printf("the server crashes\n");
        faults++;
        server = IDLE
    }
}

inline answer_arrives()
{
    step {
        done_is_sent && !client_knows ->
        printf("the client knows\n");
        client_knows = true
    }
}

// It ends when the client knows. Spin tells of any other state in which nothing can happen.
active proctype world()
{
    do
    :: request_arrives()
    :: store_commits()
    :: store_rolls_back()
    :: outcome_arrives()
    :: outcome_is_lost()
    :: server_reads_again()
    :: server_crashes()
#ifdef ANSWER_EARLY
    :: server_answers_before_the_commit()
#endif
    :: answer_arrives()
    :: client_knows && server == IDLE && !is_committing -> break
    od
}
