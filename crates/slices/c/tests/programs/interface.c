// Calls every function of libskipline_slices as a C program would: interface TABLE LATENCIES
// Prints whether the memory regards slices, or why it does not.
#include "check.h"
#include <errno.h>
#include <limits.h>
#include <skipline_slices.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t huge_page_bytes = 2u << 20;

static void look_ups(const char *table, skl_slice_map **map) {
    char error[200] = "untouched";
    CHECK(skl_slice_map_open("/nowhere", map, error, sizeof error) == -ENOENT);
    CHECK(strstr(error, "/nowhere: cannot be read") != NULL);
    CHECK(skl_slice_map_open(NULL, map, error, sizeof error) == -EINVAL);
    CHECK(strcmp(error, "`table_path` is NULL") == 0);
    CHECK(skl_slice_map_open(table, NULL, NULL, 0) == -EINVAL);
    CHECK(skl_slice_map_open("/proc/self/cmdline", map, error, 10) == -EINVAL);
    CHECK(strlen(error) == 9);
    CHECK(skl_slice_map_open("published:skx-17", map, error, sizeof error) == -ENOENT);
    CHECK(strstr(error, "skx-16, skx-18"));
    CHECK(skl_slice_map_open("published:skx-18", map, error, sizeof error) == 0);
    CHECK(skl_slice_map_slices(*map) == 18 && skl_slice_of(*map, 64) == 11);
    skl_slice_map_close(*map);
    CHECK(skl_slice_map_open(table, map, error, sizeof error) == 0);
    CHECK(skl_slice_map_slices(*map) == 8 && skl_slice_map_slices(NULL) == -EINVAL);
    CHECK(skl_slice_of(*map, 0x40) == 1 && skl_slice_of(*map, 0x100) == 4);
    CHECK(skl_slice_of(*map, UINT64_C(1) << 38) == -ERANGE);
    CHECK(skl_slice_of(NULL, 0) == -EINVAL && (skl_slice_of)(NULL, 0) == -EINVAL);
    // What is compiled into the program says what the library says.
    for (uint64_t i = 0, address = 0; i < 100000; i++, address += UINT64_C(0x9e3779b97f4a7c15)) {
        uint64_t below = address >> 20;
        CHECK(skl_slice_of(*map, address) == (skl_slice_of)(*map, address));
        CHECK(skl_slice_of(*map, below) == (skl_slice_of)(*map, below));
    }
    uint64_t addresses[] = {0, 0x40, 0x80, UINT64_MAX};
    uint16_t slices[4];
    CHECK(skl_slices_of(*map, addresses, slices, 3) == 0);
    CHECK(slices[0] == 0 && slices[1] == 1 && slices[2] == 2);
    CHECK(skl_slices_of(*map, addresses, slices, 4) == -ERANGE);
    CHECK(skl_slices_of(*map, NULL, NULL, 0) == 0);
    CHECK(skl_slices_of(*map, addresses, NULL, 1) == -EINVAL);
    CHECK(strlen(skl_version()) > 0);
}

// A file that is no text is no slice table and no latency file: it can be read well enough.
static void tables_that_are_no_text(void) {
    char path[] = "/tmp/no-text-XXXXXX", error[200];
    int file = mkstemp(path);
    skl_slice_map *map = NULL;
    skl_latencies *latencies = NULL;
    CHECK(file >= 0 && write(file, "part = '\xff'\n", 11) == 11 && close(file) == 0);
    CHECK(skl_slice_map_open(path, &map, error, sizeof error) == -EINVAL);
    CHECK(strstr(error, path) != NULL && strstr(error, "UTF-8") != NULL);
    CHECK(skl_latencies_open(path, &latencies, error, sizeof error) == -EINVAL);
    CHECK(unlink(path) == 0);
}

static void distances(const char *path) {
    skl_latencies *latencies = NULL;
    char error[200];
    CHECK(skl_latencies_open("/proc/self/cmdline", &latencies, error, sizeof error) == -EINVAL);
    CHECK(skl_latencies_open(path, &latencies, error, sizeof error) == 0);
    CHECK(skl_latencies_cores(latencies) == 2 && skl_latencies_slices(latencies) == 3);
    uint16_t nearest[3] = {9, 9, 9};
    CHECK(skl_nearest_slices(latencies, 1, nearest, 2) == 2);
    CHECK(nearest[0] == 1 && nearest[1] == 2 && nearest[2] == 9);
    CHECK(skl_nearest_slices(latencies, 2, nearest, 3) == -ERANGE);
    unsigned cores[] = {0, 1};
    CHECK(skl_shared_slice(latencies, cores, 2) == 2);
    CHECK(skl_shared_slice(latencies, cores, 0) == -EINVAL);
    skl_latencies_close(latencies);
    skl_latencies_close(NULL);
}

// Every object is where its owner's slices are, by the address that the kernel reports.
static void check_place(const skl_slice_map *map, skl_memory *memory, void *object, int slice) {
    if (skl_memory_plain_because(memory) != NULL) {
        CHECK(skl_memory_slice(memory, object) == -ENODATA);
        return;
    }
    uint64_t physical = 0;
    char error[200];
    CHECK(skl_physical_address(object, &physical, error, sizeof error) == 0);
    CHECK(skl_slice_of(map, physical) == slice);
    CHECK(skl_memory_slice(memory, object) == slice);
}

static void objects(const skl_slice_map *map, skl_memory *memory, int owner, int slice) {
    enum { COUNT = 5000 };
    static unsigned char *live[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size_t bytes = 1 + i % 64;
        CHECK(skl_memory_allocate(memory, owner, bytes, (void **)&live[i]) == 0);
        memset(live[i], i & 0xff, bytes);
        check_place(map, memory, live[i], slice);
    }
    skl_memory_statistics statistics;
    CHECK(skl_memory_get_statistics(memory, &statistics) == 0);
    CHECK(statistics.objects == COUNT && statistics.used_lines < COUNT);
    CHECK(skl_memory_release(memory, owner) == -EBUSY);
    for (int i = 0; i < COUNT; i++) {
        CHECK(live[i][0] == (i & 0xff) && live[i][i % 64] == (i & 0xff));
        CHECK(skl_memory_free(memory, live[i]) == 0);
        CHECK(skl_memory_free(memory, live[i]) == -EINVAL);
    }
    void *large = NULL;
    CHECK(skl_memory_allocate(memory, owner, SKL_LINE_BYTES + 1, &large) == -EMSGSIZE);
    CHECK(skl_memory_allocate(memory, owner + 7, 8, &large) == -ENOENT);
    CHECK(skl_memory_allocate(memory, -1, 8, &large) == -ENOENT);
    CHECK(skl_memory_free(memory, &large) == -EINVAL && skl_memory_free(memory, NULL) == 0);
}

static void buffers(const skl_slice_map *map, skl_memory *memory, int owner, int slice) {
    struct iovec parts[24];
    CHECK(skl_memory_allocate_scattered(memory, owner, 1500, parts, 23) == -ENOSPC);
    size_t beyond_int = ((size_t)INT_MAX + 1) * 64;
    CHECK(skl_memory_allocate_scattered(memory, owner, beyond_int, parts, SIZE_MAX) == -EOVERFLOW);
    CHECK(skl_memory_allocate_scattered(memory, owner, 1500, parts, 24) == 24);
    CHECK(parts[0].iov_len == 64 && parts[23].iov_len == 1500 - 23 * 64);
    for (int i = 0; i < 24; i++) {
        memset(parts[i].iov_base, 0xaa, parts[i].iov_len);
        check_place(map, memory, parts[i].iov_base, slice);
        CHECK(skl_memory_free(memory, parts[i].iov_base) == 0);
    }
    skl_linked_line *first = NULL;
    CHECK(skl_memory_allocate_linked(memory, owner, 1500, &first) == 0);
    size_t bytes = 0;
    for (skl_linked_line *line = first; line != NULL; line = line->next) {
        memset(line->bytes, 0xbb, sizeof line->bytes);
        check_place(map, memory, line, slice);
        bytes += sizeof line->bytes;
    }
    CHECK(bytes >= 1500 && bytes < 1500 + 56);
    skl_linked_line *second = first->next;
    first->next = (skl_linked_line *)&bytes;
    CHECK(skl_memory_free_linked(memory, first) == -EINVAL);
    first->next = second;
    CHECK(skl_memory_free_linked(memory, first) == 0);
    CHECK(skl_memory_free_linked(memory, NULL) == 0);
}

// More parts than one writev() takes: they are handed over in pieces.
static void parts_beyond_iov_max(skl_memory *memory, int owner) {
    enum { COUNT = 1030 };
    static struct iovec parts[COUNT];
    long most = sysconf(_SC_IOV_MAX), wanted = COUNT;
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(skl_memory_allocate_scattered(memory, owner, COUNT * 64, parts, COUNT) == COUNT);
    for (long first = 0; first < wanted; first += most) {
        long count = wanted - first < most ? wanted - first : most;
        static char read_back[COUNT * 64];
        CHECK(writev(ends[1], &parts[first], (int)count) == count * 64);
        CHECK(read(ends[0], read_back, sizeof read_back) > 0);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(skl_memory_free(memory, parts[i].iov_base) == 0);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

// Pages of a parent are not the child's; plain memory is copied.
static int use_in_child(skl_memory *memory, int owner, skl_linked_line *of_parent, int expected) {
    skl_linked_line *first = NULL;
    struct iovec part;
    void *object = NULL;
    int scattered = skl_memory_allocate_scattered(memory, owner, 8, &part, 1);
    CHECK(skl_memory_allocate_linked(memory, owner, 100, &first) == expected);
    CHECK(skl_memory_allocate(memory, owner, 64, &object) == expected);
    CHECK(scattered == (expected == 0 ? 1 : expected));
    CHECK(skl_memory_free_linked(memory, of_parent) == expected);
    skl_memory_close(memory);
    return 0;
}

static void children(skl_memory *memory, int owner) {
    int expected = skl_memory_plain_because(memory) == NULL ? -ENXIO : 0, status = 0;
    skl_linked_line *first = NULL;
    CHECK(skl_memory_allocate_linked(memory, owner, 100, &first) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(use_in_child(memory, owner, first, expected));
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(skl_memory_free_linked(memory, first) == 0);
}

static void memory_in_slices(const skl_slice_map *map) {
    char error[400];
    skl_memory *memory = NULL;
    CHECK(skl_memory_open(map, 1, 4096, 1, &memory, error, sizeof error) == -EINVAL);
    int plain = skl_memory_open(map, 4 << 20, huge_page_bytes, 1, &memory, error, sizeof error);
    if (plain < 0) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    const char *reason = skl_memory_plain_because(memory);
    CHECK((plain == 1) == (reason != NULL));
    CHECK(reason == NULL || strncmp(error, reason, sizeof error - 1) == 0);
    uint16_t two[] = {5, 6};
    int owner = skl_memory_claim(memory, two, 1, NULL, 0);
    CHECK(owner >= 0);
    CHECK(skl_memory_claim(memory, two, 2, error, sizeof error) == -EBUSY);
    CHECK(strcmp(error, "slice 5 belongs to owner 0; sets of slices must be disjoint") == 0);
    CHECK(skl_memory_claim(memory, two, 0, NULL, 0) == -EINVAL);
    two[0] = 8;
    CHECK(skl_memory_claim(memory, two, 2, NULL, 0) == -ERANGE);
    objects(map, memory, owner, 5);
    buffers(map, memory, owner, 5);
    parts_beyond_iov_max(memory, owner);
    children(memory, owner);
    CHECK(skl_memory_verify(memory, error, sizeof error) == 0);
    CHECK(skl_memory_release(memory, owner) == 0 && skl_memory_release(memory, owner) == -ENOENT);
    printf("%s\n", reason == NULL ? "slice-aware" : reason);
    skl_memory_close(memory);
    skl_memory_close(NULL);
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    skl_slice_map *map = NULL;
    look_ups(arguments[1], &map);
    tables_that_are_no_text();
    distances(arguments[2]);
    memory_in_slices(map);
    skl_slice_map_close(map);
    skl_slice_map_close(NULL);
    return 0;
}
