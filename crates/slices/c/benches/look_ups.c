// Time of a look-up through the C interface: one address at a time, and many at once. Addresses are
// random lines of 128 GiB, few enough to stay in the caches, as are the tables.
#include "interleaved.h"
#include <skipline_slices.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESSES = 1024 };

static uint64_t addresses[ADDRESSES];
static uint16_t slices[ADDRESSES];
static volatile int sink;

static void one_at_a_time(void *map) {
    int sum = 0;
    for (int i = 0; i < ADDRESSES; i++)
        sum += skl_slice_of(map, addresses[i]);
    sink = sum;
}

// The function of the library, as other languages call it.
static void by_calls(void *map) {
    int sum = 0;
    for (int i = 0; i < ADDRESSES; i++)
        sum += (skl_slice_of)(map, addresses[i]);
    sink = sum;
}

// What remains of that if the function does nothing.
static void empty_calls(void *map) {
    uintptr_t sum = (uintptr_t)map;
    for (int i = 0; i < ADDRESSES; i++)
        sum += (uintptr_t)skl_version();
    sink = (int)sum;
}

static void batch(void *map) {
    sink = skl_slices_of(map, addresses, slices, ADDRESSES);
}

static skl_slice_map *opened(const char *text) {
    char path[] = "/tmp/slice-table-XXXXXX", error[200];
    skl_slice_map *map = NULL;
    int file = mkstemp(path);
    size_t bytes = strlen(text);
    if (file < 0 || write(file, text, bytes) != (ssize_t)bytes ||
        skl_slice_map_open(path, &map, error, sizeof error) < 0) {
        fprintf(stderr, "%s: %s\n", path, error);
        exit(1);
    }
    close(file);
    unlink(path);
    return map;
}

// Eighteen slices, a sequence of 4096 lines, as large parts have it.
static skl_slice_map *sequence(uint64_t *random) {
    static char text[1 << 17];
    size_t end = 0;
    end += (size_t)sprintf(text, "part = 'p'\nsource = 's'\nslices = 18\nvalid_bits = [6, 36]\n"
                                 "perm_masks = [");
    for (int i = 0; i < 12; i++)
        end += (size_t)sprintf(&text[end], "%llu,",
                               (unsigned long long)(next_random(random) % (1 << 19)) << 18);
    end += (size_t)sprintf(&text[end], "]\nbase = [");
    for (int i = 0; i < 4096; i++)
        end += (size_t)sprintf(&text[end], "%d,", i < 18 ? i : (int)(next_random(random) % 18));
    sprintf(&text[end], "]\n");
    return opened(text);
}

int main(void) {
    uint64_t random = 1;
    for (int i = 0; i < ADDRESSES; i++)
        addresses[i] = next_random(&random) % (UINT64_C(1) << 37);
    skl_slice_map *long_sequence = sequence(&random);
    skl_slice_map *xor = opened("part = 'p'\nsource = 's'\nslices = 8\nvalid_bits = [6, 37]\n"
                                "perm_masks = [0x1B5F575400, 0x2EB5FAA800, 0x3CCCC93000]\n"
                                "base = [0, 1, 2, 3, 4, 5, 6, 7]\n");
    static subject subjects[] = {
        {"one at a time, 18 slices x 4096 lines", one_at_a_time, NULL, {0}},
        {"one at a time, 8 slices by XOR", one_at_a_time, NULL, {0}},
        {"batch, 18 slices x 4096 lines", batch, NULL, {0}},
        {"batch, 8 slices by XOR", batch, NULL, {0}},
        {"calls, 18 slices x 4096 lines", by_calls, NULL, {0}},
        {"calls, 8 slices by XOR", by_calls, NULL, {0}},
        {"calls of skl_version()", empty_calls, NULL, {0}},
    };
    size_t count = sizeof subjects / sizeof subjects[0];
    for (size_t i = 0; i < count; i++)
        subjects[i].state = i % 2 == 0 ? long_sequence : xor;
    printf("%d rounds in turn; first decile, median, ninth decile\n", ROUNDS);
    report("address", ADDRESSES, subjects, count);
    skl_slice_map_close(long_sequence);
    skl_slice_map_close(xor);
    return 0;
}
