// table_handler.h - the rows of table.h between a handler and a server.
#pragma once

// Handlers: who asks for a task, and says how it ended. `flags` are enum rota_claim_flag.
#define WIRE_CLAIM(F)                                                        \
    F(u64, high) F(u64, low)                                                 \
    F(task, task)       /* none: any; task 0: any of that job */             \
    F(u32, flags)                                                            \
    F(time, lease)      /* 0: as long as a worker's */                       \
    F(time, wait)       /* for one to be there; 0: not at all */
#define WIRE_GRANTED(F)                                                      \
    F(u64, high) F(u64, low)                                                 \
    F(task, task)                                                            \
    F(u32, attempt)                                                          \
    F(u64, token)       /* fencing token: a later one is larger */           \
    F(time, lease)      /* from the answer on; a RENEW begins it anew */     \
    F(text, body)       /* the frame of a RUN; "": it has none */
#define WIRE_DELIVER(F)                                                      \
    F(u64, high) F(u64, low) F(task, task) F(u64, token) F(u32, flags)       \
    F(text, reason)     /* for people */
#define WIRE_FAIL(F)                                                         \
    F(u64, high) F(u64, low) F(task, task) F(u64, token) F(u32, flags)       \
    F(i32, status)      /* 0: 1 */                                           \
    F(text, reason)
#define WIRE_RENEW(F) F(u64, high) F(u64, low) F(task, task) F(u64, token)
#define WIRE_RENEWED(F) F(u64, high) F(u64, low) F(time, lease)
