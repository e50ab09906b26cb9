// QUEUE SEED COUNT: descriptors of random bytes from two threads, alone and in batches, by ENQCMD and by write, on
// pages of which some cannot be written, read, or are beyond the end of their file; with a timer's signals between.
// Finds that each one that is accepted ends, with a status that its pages allow, that one that is refused changes
// nothing but its record, and that a faulting submission is the program's fault. Prints how many ended in each way.
#define _GNU_SOURCE
#include "descriptor.h"
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 16, AREA = PAGES * PAGE, ROUND = 32, MEMBERS = 16, THREADS = 2, PRIVILEGED = 1u << 31 };
// Bytes around an area that nothing may access: more than a transfer of the queue, and its protection, is long.
enum { APART = 8 << 20 };
enum rights { WRITE, READ, NOTHING, BEYOND };
enum { RECORD_VALID = 4, RECORD_REQUESTED = 8 };
enum { PAGE_FAULT = 3, REFUSED_FAULT = 4, LAST_RESULT = 9, FIRST_REFUSAL = 0x10, READBACK_FAULT = 0x1f };

struct worker {
    pthread_t thread;
    uint64_t state;
    uint8_t *pages, *plain; // As descriptors have them, and the same bytes with all rights.
    uint8_t before[AREA];
    uint8_t rights[PAGES];
    long count, ended[64], logged, faults, full;
};

static void *portal;
static int queue;
static const char *failed;
static __thread sigjmp_buf back;
static __thread volatile int may_fault;
static volatile sig_atomic_t alarms;

static void on_fault(int number) {
    if (!may_fault) signal(number, SIG_DFL);
    else siglongjmp(back, 1);
}

static void on_alarm(int number) { alarms += number == SIGALRM; }

static uint64_t draw(struct worker *own) { // splitmix64
    uint64_t mixed = own->state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}

static uint32_t below(struct worker *own, uint32_t end) { return (uint32_t)(draw(own) >> 33) % end; }

static uint64_t address(struct worker *own) {
    switch (below(own, 32)) {
    case 0: return below(own, 2 * PAGE);
    case 1: return -(uint64_t)below(own, 2 * PAGE);
    case 2: return draw(own) | 1ull << 63; // No process has it.
    case 3: return (uintptr_t)own->pages - below(own, 256);
    case 4: return (uintptr_t)own->pages + AREA - below(own, 256);
    case 5 ... 10: return (uintptr_t)own->pages + below(own, AREA);
    default: return (uintptr_t)own->pages + below(own, AREA / 64) * 64;
    }
}

static void make(struct worker *own, struct descriptor *made) {
    static const uint8_t codes[] = {NO_OP, BATCH, BATCH, DRAIN, MOVE, FILL, COMPARE, COMPARE_PATTERN, CREATE_DELTA,
                                    APPLY_DELTA, DUALCAST, 10, CRC, COPY_CRC, DIF_CHECK, DIF_INSERT, DIF_STRIP,
                                    DIF_UPDATE, 0x17, CACHE_FLUSH};
    static const uint32_t blocks[] = {512, 520, 528, 4096, 4104, 4112};
    uint8_t code = below(own, 16) ? codes[below(own, sizeof codes)] : draw(own);
    uint32_t flags = below(own, 16) ? RECORDED : below(own, 4) << 2;
    if (below(own, 4) == 0) flags |= 1u << below(own, 24);
    *made = (struct descriptor){.flags = (uint32_t)code << 24 | flags, .bytes = below(own, 2 * PAGE)};
    uint64_t record = (uintptr_t)own->pages + below(own, AREA / 32) * 32;
    if (flags & RECORD_VALID) made->record = below(own, 16) ? record : address(own);
    if (code != NO_OP && code != DRAIN) made->first = address(own);
    if (code != NO_OP && code != DRAIN && code != BATCH && code != CRC) made->second = address(own);
    switch (below(own, 8)) {
    case 0: made->bytes = below(own, 1 << 21); break;
    case 1 ... 3: made->bytes = below(own, 6) * blocks[below(own, 6)]; break;
    }
    if (code == BATCH) made->bytes = below(own, MEMBERS);
    if (code == NO_OP || code == DRAIN) made->bytes = 0;
    uint64_t words[3] = {0};
    for (int at = 0; at < 3; at++) {
        if (below(own, 3) == 0) words[at] = below(own, 2) ? address(own) : draw(own) >> below(own, 64) | 1ull << 63;
    }
    if (code >= CRC || code == DUALCAST || code == CREATE_DELTA || code == APPLY_DELTA || below(own, 8) == 0)
        memcpy(made->rest, words, sizeof words);
    if (code == APPLY_DELTA) memcpy(made->rest, &(uint64_t){10 + below(own, 120)}, 8);
    if (code == CREATE_DELTA) memcpy(made->rest + 8, &(uint64_t){80 + below(own, 800)}, 8);
    if (below(own, 8) == 0) { // A bit, but none that moves an address far away.
        int byte = below(own, 64);
        if (byte >= 4 && byte % 8 < 3 && byte != 33 && byte != 34) ((uint8_t *)made)[byte] ^= 1 << below(own, 8);
    }
}

static void renew(struct worker *own) {
    int are_all_there = below(own, 2);
    for (int page = 0; page < PAGES; page++) {
        // Only the last pages may be beyond the file's end.
        own->rights[page] = page >= PAGES - 2 ? BEYOND : are_all_there || below(own, 4) ? WRITE : READ + below(own, 2);
        int protection[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE, PROT_READ | PROT_WRITE};
        mprotect(own->pages + page * PAGE, PAGE, protection[own->rights[page]]);
    }
    for (int part = 0; part < AREA - 2 * PAGE; part += 256) {
        if (below(own, 2)) memset(own->plain + part, below(own, 2) * 0xff, 256);
        else for (int at = 0; at < 256; at += 8) memcpy(own->plain + part + at, &(uint64_t){draw(own)}, 8);
    }
}

static long page_of(const struct worker *own, uint64_t at) {
    uint64_t offset = at - (uintptr_t)own->pages;
    return offset < AREA ? (long)(offset / PAGE) : -1;
}

static void fail(struct worker *own, const char *what, const struct descriptor *descriptor) {
    flockfile(stdout);
    printf("%s: state %#lx, descriptor", what, (unsigned long)own->state);
    for (int at = 0; at < 64; at++) printf(" %02x", ((const uint8_t *)descriptor)[at]);
    printf("\n");
    failed = what;
    funlockfile(stdout);
}

// Whether a queue has taken the descriptor, by ENQCMD or by write.
static int submit(struct worker *own, const struct descriptor *descriptor) {
    static __thread uint8_t memory[3 * PAGE];
    // It lies anywhere, also across a line and a page; often in the area, where it may not be readable.
    uint8_t *at = memory + below(own, 2 * PAGE);
    memcpy(at, descriptor, 64);
    may_fault = 1;
    if (sigsetjmp(back, 1)) {
        may_fault = 0;
        own->faults++;
        if (descriptor->pasid == 0) fail(own, "a good submission faulted", descriptor);
        return 0;
    }
    int is_written = below(own, 8) == 0, is_taken = is_written && write(queue, at, 64) == 64;
    for (int tries = 0; !is_written && !is_taken && tries < 1000; tries++)
        is_taken = !enqueue((uint8_t *)portal + 64 * below(own, 64), (const void *)at);
    may_fault = 0;
    if (!is_written && descriptor->pasid != 0) fail(own, "a bad submission did not fault", descriptor);
    own->full += !is_taken;
    return is_taken;
}

// The queue has ended all that this process has submitted.
static void drain(void) {
    struct record record = {0};
    struct descriptor descriptor = {.flags = (uint32_t)DRAIN << 24 | RECORDED, .record = (uintptr_t)&record};
    while (enqueue(portal, &descriptor)) {
    }
    while (record.status == 0) asm volatile("pause");
}

static void judge(struct worker *own, const struct descriptor *descriptor) {
    long page = page_of(own, descriptor->record);
    int is_there = page >= 0 && own->rights[page] == WRITE && descriptor->record % 32 == 0;
    int is_requested = descriptor->flags & RECORD_VALID && descriptor->flags & RECORD_REQUESTED;
    if (!is_there || !is_requested) {
        own->logged++;
        return;
    }
    size_t offset = descriptor->record - (uintptr_t)own->pages;
    struct record *record = (struct record *)(own->plain + offset);
    // The record of a batch follows that of a member through the event log, which the driver reads some time.
    for (int looks = 0; record->status == 0 && looks < 1000; looks++) usleep(1000);
    uint8_t code = record->status & 0x3f;
    own->ended[code]++;
    // Those that go to the error register are not in records.
    int is_refusal = (code >= FIRST_REFUSAL && code <= 0x19) || code == 0x1c || code == 0x1e || code == READBACK_FAULT;
    int is_code = code <= LAST_RESULT || is_refusal;
    if (code == 0) fail(own, "it has no record", descriptor);
    else if (!is_code) fail(own, "it has a status that no record has", descriptor);
    if ((code == PAGE_FAULT || code == REFUSED_FAULT) && record->fault % PAGE == 0) {
        long at = page_of(own, record->fault);
        int is_write = record->status >> 7;
        if (at >= 0 && (own->rights[at] == WRITE || (own->rights[at] == READ && !is_write)))
            fail(own, "a page that is there faulted", descriptor);
    }
    if (code >= FIRST_REFUSAL && code != READBACK_FAULT) {
        memcpy(own->before + offset, own->plain + offset, 32);
        if (record->done != 0 || memcmp(own->before, own->plain, AREA - 2 * PAGE) != 0)
            fail(own, "it was refused, and changed memory", descriptor);
    }
}

static void *work(void *argument) {
    struct worker *own = argument;
    for (long turn = 0; turn < own->count && !failed; turn++) {
        if (turn % ROUND == 0) renew(own);
        struct descriptor descriptor;
        make(own, &descriptor);
        if ((descriptor.flags >> 24) == BATCH && page_of(own, descriptor.first) >= 0) {
            size_t list = descriptor.first - (uintptr_t)own->pages;
            for (uint32_t at = 0; at < descriptor.bytes && list + 64 * (at + 1) <= AREA - 2 * PAGE; at++) {
                struct descriptor member;
                make(own, &member);
                memcpy(own->plain + list + 64 * at, &member, 64);
            }
        }
        long page = page_of(own, descriptor.record);
        if (descriptor.flags & RECORD_VALID && page >= 0 && page < PAGES - 2)
            own->plain[descriptor.record - (uintptr_t)own->pages] = 0;
        if (below(own, 64) == 0) descriptor.pasid = 1 + below(own, 1 << 19);
        memcpy(own->before, own->plain, AREA - 2 * PAGE);
        if (submit(own, &descriptor)) {
            drain();
            if (descriptor.pasid == 0) judge(own, &descriptor);
        }
    }
    return 0;
}

int main(int words, char **word) {
    queue = words == 4 ? open(word[1], O_RDWR) : -1;
    portal = mmap(0, PAGE, PROT_WRITE, MAP_SHARED, queue, 0);
    if (queue < 0 || portal == MAP_FAILED) return 2;
    static struct worker workers[THREADS];
    signal(SIGSEGV, on_fault);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 1700}, {0, 1700}}, 0);
    for (int at = 0; at < THREADS; at++) {
        struct worker *own = &workers[at];
        int file = memfd_create("area", 0);
        own->state = strtoull(word[2], 0, 10) * THREADS + at, own->count = atol(word[3]) / THREADS;
        uint8_t *whole = mmap(0, AREA + 2 * APART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (ftruncate(file, AREA - 2 * PAGE) != 0 || whole == MAP_FAILED) return 2;
        own->pages = mmap(whole + APART, AREA, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0);
        own->plain = mmap(0, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (own->pages == MAP_FAILED || own->plain == MAP_FAILED) return 2;
        pthread_create(&own->thread, 0, work, own);
    }
    long ended[64] = {0}, logged = 0, faults = 0, full = 0;
    for (int at = 0; at < THREADS; at++) {
        struct worker *own = &workers[at];
        pthread_join(own->thread, 0);
        for (int code = 0; code < 64; code++) ended[code] += own->ended[code];
        logged += own->logged, faults += own->faults, full += own->full;
    }
    if (failed) return 1;
    for (int code = 0; code < 64; code++) if (ended[code]) printf("%#x: %ld, ", code, ended[code]);
    printf("without a record %ld, faults %ld, not taken %ld, ", logged, faults, full);
    printf("signals %s\n", alarms ? "yes" : "no");
    return 0;
}
