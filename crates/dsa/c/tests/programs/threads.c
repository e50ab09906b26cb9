// Threads share a client, and each has jobs and a set of its own; one thread's handles are another one's
// to try.
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, LIVE = 8, BYTES = 2048 };

#ifndef ROUNDS
#define ROUNDS 20
#endif

static skd_client *client;
static _Atomic(skd_job *) last;

static void one_round(unsigned number, unsigned char from[BYTES], unsigned char to[LIVE][BYTES]) {
    skd_set *set = NULL;
    skd_end ends[LIVE];
    CHECK(skd_set_create(&set) == 0);
    memset(from, (int)number + 1, BYTES);
    for (uint64_t i = 0; i < LIVE; i++) {
        skd_operation copy = skd_copy_of(to[i], from, BYTES);
        skd_job *job = NULL;
        memset(to[i], 0, BYTES);
        CHECK(skd_submit(client, &copy, path_here(), &job) == 0 && skd_set_add(set, job, i) == 0);
        atomic_store(&last, job);
    }
    // A job of any thread: whatever it answers, its owner gets its end.
    int other = skd_job_wait_for(atomic_load(&last), 100, NULL);
    CHECK(other == 0 || other == -EBADF || other == -EBUSY || other == -ETIMEDOUT);
    for (int left = LIVE; left > 0;) {
        int found = skd_set_wait(set, ends, LIVE);
        CHECK(found > 0);
        for (int i = 0; i < found; i++) {
            CHECK(ends[i].error == 0 && memcmp(to[ends[i].tag], from, BYTES) == 0);
            int freed;
            while ((freed = skd_job_free(ends[i].job)) == -EBUSY)
                ;
            CHECK(freed == 0);
        }
        left -= found;
    }
    CHECK(skd_set_free(set) == 0 && skd_copy(client, to[0], from, 100) == 0);
}

static void *work(void *number) {
    unsigned char *from = malloc(BYTES);
    unsigned char(*to)[BYTES] = malloc(LIVE * BYTES);
    CHECK(from != NULL && to != NULL);
    for (int round = 0; round < ROUNDS; round++)
        one_round(*(unsigned *)number, from, to);
    // The text is this thread's own.
    CHECK(skd_queues(NULL) == -EINVAL && strstr(skd_error_text(), "`client`") != NULL);
    free(from);
    free(to);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    CHECK(skd_open(NULL, &client) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    skd_statistics statistics = skd_statistics_new();
    CHECK(skd_get_statistics(client, &statistics) == 0);
    uint64_t copies = statistics.device[SKD_COPY].count + statistics.cpu[SKD_COPY].count;
    CHECK(copies == (uint64_t)THREADS * ROUNDS * (LIVE + 1) && skd_close(client) == 0);
    printf("threads get their own ends\n");
    return 0;
}
