// A memory whose pages are where the program says, so that slices are known on every machine.
#ifndef EMULATED_H
#define EMULATED_H

#include "check.h"
#include <skipline_slices.h>
#include <stdlib.h>

enum { EMULATED_PAGES = 4 };

static const size_t emulated_page_bytes = 2u << 20;

// Physical addresses of the pages, in no order.
static const uint64_t emulated_pages[EMULATED_PAGES] = {
    UINT64_C(0x140000000), UINT64_C(0x13fe00000), UINT64_C(0x7c00000), UINT64_C(0x1f00000000)};

typedef struct emulated {
    unsigned char *own, *start;
    skl_memory *memory;
} emulated;

static inline emulated open_emulated(const skl_slice_map *map) {
    emulated all;
    char error[200];
    size_t bytes = EMULATED_PAGES * emulated_page_bytes;
    all.own = (unsigned char *)malloc(bytes + emulated_page_bytes);
    CHECK(all.own != NULL);
    all.start = all.own + (emulated_page_bytes - (uintptr_t)all.own % emulated_page_bytes);
    int opened = skl_memory_open_on(map, all.start, bytes, emulated_page_bytes, emulated_pages,
                                    SKL_ANY_NODE, &all.memory, error, sizeof error);
    if (opened != 0)
        fprintf(stderr, "%s\n", error);
    CHECK(opened == 0);
    return all;
}

// Slice of a byte of the memory by the table.
static inline int emulated_slice(const emulated *all, const skl_slice_map *map, const void *address) {
    size_t offset = (size_t)((const unsigned char *)address - all->start);
    uint64_t page = emulated_pages[offset / emulated_page_bytes];
    return skl_slice_of(map, page + offset % emulated_page_bytes);
}

static inline void close_emulated(emulated *all) {
    skl_memory_close(all->memory);
    free(all->own);
}

#endif
