// Opens a memory while less and less is missing: short_of_memory TABLE
// Where the library would end the process, this program does not reach its last line.
#include "check.h"
#include <errno.h>
#include <skipline_slices.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const size_t mib = 1u << 20;

// Address space of this process.
static size_t used(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int open_with(size_t room, const skl_slice_map *map, char *error, size_t error_bytes) {
    struct rlimit limit, all;
    skl_memory *memory = NULL;
    CHECK(getrlimit(RLIMIT_AS, &all) == 0);
    limit = all;
    limit.rlim_cur = used() + room;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    int result = skl_memory_open(map, 256 * mib, 2 * mib, 1, &memory, error, error_bytes);
    CHECK(setrlimit(RLIMIT_AS, &all) == 0);
    CHECK((result < 0) == (memory == NULL));
    skl_memory_close(memory);
    return result;
}

int main(int count, char **arguments) {
    skl_slice_map *map = NULL;
    char error[200] = "";
    CHECK(count == 2);
    CHECK(skl_slice_map_open(arguments[1], &map, error, sizeof error) == 0);
    // The pages alone, and step by step everything that is kept beside them.
    int refused = 0, opened = 0;
    for (size_t room = 257; room < 384; room += 2) {
        int result = open_with(room * mib, map, error, sizeof error);
        opened += result >= 0;
        refused += result < 0;
        CHECK(result >= 0 || (result == -ENOMEM && strstr(error, "no memory") != NULL));
    }
    skl_slice_map_close(map);
    printf("%d refused, %d opened\n", refused, opened);
    return refused > 10 && opened > 10 ? 0 : 1;
}
