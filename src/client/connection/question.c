// question.c - questions: a command line that the server runs, and what it prints.
#include "client/connection/connection.h"

#include <stdlib.h>
#include <string.h>

bool client_text_add(struct rota_client *client, const char *bytes, uint32_t length)
{
    uint64_t need = (uint64_t)client->text_length + length + 1;
    if (need > client->text_capacity) {
        uint64_t capacity = need < UINT32_MAX / 2 ? need * 2 : need;
        char *text = capacity <= UINT32_MAX ? realloc(client->text, capacity) : NULL;
        if (!text) return false;
        client->text = text;
        client->text_capacity = (uint32_t)capacity;
    }
    if (length) memcpy(client->text + client->text_length, bytes, length);
    client->text_length += length;
    client->text[client->text_length] = 0;
    return true;
}

bool client_text_begin(struct rota_client *client)
{
    client->text_length = 0;
    return client_text_add(client, "", 0);
}

struct request_id question_put(struct rota_client *client, const wire_text *words, uint32_t count)
{
    struct request_id request = {0, ++client->questions};
    struct wire_message message = {.kind = WIRE_ASK_MESSAGE};
    message.ask.request = request.low;
    message.ask.words = (wire_texts){(wire_text *)(uintptr_t)words, count};
    wire_put(&client->link->out, &message);
    return request;
}

enum rota_client_code question_ask(struct rota_client *client, const wire_text *words,
                                   uint32_t count, int64_t until, uint32_t *status)
{
    struct wire_message message;
    struct request_id request = question_put(client, words, count);
    bool is_whole = client_text_begin(client);
    for (;;) {
        enum rota_client_code code = client_answer(client, request, until, &message);
        if (code) return code;
        if (message.kind == WIRE_ANSWER_MESSAGE)
            is_whole = is_whole && client_text_add(client, message.answer.bytes.bytes,
                                                   message.answer.bytes.length);
        if (message.kind == WIRE_ANSWERED_MESSAGE) break;
    }
    *status = message.answered.status;
    if (is_whole) return ROTA_CLIENT_OK;
    return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for the answer");
}
