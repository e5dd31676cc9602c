/* Calls a server with C's client. */

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *context;

static void fail(const char *command, const char *found, const char *expected) {
    fprintf(stderr, "%s: %s instead of %s\n", command, found, expected);
    exit(1);
}

/* Writes a reply as text: items of an array one after the other, "nil" for none. */
static void add(char *text, size_t size, const redisReply *reply) {
    size_t used = strlen(text);
    if (reply->type == REDIS_REPLY_ARRAY) {
        for (size_t item = 0; item < reply->elements; item++) {
            add(text, size, reply->element[item]);
        }
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(text + used, size - used, " %lld", reply->integer);
    } else {
        snprintf(text + used, size - used, " %s", reply->type == REDIS_REPLY_NIL ? "nil" : reply->str);
    }
}

static void check_reply(redisReply *reply, const char *command, const char *expected) {
    char text[4096] = "";
    if (reply == NULL) {
        fail(command, context->errstr, expected);
    }
    add(text, sizeof text, reply);
    if (strncmp(text, expected, strlen(expected)) != 0) {
        fail(command, text, expected);
    }
    freeReplyObject(reply);
}

static void check(const char *command, const char *expected) {
    check_reply(redisCommand(context, command), command, expected);
}

int main(int argc, char **argv) {
    context = redisConnect("127.0.0.1", argc > 1 ? atoi(argv[1]) : 0);
    if (context == NULL || context->err) {
        fail("connect", context ? context->errstr : "no memory", "a connection");
    }
    check("FLUSHALL", " OK");
    check("SET a 1 EX 100", " OK");
    check("INCR a", " 2");
    check("GET none", " nil");
    check("HSET h x 1 y 2", " 2");
    check("HGETALL h", " x 1 y 2");
    check("MGET a none", " 2 nil");
    check("WATCH a", " OK");
    check("MULTI", " OK");
    check("INCR a", " QUEUED");
    check("HLEN h", " QUEUED");
    check("EXEC", " 3 2");
    for (int n = 0; n < 3; n++) {
        redisAppendCommand(context, "SET p%d %d", n, n);
    }
    for (int n = 0; n < 3; n++) {
        void *reply = NULL;
        redisGetReply(context, &reply);
        check_reply(reply, "a pipeline", " OK");
    }
    check("DBSIZE", " 5");
    check("CONFIG GET save", " save");
    check("LPUSH l x", " ERR unknown command");
    redisFree(context);
    return 0;
}
