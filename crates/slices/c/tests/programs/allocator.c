// What programs expect of an allocator: memory of their own, growth, calloc, realloc, caches:
// allocator TABLE LATENCIES
// Prints whether the memory regards slices, or why it does not.
#include "emulated.h"
#include <errno.h>
#include <string.h>

static void memory_of_the_caller(const skl_slice_map *map) {
    char error[300];
    emulated all = open_emulated(map);
    uint16_t slices[] = {3, 6};
    int owner = skl_memory_claim(all.memory, slices, 2, NULL, 0);
    CHECK(owner >= 0 && skl_memory_plain_because(all.memory) == NULL);
    for (int i = 0; i < 10000; i++) {
        void *object = NULL;
        CHECK(skl_memory_allocate(all.memory, owner, 1 + (size_t)i % 64, &object) == 0);
        int slice = emulated_slice(&all, map, object);
        CHECK((slice == 3 || slice == 6) && skl_memory_slice(all.memory, object) == slice);
        memset(object, i & 0xff, 1 + (size_t)i % 64);
    }
    CHECK(skl_memory_grow(all.memory, 1, error, sizeof error) == -ENOMEM);
    CHECK(skl_memory_give_back(all.memory, 0) == 0);
    skl_memory *other = NULL;
    size_t page = emulated_page_bytes;
    const uint64_t beyond[] = {UINT64_C(1) << 38};
    CHECK(skl_memory_open_on(map, all.start + 64, page, page, NULL, SKL_ANY_NODE, &other, error,
                             sizeof error) == -EINVAL);
    CHECK(skl_memory_open_on(map, all.start, page, page, beyond, SKL_ANY_NODE, &other, error,
                             sizeof error) == -ERANGE);
    CHECK(strstr(error, "does not cover") != NULL);
    CHECK(skl_memory_open_on(map, all.start, page, page, beyond, -2, &other, error,
                             sizeof error) == -EINVAL);
    close_emulated(&all);
}

static void zeroed_and_resized(const skl_slice_map *map) {
    emulated all = open_emulated(map);
    uint16_t slice = 1;
    int owner = skl_memory_claim(all.memory, &slice, 1, NULL, 0);
    void *object = NULL;
    CHECK(skl_memory_allocate_zeroed(all.memory, owner, 4, 8, &object) == 0);
    for (int i = 0; i < 32; i++)
        CHECK(((unsigned char *)object)[i] == 0);
    CHECK(skl_memory_allocate_zeroed(all.memory, owner, SIZE_MAX, 8, &object) == -EMSGSIZE);
    CHECK(skl_memory_free(all.memory, object) == 0);
    object = NULL;
    CHECK(skl_memory_reallocate(all.memory, owner, 5, &object) == 0);
    memcpy(object, "line", 5);
    for (size_t bytes = 5; bytes <= 64; bytes++) {
        CHECK(skl_memory_reallocate(all.memory, owner, bytes, &object) == 0);
        CHECK(strcmp(object, "line") == 0 && emulated_slice(&all, map, object) == 1);
    }
    CHECK(skl_memory_reallocate(all.memory, owner, 65, &object) == -EMSGSIZE);
    CHECK(strcmp(object, "line") == 0);
    skl_memory_statistics statistics, of_owner;
    CHECK(skl_memory_get_statistics(all.memory, &statistics) == 0);
    CHECK(skl_memory_get_owner_statistics(all.memory, owner, &of_owner) == 0);
    CHECK(memcmp(&statistics, &of_owner, sizeof of_owner) == 0);
    CHECK(statistics.objects == 1 && statistics.unused_bytes_of_used_lines == 0);
    CHECK(statistics.list_bytes / statistics.lines == 17);
    CHECK(skl_memory_get_owner_statistics(all.memory, owner + 1, &of_owner) == -ENOENT);
    close_emulated(&all);
}

static void many_lines(const skl_slice_map *map) {
    enum { COUNT = 3000 };
    static void *lines[COUNT], *again[COUNT];
    emulated all = open_emulated(map);
    uint16_t slice = 4;
    int owner = skl_memory_claim(all.memory, &slice, 1, NULL, 0);
    CHECK(skl_memory_allocate_lines(all.memory, owner, lines, COUNT) == 0);
    for (int i = 0; i < COUNT; i++)
        CHECK(emulated_slice(&all, map, lines[i]) == 4);
    CHECK(skl_memory_free_lines(all.memory, lines, COUNT) == 0);
    CHECK(skl_memory_free_lines(all.memory, lines, COUNT) == -EINVAL);
    CHECK(skl_memory_allocate_lines(all.memory, owner, lines, 1u << 20) == -ENOMEM);
    skl_cache cache = {all.memory, owner, 0, {NULL}};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            CHECK(skl_cache_allocate(&cache, &again[i]) == 0);
            memset(again[i], i & 0xff, SKL_LINE_BYTES);
        }
        for (int i = 0; i < COUNT; i++) {
            CHECK(*(unsigned char *)again[i] == (i & 0xff));
            CHECK(skl_cache_free(&cache, again[i]) == 0);
        }
    }
    skl_memory_statistics statistics;
    CHECK(skl_memory_get_statistics(all.memory, &statistics) == 0);
    CHECK(statistics.used_lines == cache.count && cache.count > 0);
    CHECK(skl_cache_flush(&cache) == 0 && skl_memory_release(all.memory, owner) == 0);
    close_emulated(&all);
}

// A line that is none comes to light when the cache is full: no line is in it and in the memory then.
static void spoiled_cache(const skl_slice_map *map) {
    enum { FULL = 64, SPOILED = 40 };
    static unsigned char none[SKL_LINE_BYTES];
    emulated all = open_emulated(map);
    uint16_t slice = 4;
    int owner = skl_memory_claim(all.memory, &slice, 1, NULL, 0);
    skl_cache cache = {all.memory, owner, 0, {NULL}};
    void *lines[FULL + 1], *again;
    CHECK(skl_memory_allocate_lines(all.memory, owner, lines, FULL + 1) == 0);
    for (int i = 0; i < FULL; i++)
        CHECK(skl_cache_free(&cache, i == SPOILED ? none : lines[i]) == 0);
    CHECK(skl_cache_free(&cache, lines[FULL]) == -EINVAL);
    for (int i = 0; i < FULL; i++) {
        CHECK(skl_memory_allocate(all.memory, owner, SKL_LINE_BYTES, &again) == 0);
        for (unsigned j = 0; j < cache.count; j++)
            CHECK(cache.lines[j] != again);
    }
    CHECK(skl_cache_free(&cache, lines[FULL]) == 0 && skl_cache_flush(&cache) == 0);
    close_emulated(&all);
}

static void growth(const skl_slice_map *map) {
    char error[400] = "";
    skl_memory *memory = NULL;
    skl_memory_request request = {1, 8u << 20, 2u << 20, SKL_ANY_NODE, 1};
    CHECK(skl_memory_open_as(map, NULL, &memory, error, sizeof error) == -EINVAL);
    request.node = 1000;
    int refused = skl_memory_open_as(map, &request, &memory, error, sizeof error);
    CHECK(refused == -ENODEV && strstr(error, "no node 1000") != NULL);
    request.node = SKL_ANY_NODE;
    CHECK(skl_memory_open_as(map, &request, &memory, error, sizeof error) >= 0);
    const char *reason = skl_memory_plain_because(memory);
    printf("%s\n", reason == NULL ? "slice-aware" : reason);
    uint16_t slices[] = {0, 1, 2, 3, 4, 5, 6, 7};
    int owner = skl_memory_claim(memory, slices, 8, NULL, 0);
    size_t lines = 0;
    void *line = NULL;
    // What all pages would not suffice for takes none of them.
    skl_memory_statistics before, after;
    CHECK(skl_memory_get_statistics(memory, &before) == 0);
    CHECK(skl_memory_allocate_lines(memory, owner, &line, (size_t)1 << 40) == -ENOMEM);
    CHECK(skl_memory_get_statistics(memory, &after) == 0 && after.lines == before.lines);
    while (skl_memory_allocate(memory, owner, 64, &line) == 0)
        lines++;
    CHECK(lines % 32768 == 0 && lines >= 32768 && (reason == NULL || lines == 4 * 32768));
    CHECK(skl_memory_grow(memory, 1, error, sizeof error) == -ENOMEM);
    CHECK(skl_memory_give_back(memory, 0) == 0);
    skl_memory_close(memory);
    CHECK(skl_memory_open_as(map, &request, &memory, error, sizeof error) >= 0);
    if (skl_memory_grow(memory, 2u << 20, error, sizeof error) == 0) {
        CHECK(skl_memory_give_back(memory, 2u << 20) == 1);
        CHECK(skl_memory_grow(memory, 2u << 20, error, sizeof error) == 0);
    }
    CHECK(skl_memory_give_back(memory, 0) > 0);
    skl_memory_close(memory);
}

int main(int count, char **arguments) {
    char error[200];
    skl_slice_map *map = NULL;
    CHECK(count == 3 && skl_slice_map_open(arguments[1], &map, error, sizeof error) == 0);
    memory_of_the_caller(map);
    zeroed_and_resized(map);
    many_lines(map);
    spoiled_cache(map);
    growth(map);
    skl_slice_map_close(map);
    return 0;
}
