// Threads share a memory, and the process forks meanwhile: threads TABLE LATENCIES
// Each thread writes all of what it gets: lines that two had at once would be seen, and what one
// thread writes after another one is a race unless the library orders them.
#include "emulated.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, LIVE = 300 };

// Objects that each thread replaces.
#ifndef ROUNDS
#define ROUNDS 1500
#endif

typedef struct worker {
    pthread_t thread;
    skl_memory *memory;
    const skl_slice_map *map;
    int owner;
    unsigned number;
} worker;

static void *replace_objects(void *worker_of) {
    worker *own = worker_of;
    unsigned char *live[LIVE] = {NULL};
    size_t bytes[LIVE] = {0};
    skl_cache cache = {own->memory, own->owner, 0, {NULL}};
    unsigned state = own->number + 1;
    for (int round = 0; round < ROUNDS; round++) {
        state = state * 1103515245 + 12345;
        size_t i = state / 65536 % LIVE;
        int cached = i % 3 == 0;
        if (live[i] != NULL) {
            for (size_t byte = 0; byte < bytes[i]; byte++)
                CHECK(live[i][byte] == (unsigned char)own->number);
            if (cached)
                CHECK(skl_cache_free(&cache, live[i]) == 0);
            else
                CHECK(skl_memory_free(own->memory, live[i]) == 0);
        }
        bytes[i] = cached ? 64 : i % 2 == 0 ? 64 : 1 + i % 63;
        void *object = NULL;
        if (cached)
            CHECK(skl_cache_allocate(&cache, &object) == 0);
        else
            CHECK(skl_memory_allocate(own->memory, own->owner, bytes[i], &object) == 0);
        live[i] = object;
        memset(object, (int)own->number, bytes[i]);
        CHECK(skl_slice_of(own->map, 64 * i) == (skl_slice_of)(own->map, 64 * i));
    }
    for (size_t i = 0; i < LIVE; i++) {
        if (live[i] != NULL && i % 3 == 0)
            CHECK(skl_cache_free(&cache, live[i]) == 0);
        else if (live[i] != NULL)
            CHECK(skl_memory_free(own->memory, live[i]) == 0);
    }
    CHECK(skl_cache_flush(&cache) == 0);
    return NULL;
}

// In a child no lock is held by a thread that it does not have.
static void fork_meanwhile(skl_memory *memory, int owner) {
    for (int i = 0; i < 3 + ROUNDS / 10000; i++) {
        int status = 0;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            void *object = NULL;
            CHECK(skl_memory_allocate(memory, owner, 24, &object) == 0);
            CHECK(skl_memory_free(memory, object) == 0);
            skl_memory_close(memory);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(int count, char **arguments) {
    char error[200];
    skl_slice_map *map = NULL;
    skl_memory_statistics statistics;
    CHECK(count == 3 && skl_slice_map_open(arguments[1], &map, error, sizeof error) == 0);
    emulated all = open_emulated(map);
    uint16_t slices[] = {2, 5};
    // Two owners, and threads of both.
    int owners[] = {skl_memory_claim(all.memory, slices, 1, NULL, 0),
                    skl_memory_claim(all.memory, slices + 1, 1, NULL, 0)};
    CHECK(owners[0] >= 0 && owners[1] >= 0);
    worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){0, all.memory, map, owners[i % 2], i};
        CHECK(pthread_create(&workers[i].thread, NULL, replace_objects, &workers[i]) == 0);
    }
    fork_meanwhile(all.memory, owners[0]);
    for (int i = 0; i < 100; i++)
        CHECK(skl_memory_get_statistics(all.memory, &statistics) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
    CHECK(skl_memory_get_statistics(all.memory, &statistics) == 0);
    CHECK(statistics.used_lines == 0 && statistics.objects == 0);
    CHECK(skl_memory_release(all.memory, owners[0]) == 0);
    close_emulated(&all);
    skl_slice_map_close(map);
    printf("slice-aware\n");
    return 0;
}
