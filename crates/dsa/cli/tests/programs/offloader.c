// A library after DTO's pattern: it opens and maps its queue in its constructor, and memcpy, memmove, memset
// and memcmp of the program go there from OFFLOAD_LEAST bytes on (4096). How it waits, OFFLOAD_WAIT says: poll
// (10,000 looks with PAUSE, as in Intel's guide), umwait, yield or sleep. At the end it appends a line to
// OFFLOAD_COUNTS: calls of that size, calls that the device has done, descriptors given up.
#define _GNU_SOURCE
#include "descriptor.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 10000 };

static void *portal;
static size_t least_bytes = 4096;
static char wait_kind;
static atomic_ulong eligible, done, given_up;

// What the device does not do. The compiler may not turn it into a call of the functions here.
__attribute__((optimize("no-tree-loop-distribute-patterns"))) static void copy(
    unsigned char *to, const unsigned char *from, size_t bytes) {
    if (to <= from || to >= from + bytes) {
        asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
    } else {
        while (bytes-- > 0) to[bytes] = from[bytes];
    }
}

static void look_away(struct record *record) {
    struct timespec short_time = {.tv_nsec = 1000};
    switch (wait_kind) {
    case 'u':
        asm volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xf0" ::"a"(record) : "memory"); // UMONITOR
        if (record->status == 0) {
            uint32_t low, high;
            asm volatile("rdtsc" : "=a"(low), "=d"(high));
            uint64_t end = ((uint64_t)high << 32 | low) + 10000;
            asm volatile(".byte 0xf2, 0x0f, 0xae, 0xf1" // UMWAIT
                         ::"c"(0), "a"((uint32_t)end), "d"((uint32_t)(end >> 32)) : "memory", "cc");
        }
        break;
    case 'y': sched_yield(); break;
    case 's': nanosleep(&short_time, 0); break;
    default: asm volatile("pause");
    }
}

static struct record *offload(int opcode, uint64_t first, uint64_t second, size_t bytes) {
    static __thread struct record record;
    static __thread struct descriptor descriptor;
    if (portal == 0 || bytes < least_bytes || bytes >= 1u << 31) return 0;
    atomic_fetch_add(&eligible, 1);
    descriptor = (struct descriptor){.flags = (uint32_t)opcode << 24 | RECORDED, .record = (uintptr_t)&record,
                                     .first = first, .second = second, .bytes = (uint32_t)bytes};
    record.status = 0;
    int tries = 0;
    while (enqueue(portal, &descriptor)) {
        if (++tries == 1000) return 0;
    }
    int looks = 0;
    while (record.status == 0 && (wait_kind != 'p' || looks++ < LOOKS)) look_away(&record);
    if (record.status == 0) {
        atomic_fetch_add(&given_up, 1);
        while (record.status == 0) sched_yield(); // The memory is still the device's.
    }
    if (record.status != SUCCESS) return 0;
    atomic_fetch_add(&done, 1);
    return &record;
}

void *memcpy(void *to, const void *from, size_t bytes) {
    if (!offload(MOVE, (uintptr_t)from, (uintptr_t)to, bytes)) copy(to, from, bytes);
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    if (!offload(MOVE, (uintptr_t)from, (uintptr_t)to, bytes)) copy(to, from, bytes);
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    uint64_t pattern = (uint8_t)value * 0x0101010101010101u;
    if (!offload(FILL, pattern, (uintptr_t)to, bytes)) {
        void *at = to;
        asm volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
    }
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes) {
    const unsigned char *first = one, *second = other;
    struct record *record = offload(COMPARE, (uintptr_t)one, (uintptr_t)other, bytes);
    if (record && record->result == 0) return 0;
    size_t at = 0;
    while (at < bytes && first[at] == second[at]) at++;
    return at == bytes ? 0 : first[at] - second[at];
}

// A child has no portal.
static void forget(void) { portal = 0; }

__attribute__((constructor)) static void start(void) {
    const char *queue = getenv("OFFLOAD_QUEUE"), *kind = getenv("OFFLOAD_WAIT");
    const char *least = getenv("OFFLOAD_LEAST");
    if (least) least_bytes = atol(least);
    wait_kind = kind ? kind[0] : 'p';
    int file = open(queue ? queue : "/dev/dsa/wq0.1", O_RDWR);
    if (file < 0) return;
    void *mapped = mmap(0, 4096, PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    pthread_atfork(0, 0, forget);
    if (mapped != MAP_FAILED) portal = mapped;
}

__attribute__((destructor)) static void finish(void) {
    const char *path = getenv("OFFLOAD_COUNTS");
    int file = path && portal ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (file < 0) return;
    char line[100];
    int bytes = snprintf(line, sizeof line, "%lu %lu %lu\n", eligible, done, given_up);
    if (write(file, line, bytes) != bytes) _exit(99);
    close(file);
}
