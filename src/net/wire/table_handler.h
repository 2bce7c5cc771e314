// table_handler.h - messages between an external worker (handler) and a server.
#pragma once

// A handler claims a task and reports its result. `flags` are enum rota_claim_flag.
#define WIRE_CLAIM(F)                                                        \
    F(u64, high) F(u64, low)                                                 \
    F(task, task)       /* none: any; task 0: any of that job */             \
    F(u32, flags)                                                            \
    F(time, lease)      /* 0: that of a worker */                            \
    F(time, wait)       /* for a task; 0: do not wait */
#define WIRE_GRANTED(F)                                                      \
    F(u64, high) F(u64, low)                                                 \
    F(task, task)                                                            \
    F(u32, attempt)                                                          \
    F(u64, token)       /* fencing token: grows with every grant */          \
    F(time, lease)      /* from the answer on; RENEW restarts it */          \
    F(text, body)       /* the frame of a RUN; "": none */
#define WIRE_DELIVER(F)                                                      \
    F(u64, high) F(u64, low) F(task, task) F(u64, token) F(u32, flags)       \
    F(text, reason)     /* shown to people */
#define WIRE_FAIL(F)                                                         \
    F(u64, high) F(u64, low) F(task, task) F(u64, token) F(u32, flags)       \
    F(i32, status)      /* 0: 1 */                                           \
    F(text, reason)
#define WIRE_RENEW(F) F(u64, high) F(u64, low) F(task, task) F(u64, token)
#define WIRE_RENEWED(F) F(u64, high) F(u64, low) F(time, lease)
