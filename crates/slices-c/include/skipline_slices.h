/*
 * libskipline_slices: which slice of the last-level cache a line is in, the nearest slices of a
 * core, and memory in chosen slices. See skipline_slices(3).
 *
 * - Functions return 0 or a count, or a negative errno. A pointer that must not be NULL and is
 *   gives -EINVAL. -ENOTRECOVERABLE is a fault of the library itself.
 * - Where a function takes `error`, it writes a text for people there if it fails: at most
 *   `error_bytes` bytes, always terminated. NULL and 0 mean that no text is wanted.
 * - The library never prints, never ends the process, and starts no threads.
 * - Containers of C++ get memory in slices by skipline_slices.hpp.
 */

#ifndef SKIPLINE_SLICES_H
#define SKIPLINE_SLICES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

// What skl_slice_of() reads, part of the binary interface. Programs have no other use for it.
typedef struct skl_short_form {
    // Addresses below `limit` are covered, and those whose bits `compared` are `fixed`. For any
    // others the library is asked.
    uint64_t limit, compared, fixed;
    // What bits 6 to 14, 15 to 23, 24 to 32 and 33 to 41 add to the position in the sequence.
    uint16_t parts[4][512];
    // Slice of each position.
    uint8_t base[65536];
} skl_short_form;

// In place of a node: any, but all pages on the same one.
#define SKL_ANY_NODE -1

// Bytes of a line, and the most that an object has.
#define SKL_LINE_BYTES 64

// Latencies from cores to slices. They are never changed: threads may share them.
typedef struct skl_latencies skl_latencies;

// Memory whose lines are handed out by slice. Any number of threads may call its functions at once
// but for skl_memory_close(). The first thread that calls one takes no lock; from the first call of
// another one on all take a mutex. Children of the process do not inherit huge pages: they are
// refused new memory, and may close the handle.
typedef struct skl_memory skl_memory;

// The slice function of a part, and for which physical addresses it is established. It is never
// changed: threads may share it.
typedef struct skl_slice_map skl_slice_map;

// What memory is wanted.
typedef struct skl_memory_request {
    // Bytes to begin with.
    size_t bytes;
    // Bytes that the memory may grow to, where an owner's slices are full; 0: it does not grow.
    size_t most_bytes;
    // Size of its pages: 2 MiB or 1 GiB.
    size_t page_bytes;
    // Node of the socket whose slices the table numbers, or SKL_ANY_NODE.
    int node;
    // Whether memory that regards no slices will do.
    int plain_allowed;
} skl_memory_request;

// A line of a linked buffer.
typedef struct skl_linked_line {
    // The next line; NULL in the last one.
    struct skl_linked_line *next;
    // The buffer's part.
    uint8_t bytes[56];
} skl_linked_line;

// How a memory is used.
typedef struct skl_memory_statistics {
    // All lines of 64 bytes.
    uint64_t lines;
    // Lines in slices that an owner has claimed; no owner can use the others.
    uint64_t claimed_lines;
    // Lines that are handed out, whole or in parts.
    uint64_t used_lines;
    // Objects that are handed out; each line of a buffer counts as one.
    uint64_t objects;
    // Bytes of used lines that were not asked for: free places, sizes rounded up, links.
    uint64_t unused_bytes_of_used_lines;
    // Bytes of the lists that are kept beside all lines.
    uint64_t list_bytes;
} skl_memory_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Reads a latency file: TOML with the keys part, source, kind ("measured" or "modelled") and
// cycles, a list of rows: core by core the read latency to each slice in cycles. On success
// `*latencies` is to be closed with skl_latencies_close().
//
// -EINVAL if the file is no latency file, else what the system says about the file.
int skl_latencies_open(const char *latency_path,
                       struct skl_latencies **latencies,
                       char *error,
                       size_t error_bytes);

// Frees latencies; NULL does nothing. No other thread may be using them.
void skl_latencies_close(struct skl_latencies *latencies);

// Cores with latencies: core numbers go from 0 to this less one.
int skl_latencies_cores(const struct skl_latencies *latencies);

// Slices that cores have latencies to.
int skl_latencies_slices(const struct skl_latencies *latencies);

// The slices by their latency from `core`, nearest first, lower numbers first among equals: the
// first `count` of them, or all if there are fewer. Returns how many were written.
//
// -ERANGE if there are no latencies of the core.
int skl_nearest_slices(const struct skl_latencies *latencies,
                       unsigned int core,
                       uint16_t *slices,
                       size_t count);

// The slice for data that `count` cores share: the one with the lowest mean latency, the lowest
// number among equals.
//
// -EINVAL without cores, -ERANGE if there are no latencies of one.
int skl_shared_slice(const struct skl_latencies *latencies,
                     const unsigned int *cores,
                     size_t count);

// `count` lines of SKL_LINE_BYTES in the owner's slices, all or none. Each is given back by
// skl_memory_free() or skl_memory_free_lines().
//
// As skl_memory_allocate().
int skl_memory_allocate_lines(struct skl_memory *memory, int owner, void **lines, size_t count);

// Takes `count` objects or lines back.
//
// -EINVAL if nothing that is handed out begins at one of the addresses; those before it are taken
// back then.
int skl_memory_free_lines(struct skl_memory *memory, void *const *lines, size_t count);

// Gives the memory back to the system, or leaves it to the caller that has brought it, whatever of
// it is handed out; NULL does nothing. No other thread may be using it.
void skl_memory_close(struct skl_memory *memory);

// Why the memory regards no slices, as a text that lives as long as the memory; NULL if it does
// regard them.
const char *skl_memory_plain_because(const struct skl_memory *memory);

// Reads the physical addresses of the pages again: -ESTALE if the kernel moved one since.
int skl_memory_verify(const struct skl_memory *memory, char *error, size_t error_bytes);

// The slice of what is handed out at an address: -EINVAL if nothing is, -ENODATA if the memory
// regards no slices.
int skl_memory_slice(const struct skl_memory *memory, const void *address);

// Maps at least `bytes` more, in whole pages. A memory that may grow also does so by itself.
//
// -ENOMEM if there are too few pages or the memory may not grow so far, else as skl_memory_open();
// -ENXIO in a child of the process that opened the memory. Nothing is mapped then.
int skl_memory_grow(struct skl_memory *memory, size_t bytes, char *error, size_t error_bytes);

// Gives pages of which nothing is handed out back to the system, and keeps at least `keep_bytes`.
// Returns how many. Pages that the caller has brought are kept.
//
// -ENOMEM if memory is short, -ENXIO in a child of the process that opened the memory.
int skl_memory_give_back(struct skl_memory *memory, size_t keep_bytes);

// Maps at least `bytes` of huge pages of `page_bytes` (2 MiB or 1 GiB) and sorts their lines by
// slice. On success `*memory` is to be closed with skl_memory_close().
//
// Without huge pages, or where the kernel hides physical addresses, it fails (-ENOMEM, -EPERM); with
// `plain_allowed` it returns 1 instead: a memory that regards no slices, and the reason as text in
// `error`. In either case -ERANGE if the table does not cover the pages, and -ENOMEM if there is too
// little memory of any kind; 18 bytes for each line are needed beside the pages. -ENODEV if the
// pages are on several nodes.
int skl_memory_open(const struct skl_slice_map *map,
                    size_t bytes,
                    size_t page_bytes,
                    int plain_allowed,
                    struct skl_memory **memory,
                    char *error,
                    size_t error_bytes);

// As skl_memory_open(), with more wishes. On a machine of several sockets the table's numbers are
// those of one: its node is to be stated, and pages that are not on it are refused.
//
// -ENODEV if there is no such node, or pages are on another one; -ENODATA if the kernel does not
// say.
int skl_memory_open_as(const struct skl_slice_map *map,
                       const struct skl_memory_request *request,
                       struct skl_memory **memory,
                       char *error,
                       size_t error_bytes);

// Sorts memory of the caller's by slice: `bytes` from `start` on, whole pages of `page_bytes` (2 MiB
// or 1 GiB) that are locked or of hugetlbfs, so that the kernel does not move them. The library
// neither grows nor unmaps it; it has to stay until skl_memory_close().
//
// `physical_pages` has the physical address of each page, for callers that know them (a driver, a
// device's memory); NULL: the kernel is asked. `node` is the table's, or SKL_ANY_NODE; for
// addresses that the caller states it is checked only if it is given.
//
// -EINVAL if `start` or `bytes` is no multiple of `page_bytes`, or the memory is no huge page; else as
// skl_memory_open_as(). Memory that regards no slices is no option here.
int skl_memory_open_on(const struct skl_slice_map *map,
                       void *start,
                       size_t bytes,
                       size_t page_bytes,
                       const uint64_t *physical_pages,
                       int node,
                       struct skl_memory **memory,
                       char *error,
                       size_t error_bytes);

// An object of up to SKL_LINE_BYTES in the owner's slices. It is aligned to its size, rounded up to
// 8, 16, 32 or 64 bytes, and lies in one line, which objects of the same size share.
//
// -ENOMEM if the owner's slices are full, -EMSGSIZE if it is larger than a line (take a scattered or
// a linked buffer), -ENOENT if there is no such owner, -ENXIO in a child of the process that opened
// the memory.
int skl_memory_allocate(struct skl_memory *memory,
                        int owner,
                        size_t bytes,
                        void **object);

// An object for `count` elements of `bytes` each, with zeros in it, as calloc(3).
//
// As skl_memory_allocate(); also -EMSGSIZE if there are more than a line has bytes.
int skl_memory_allocate_zeroed(struct skl_memory *memory,
                               int owner,
                               size_t count,
                               size_t bytes,
                               void **object);

// Gives the object at `*object` another size, as realloc(3): it keeps its content as far as that
// goes, and moves to another place of the owner if need be, whose address `*object` is then. NULL
// there is no object yet.
//
// As skl_memory_allocate(); also -EINVAL if nothing that is handed out begins there. The object stays
// as it is then.
int skl_memory_reallocate(struct skl_memory *memory,
                          int owner,
                          size_t bytes,
                          void **object);

// Takes an object, or a line of a scattered buffer, back. NULL does nothing.
//
// -EINVAL if nothing that is handed out begins there.
int skl_memory_free(struct skl_memory *memory, void *object);

// A buffer of `bytes` as lines in the owner's slices, wherever they are: one `parts` entry for each
// line, as readv(2) and writev(2) take them, the last one shorter if need be. Returns how many. Each
// is given back by skl_memory_free(). Those calls take IOV_MAX parts at once, 1024 on Linux or 64
// KiB: hand over more in pieces.
//
// -ENOSPC if `count` is too small for `bytes`, -EOVERFLOW if `bytes` takes more lines than an int
// counts, -ENOMEM if the owner's slices are full or memory is short, -ENOENT if there is no such
// owner, -ENXIO in a child of the process that opened the memory; nothing is handed out then.
int skl_memory_allocate_scattered(struct skl_memory *memory,
                                  int owner,
                                  size_t bytes,
                                  struct iovec *parts,
                                  size_t count);

// A buffer for `bytes` as a chain of lines in the owner's slices.
//
// -ENOMEM if the owner's slices are full or memory is short, -ENOENT if there is no such owner,
// -ENXIO in a child of the process that opened the memory.
int skl_memory_allocate_linked(struct skl_memory *memory,
                               int owner,
                               size_t bytes,
                               struct skl_linked_line **first);

// Takes a linked buffer back, by its first line. NULL does nothing.
//
// -EINVAL if a link was overwritten, -ENOMEM if memory is short, -ENXIO in a child of the process
// that opened the memory; nothing is taken back then.
int skl_memory_free_linked(struct skl_memory *memory, struct skl_linked_line *first);

// Gives `count` slices to a new owner, whose number it returns. Owners' slices are disjoint.
//
// -EBUSY if another owner has one of them, -ERANGE if the part has no such slice, -EINVAL without
// slices, -ENOSPC after 65535 owners.
int skl_memory_claim(struct skl_memory *memory,
                     const uint16_t *slices,
                     size_t count,
                     char *error,
                     size_t error_bytes);

// Takes an owner's slices back; its number is not used again.
//
// -EBUSY if something that it got is handed out, -ENOENT if there is no such owner.
int skl_memory_release(struct skl_memory *memory, int owner);

// How the memory is used.
int skl_memory_get_statistics(const struct skl_memory *memory,
                              struct skl_memory_statistics *statistics);

// How one owner uses the memory: `claimed_lines` are those of its slices; `lines` and `list_bytes`
// are the memory's.
//
// -ENOENT if there is no such owner.
int skl_memory_get_owner_statistics(const struct skl_memory *memory,
                                    int owner,
                                    struct skl_memory_statistics *statistics);

// The physical address of a byte of this process, from /proc/self/pagemap. It stays the same as
// long as the memory is of hugetlbfs or locked. The file is opened in each call: ask once per page.
//
// -EPERM if the kernel hides physical addresses (CAP_SYS_ADMIN of the initial user namespace is
// needed), -EFAULT if the byte is not in memory (touch it before), else what the system says about
// the file.
int skl_physical_address(const void *address,
                         uint64_t *physical_address,
                         char *error,
                         size_t error_bytes);

// The library's version as a text that lives as long as the library.
const char *skl_version(void);

// Reads a slice table, as `skipline-host slices map` writes it. On success `*map` is to be closed
// with skl_slice_map_close().
//
// In the place of a path, `published:NAME` is the published function of that name, like
// `published:skx-18`; -ENOENT if there is none, with a list of names as text.
//
// -EINVAL if the file is no slice table, else what the system says about the file.
int skl_slice_map_open(const char *table_path,
                       struct skl_slice_map **map,
                       char *error,
                       size_t error_bytes);

// Frees a slice map; NULL does nothing. No other thread may be using it.
void skl_slice_map_close(struct skl_slice_map *map);

// Slices of the part.
int skl_slice_map_slices(const struct skl_slice_map *map);

// The slice of the line at a physical address; -ERANGE if the table does not cover it. Calls are
// compiled into programs, unless SKL_NO_INLINE is defined.
int skl_slice_of(const struct skl_slice_map *map, uint64_t physical_address);

// The slices of the lines at `count` physical addresses, into as many `slices`.
//
// -ERANGE if the table does not cover one of them; what is in `slices` is undefined then.
int skl_slices_of(const struct skl_slice_map *map,
                  const uint64_t *physical_addresses,
                  uint16_t *slices,
                  size_t count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SKIPLINE_SLICES_H */

#ifndef SKL_INLINE
#define SKL_INLINE
#ifdef __cplusplus
extern "C" {
#endif

static inline int skl_slice_of_inline(const struct skl_slice_map *map, uint64_t physical_address) {
    const struct skl_short_form *form;
    if (map == NULL)
        return skl_slice_of(map, physical_address);
    form = *(const struct skl_short_form *const *)(const void *)map;
    if (physical_address >= form->limit && (physical_address & form->compared) != form->fixed)
        return skl_slice_of(map, physical_address);
    return form->base[form->parts[0][physical_address >> 6 & 511] ^
                      form->parts[1][physical_address >> 15 & 511] ^
                      form->parts[2][physical_address >> 24 & 511] ^
                      form->parts[3][physical_address >> 33 & 511]];
}
#ifndef SKL_NO_INLINE
#define skl_slice_of(map, physical_address) skl_slice_of_inline(map, physical_address)
#endif

// Free lines of one owner for one thread, of which most calls take or give one without a call of the
// library and without its lock. Set to {memory, owner, 0, {NULL}}; lines in it count as handed out.
// What is given is not checked before it goes back to the memory. The child of a fork sets `count`
// to 0 before it calls either: what is in the cache is the parent's.
typedef struct skl_cache {
    struct skl_memory *memory;
    int owner;
    unsigned count;
    void *lines[64];
} skl_cache;

// A line of SKL_LINE_BYTES, as skl_memory_allocate() gives it.
static inline int skl_cache_allocate(skl_cache *cache, void **line) {
    if (cache->count == 0) {
        int failed = skl_memory_allocate_lines(cache->memory, cache->owner, cache->lines, 32);
        if (failed < 0)
            return skl_memory_allocate(cache->memory, cache->owner, SKL_LINE_BYTES, line);
        cache->count = 32;
    }
    *line = cache->lines[--cache->count];
    return 0;
}

// Takes a line of the same owner back, whichever thread got it.
static inline int skl_cache_free(skl_cache *cache, void *line) {
    if (cache->count == 64) {
        int failed;
        // Also if it fails: what was taken back before the fault must not be handed out here.
        cache->count = 32;
        failed = skl_memory_free_lines(cache->memory, cache->lines + 32, 32);
        if (failed < 0)
            return failed;
    }
    cache->lines[cache->count++] = line;
    return 0;
}

// Gives all lines of a cache back to the memory.
static inline int skl_cache_flush(skl_cache *cache) {
    unsigned count = cache->count;
    cache->count = 0;
    return skl_memory_free_lines(cache->memory, cache->lines, count);
}

#ifdef __cplusplus
}
#endif
#endif
