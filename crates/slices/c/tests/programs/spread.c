// Pools of 4,096 buffers of 2 KiB in huge pages at random: no set of a slice gets more lines than the mean,
// rounded up, and one more. Counted here from physical addresses.
#include "check.h"
#include <errno.h>
#include <skipline_slices.h>
#include <string.h>

enum { BUFFERS = 4096, BUFFER_BYTES = 2048, SETS = 2048, PAGES = 16, MOST_PAGES = 64 };
enum { OF_PAGE = (2 << 20) / BUFFER_BYTES, LINES = BUFFER_BYTES / SKL_LINE_BYTES };

static uint64_t state;

// xorshift64*
static uint64_t draw(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(2685821657736338717);
}

// Distinct pages of 2 MiB below 32 GiB, in no order.
static void draw_pages(uint64_t *pages, size_t count) {
    size_t found = 0, other;
    while (found < count) {
        pages[found] = (draw() >> 50) << 21;
        for (other = 0; other < found && pages[other] != pages[found]; other++)
            ;
        found += other == found;
    }
}

static unsigned most_lines(const skl_slice_map *map, const uint64_t *buffers, const size_t *chosen) {
    static unsigned counts[64][SETS];
    unsigned most = 0;
    size_t buffer, line;
    memset(counts, 0, sizeof counts);
    for (buffer = 0; buffer < BUFFERS; buffer++)
        for (line = 0; line < LINES; line++) {
            uint64_t address = buffers[chosen[buffer]] + line * SKL_LINE_BYTES;
            int slice = skl_slice_of(map, address);
            CHECK(slice >= 0 && slice < 64);
            unsigned *count = &counts[slice][(address >> 6) % SETS];
            if (++*count > most)
                most = *count;
        }
    return most;
}

// Chooses a pool, among more pages if the first ones are too alike. Returns whether more were needed.
static int choose(const skl_slice_map *map, size_t *chosen) {
    static uint64_t pages[MOST_PAGES], buffers[MOST_PAGES * OF_PAGE];
    static unsigned char taken[MOST_PAGES * OF_PAGE];
    const skl_spread_request request = {BUFFERS, BUFFER_BYTES, SETS};
    unsigned sets = SETS * (unsigned)skl_slice_map_slices(map);
    int limit = (int)((BUFFERS * LINES + sets - 1) / sets) + 1;
    size_t count, buffer;
    draw_pages(pages, MOST_PAGES);
    for (buffer = 0; buffer < MOST_PAGES * OF_PAGE; buffer++)
        buffers[buffer] = pages[buffer / OF_PAGE] + buffer % OF_PAGE * BUFFER_BYTES;
    for (count = PAGES; count <= MOST_PAGES; count *= 2) {
        int most = skl_spread_buffers(map, &request, buffers, count * OF_PAGE, chosen, NULL, 0);
        if (most == -ENOSPC)
            continue;
        CHECK(most > 0 && most <= limit);
        CHECK(most_lines(map, buffers, chosen) == (unsigned)most);
        memset(taken, 0, sizeof taken);
        for (buffer = 0; buffer < BUFFERS; buffer++)
            CHECK(chosen[buffer] < count * OF_PAGE && !taken[chosen[buffer]]++);
        return count > PAGES;
    }
    CHECK(!"a choice among four times as many pages");
    return 0;
}

static void refusals(const skl_slice_map *map, size_t *chosen) {
    static uint64_t few[BUFFERS];
    skl_spread_request request = {BUFFERS, 3000, SETS};
    char error[200];
    CHECK(skl_spread_buffers(map, &request, few, BUFFERS, chosen, error, sizeof error) == -EINVAL);
    CHECK(strstr(error, "a power of two is allowed") != NULL);
    request.buffer_bytes = BUFFER_BYTES;
    CHECK(skl_spread_buffers(map, &request, few, 9, chosen, error, sizeof error) == -ENOSPC);
    CHECK(strstr(error, "hold 9 buffers, and 4096 are wanted") != NULL);
    // All buffers at one address.
    CHECK(skl_spread_buffers(map, &request, few, BUFFERS, chosen, error, sizeof error) == -ENOSPC);
    few[7] = 64;
    CHECK(skl_spread_buffers(map, &request, few, BUFFERS, chosen, error, sizeof error) == -EINVAL);
    few[7] = UINT64_C(1) << 60;
    CHECK(skl_spread_buffers(map, &request, few, BUFFERS, chosen, error, sizeof error) == -ERANGE);
    CHECK(skl_spread_buffers(NULL, &request, few, BUFFERS, chosen, error, sizeof error) == -EINVAL);
    CHECK(skl_spread_buffers(map, &request, few, BUFFERS, NULL, error, sizeof error) == -EINVAL);
}

int main(int argc, char **argv) {
    static size_t chosen[BUFFERS];
    int pools = argc > 3 ? atoi(argv[3]) : 2, pool, grown = 0;
    skl_slice_map *map;
    CHECK(skl_slice_map_open("published:skx-18", &map, NULL, 0) == 0);
    for (pool = 0; pool < pools; pool++) {
        state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(pool + 1);
        grown += choose(map, chosen);
    }
    refusals(map, chosen);
    printf("slice-aware: %d pools keep to their limit, %d of them among more pages\n", pools, grown);
    skl_slice_map_close(map);
    return 0;
}
