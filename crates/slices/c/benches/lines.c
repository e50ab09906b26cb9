// Cost of a line in a chosen slice through the C interface, beside a plain stack of free lines and
// malloc: a batch of random ones of the lines in use is given back, as many new ones are taken and
// written to.
#include "interleaved.h"
#include <pthread.h>
#include <skipline_slices.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAIRS = 2048, BATCH = 256, MOST_LIVE = 65536, LINE = SKL_LINE_BYTES };

static const size_t page_bytes = 2u << 20, arena_bytes = 64u << 20;

// Lines in use of every subject, and the ones to be replaced.
static size_t live_lines;
static uint32_t choices[PAIRS];

static void *pages(void) {
    unsigned char *start = mmap(NULL, arena_bytes + page_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    start += -(uintptr_t)start % page_bytes;
    madvise(start, arena_bytes, MADV_HUGEPAGE);
    memset(start, 0, arena_bytes);
    return start;
}

// What a program without slices would take: a stack of free lines.
typedef struct stack {
    unsigned char *start;
    uint32_t *free;
    size_t count;
} stack;

static inline void *stack_take(stack *stack) {
    return stack->start + (size_t)stack->free[--stack->count] * LINE;
}

static inline void stack_give(stack *stack, void *line) {
    stack->free[stack->count++] = (uint32_t)(((unsigned char *)line - stack->start) / LINE);
}

static stack new_stack(void) {
    size_t lines = arena_bytes / LINE;
    stack stack = {pages(), malloc(lines * sizeof(uint32_t)), lines};
    for (size_t line = 0; line < lines; line++)
        stack.free[line] = (uint32_t)(lines - 1 - line);
    return stack;
}

typedef struct state {
    skl_memory *memory;
    int owner;
    skl_cache cache;
    stack stack;
    void *live[MOST_LIVE];
} state;

static inline void *memory_take(state *state) {
    void *line = NULL;
    if (skl_memory_allocate(state->memory, state->owner, LINE, &line) < 0)
        abort();
    return line;
}

static inline void memory_give(state *state, void *line) {
    if (skl_memory_free(state->memory, line) < 0)
        abort();
}

static inline void *cache_take(state *state) {
    void *line = NULL;
    if (skl_cache_allocate(&state->cache, &line) < 0)
        abort();
    return line;
}

static inline void cache_give(state *state, void *line) {
    if (skl_cache_free(&state->cache, line) < 0)
        abort();
}

static inline void *malloc_take(void) {
    return aligned_alloc(LINE, LINE);
}

// A round: `take` and `give` are compiled in.
#define REPLACE(take, give)                                                    \
    for (size_t first = 0; first < PAIRS; first += BATCH) {                    \
        for (size_t i = first; i < first + BATCH; i++) {                       \
            void **place = &own->live[choices[i]];                             \
            if (*place != NULL)                                                \
                give;                                                          \
            *place = NULL;                                                     \
        }                                                                      \
        for (size_t i = first; i < first + BATCH; i++) {                       \
            void **place = &own->live[choices[i]];                             \
            if (*place == NULL) {                                              \
                *place = take;                                                 \
                *(volatile unsigned char *)*place = (unsigned char)i;          \
            }                                                                  \
        }                                                                      \
    }

static void plain_round(void *state_of) {
    state *own = state_of;
    REPLACE(stack_take(&own->stack), stack_give(&own->stack, *place))
}

static void memory_round(void *state_of) {
    state *own = state_of;
    REPLACE(memory_take(own), memory_give(own, *place))
}

static void cache_round(void *state_of) {
    state *own = state_of;
    REPLACE(cache_take(own), cache_give(own, *place))
}

// The stack as a shared library would have it: what two calls cost in which nothing is done.
static void called_round(void *state_of) {
    state *own = state_of;
    REPLACE((skl_version(), stack_take(&own->stack)),
            (skl_version(), stack_give(&own->stack, *place)))
}

static void malloc_round(void *state_of) {
    state *own = state_of;
    REPLACE(malloc_take(), free(*place))
}

static void fail(const char *what, const char *error) {
    fprintf(stderr, "%s: %s\n", what, error);
    exit(1);
}

static skl_slice_map *opened(void) {
    char path[] = "/tmp/slice-table-XXXXXX", error[200];
    const char *text = "part = 'p'\nsource = 's'\nslices = 8\nvalid_bits = [6, 37]\n"
                       "perm_masks = [0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]\n"
                       "base = [0, 1, 2, 3, 4, 5, 6, 7]\n";
    skl_slice_map *map = NULL;
    int file = mkstemp(path);
    if (file < 0 || write(file, text, strlen(text)) < 0 ||
        skl_slice_map_open(path, &map, error, sizeof error) < 0)
        fail(path, error);
    close(file);
    unlink(path);
    return map;
}

// A memory whose pages are where the program says: from 0 on. Placement costs the same anywhere.
static void place(state *state, const skl_slice_map *map, const uint16_t *slices, size_t count) {
    static uint64_t physical[1 << 10];
    char error[200];
    for (size_t page = 0; page < arena_bytes / page_bytes; page++)
        physical[page] = page * page_bytes;
    if (skl_memory_open_on(map, pages(), arena_bytes, page_bytes, physical, SKL_ANY_NODE,
                           &state->memory, error, sizeof error) < 0)
        fail("memory", error);
    state->owner = skl_memory_claim(state->memory, slices, count, error, sizeof error);
    if (state->owner < 0)
        fail("claim", error);
}

static void *other_thread(void *state_of) {
    state *own = state_of;
    memory_give(own, memory_take(own));
    return NULL;
}



static void share(state *state) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, other_thread, state) != 0 || pthread_join(thread, NULL) != 0)
        fail("thread", "cannot be started");
}

int main(void) {
    static state plain, called, heap, one, cached, three, shared, unplaced;
    static const uint16_t slices[] = {3, 0, 6};
    skl_slice_map *map = opened();
    plain.stack = new_stack();
    called.stack = new_stack();
    place(&one, map, slices, 1);
    place(&cached, map, slices, 1);
    cached.cache = (skl_cache){cached.memory, cached.owner, 0, {NULL}};
    place(&three, map, slices, 3);
    place(&shared, map, slices, 1);
    if (skl_memory_open(map, arena_bytes, page_bytes, 1, &unplaced.memory, NULL, 0) < 0)
        fail("memory", "none");
    unplaced.owner = skl_memory_claim(unplaced.memory, slices, 1, NULL, 0);
    static subject subjects[] = {
        {"plain stack of free lines", plain_round, &plain, {0}},
        {"the same behind calls of a shared library", called_round, &called, {0}},
        {"one slice of 8, cache of the thread", cache_round, &cached, {0}},
        {"one slice of 8", memory_round, &one, {0}},
        {"three slices of 8", memory_round, &three, {0}},
        {"opened without wishes, on this machine", memory_round, &unplaced, {0}},
        {"one slice of 8, after a second thread", memory_round, &shared, {0}},
        {"malloc, aligned", malloc_round, &heap, {0}},
    };
    size_t count = sizeof subjects / sizeof subjects[0];
    printf("%d rounds in turn; first decile, median, ninth decile; plain memory: %s\n", ROUNDS,
           skl_memory_plain_because(unplaced.memory) == NULL ? "none" : "that without wishes");
    uint64_t random = 1;
    for (live_lines = 4096; live_lines <= MOST_LIVE; live_lines *= 16) {
        printf("%zu lines in use:\n", live_lines);
        // All lines in use are taken before the first round, in an order as random as later.
        for (size_t round = 0; round < 16 * live_lines / PAIRS; round++) {
            for (size_t i = 0; i < PAIRS; i++)
                choices[i] = (uint32_t)(next_random(&random) % live_lines);
            for (size_t i = 0; i < count; i++)
                subjects[i].round(subjects[i].state);
        }
        if (live_lines == 4096)
            share(&shared);
        report("line", PAIRS, subjects, count);
    }
    return 0;
}
