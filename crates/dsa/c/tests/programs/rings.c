// Rings: bursts of copies on one queue, whose failed copies the program repeats.
#include "check.h"
#include <errno.h>

enum { BURSTS = 4, COPIES = 8, BYTES = 1500 };

#ifndef ROUNDS
#define ROUNDS 20
#endif

static unsigned char from[BURSTS * COPIES][BYTES], to[BURSTS * COPIES][BYTES];
static unsigned seen[BURSTS * COPIES], failed;

// Repeats each copy that has failed, and counts all.
static void collect(skd_ring *ring) {
    skd_ring_end ends[COPIES];
    int n = skd_ring_poll(ring, ends, COPIES);
    CHECK(n >= 0 && n <= COPIES);
    for (int i = 0; i < n; i++) {
        CHECK(ends[i].tag < BURSTS * COPIES);
        seen[ends[i].tag]++;
        failed += ends[i].has_failed;
        if (ends[i].has_failed)
            memcpy(to[ends[i].tag], from[ends[i].tag], BYTES);
    }
}

static int burst(skd_ring *ring, unsigned number, unsigned count) {
    skd_ring_copy copies[COPIES];
    for (unsigned i = 0; i < count; i++) {
        unsigned tag = number * COPIES + i;
        copies[i] = (skd_ring_copy){from[tag], to[tag], BYTES, tag};
    }
    return skd_ring_submit(ring, copies, count);
}

static void bursts(const char *queue) {
    skd_ring *ring = NULL;
    skd_ring_status status = skd_ring_status_new();
    CHECK(skd_ring_open(queue, BURSTS, COPIES, &ring) == 0);
    CHECK(skd_ring_get_status(ring, &status) == 0 && status.most_copies == COPIES);
    CHECK(skd_ring_room(ring) == BURSTS);
    REFUSED(EINVAL, "allowed: 1 to 8", burst(ring, 0, 0));
    REFUSED(EINVAL, "`copies` is NULL", skd_ring_submit(ring, NULL, 1));
    uint64_t all = 0, earlier = failed;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned count = round % COPIES + 1;
        memset(to, 0, sizeof to);
        memset(seen, 0, sizeof seen);
        for (unsigned number = 0; number < BURSTS; number++) {
            int ret;
            while ((ret = burst(ring, number, count)) == -EAGAIN)
                collect(ring);
            CHECK(ret == 0);
            all += count;
        }
        while (skd_ring_room(ring) < BURSTS)
            collect(ring);
        for (unsigned tag = 0; tag < BURSTS * COPIES; tag++) {
            unsigned is_copied = tag % COPIES < count;
            CHECK(seen[tag] == is_copied);
            CHECK(!is_copied || memcmp(to[tag], from[tag], BYTES) == 0);
        }
    }
    CHECK(skd_ring_get_status(ring, &status) == 0 && status.is_gone == 0);
    CHECK(status.bursts == ROUNDS * BURSTS && status.copies == all);
    CHECK(status.failed + status.lost == failed - earlier);
    CHECK(skd_ring_close(ring) == 0);
    REFUSED(EBADF, "given back", skd_ring_close(ring));
}

int main(void) {
    skd_ring *ring = NULL;
    skd_queue queue = skd_queue_new();
    unsigned opened = 0;
    for (unsigned tag = 0; tag < BURSTS * COPIES; tag++)
        put_pattern(from[tag], BYTES - tag);
    REFUSED(ENODEV, "wq9.9 is not a work queue", skd_ring_open("wq9.9", 1, 1, &ring));
    REFUSED(EINVAL, "`queue` is NULL", skd_ring_open(NULL, 1, 1, &ring));
    CHECK(skd_ring_close(NULL) == 0);
    for (uint32_t number = 0; skd_queue_of_system(number, &queue) == 0; number++, opened++)
        bursts(queue.name);
    CHECK((opened > 0) == (path_here() == SKD_DEVICE));
    printf("%u copies failed\n", failed);
    return 0;
}
