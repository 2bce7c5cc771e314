// put_scene.h - clients with their own keys that upload contents into the cache of a server.
#pragma once

#include "object/transfer/data_scene.h"

// The client's end of a connection to the server of the scene; `number` is the owner of its share.
struct link *putter(struct scene *scene, uint64_t number);
void put_say(struct link *link, struct wire_message message);
void put_piece(struct link *link, const char *entry, uint64_t offset, uint64_t bytes);
void put_bytes(struct scene *scene, struct link *link, const char *bytes, size_t count);
void put_offer(struct link *link, const char *entry);
void put_bind(struct link *link, rota_object_id object, const char *entry);
// The next message, for which the scene runs. Its texts are valid until the next call.
struct wire_message put_hear(struct scene *scene, struct link *link);
void put_expect(struct scene *scene, struct link *link, enum wire_kind kind);
void put_expect_refusal(struct scene *scene, struct link *link, enum wire_code code,
                        const char *reason);
// A file of these bytes, as a text. / All of a content exists.
void put_entry(struct scene *scene, const char *bytes, size_t count, char entry[CACHE_ENTRY_TEXT]);
void put_content(struct scene *scene, struct link *link, const char *entry, const char *bytes,
                 size_t count);
// The server notices that the client disconnected.
void putter_leave(struct scene *scene, struct link *link);
