// object.h - functions for objects, their copies and streams.
#pragma once

// ---- object.c, replica.c: objects, where they are, which tasks need them --------------------

object_row object_find(const struct rota *rota, rota_object_id id);
bool object_reserve(struct rota *rota, uint32_t more);
object_row object_add(struct rota *rota, rota_object_id id);  // memory must be reserved
void object_forget(struct rota *rota, object_row row);
void object_refresh(struct rota *rota, object_row row);  // presence may have changed
bool object_is_present(const struct rota *rota, const struct object *object);
uint32_t object_view(const struct rota *rota, const struct object *object);  // enum need
void object_finish(struct rota *rota, object_row row, worker_row worker);
void object_purge(struct rota *rota, object_row row);  // if no task needs it
void object_producer_changed(struct rota *rota, task_row row);
void object_look_producer(struct rota *rota, task_row row);
void object_mark(struct rota *rota, object_row row);
// it may read them, or no longer
void object_inputs_held(struct rota *rota, task_row row, int change);
bool object_holds_inputs(enum rota_task_state state);
// by a task that may run now
bool object_is_wanted(const struct rota *rota, const struct object *object);
void object_drop_unused_artifact(struct rota *rota, object_row row);

// object_hash.c
void content_note(struct rota *rota, task_row row, worker_row worker,
                  const struct rota_output *sizes, uint32_t count);  // worker 0: no output was made
void content_copy(struct rota *rota, task_row from, task_row to);  // both make the same
bool content_is_false(const struct object *object, const struct rota_content *content);
uint64_t content_digest(const struct rota_content *content);

replica_row replica_find(const struct rota *rota, object_row object, worker_row worker);
// memory must be reserved
replica_row replica_add(struct rota *rota, object_row object, worker_row worker);
void replica_mark(struct rota *rota, replica_row row);
void replica_locate(struct rota *rota, replica_row row);
void replica_remove(struct rota *rota, replica_row row);
void replica_use(struct rota *rota, object_row object, worker_row worker);
void replica_unuse(struct rota *rota, object_row object, worker_row worker);
void replica_lose(struct rota *rota, replica_row row);  // the worker does not have it
// A worker that can send the object, other than `except`; 0: none. It differs by reader and object,
// so that no holder has to serve all readers.
worker_row replica_source(const struct rota *rota, object_row object, worker_row except,
                          uint64_t reader);

// ---- stream.c: streams can be read only once ------------------------------------------------

bool streams_are_read(const struct rota *rota, task_row row);  // all that it has written
void streams_reader_moved(struct rota *rota, task_row row, enum rota_task_state from);
void streams_renew(struct rota *rota, task_row row);  // its next attempt will write them
void streams_begun(struct rota *rota, task_row row);  // it writes them
void streams_unread(struct rota *rota, task_row row);   // a writer failed: the task stops reading
void streams_give_up(struct rota *rota, task_row row);  // its attempt did not succeed
void streams_failed(struct rota *rota, task_row row);  // it writes them, and did not succeed
bool streams_lost_reader(const struct rota *rota, task_row row);

// ---- replica_surplus.c: drops copies that are not needed -------------------------------------

void replica_surplus_drop_all(struct rota *rota, object_row row);
void replica_surplus_drop_others(struct rota *rota, object_row row, worker_row stays);
// asks the worker that keeps it to verify its copy
void replica_surplus_ask(struct rota *rota, object_row row);
// Call it when that worker has confirmed the DROP.
void replica_surplus_drop(struct rota *rota, object_row row, worker_row worker);

// ---- object.c

// A worker reports that it has a copy; 0: another one reports that it has none.
void object_shown(struct rota *rota, object_row row, worker_row worker);
