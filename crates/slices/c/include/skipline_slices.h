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

// Tables that skl_slice_of() reads, part of the binary interface. Programs have no other use for them.
typedef struct skl_short_form {
    // Addresses below `limit` are covered, and those whose bits `compared` equal `fixed`. For others
    // skl_slice_of() calls the library.
    uint64_t limit, compared, fixed;
    // Numbers that bits 6 to 14, 15 to 23, 24 to 32 and 33 to 41 add (XOR) to the position in the
    // sequence.
    uint16_t parts[4][512];
    // Slice of each position.
    uint8_t base[65536];
} skl_short_form;

// In place of a node: any node, but all pages on the same.
#define SKL_ANY_NODE -1

// Bytes of a line, and most bytes of an object.
#define SKL_LINE_BYTES 64

// Latencies from cores to slices. A handle never changes: threads may share it.
typedef struct skl_latencies skl_latencies;

// Memory whose lines are allocated by slice. Any number of threads may call its functions at once,
// except skl_memory_close(). The first thread that calls one takes no lock; after the first call of
// another thread all take a mutex. Children of the process do not inherit huge pages: allocations
// fail in them, and they may close the handle.
typedef struct skl_memory skl_memory;

// The slice function of a CPU model, and the physical addresses for which it is established. A handle
// never changes: threads may share it.
typedef struct skl_slice_map skl_slice_map;

// A request for memory.
typedef struct skl_memory_request {
    // Least size at first, in bytes.
    size_t bytes;
    // Largest size in bytes: when an owner's slices are full, the memory grows up to it. 0: it does
    // not grow.
    size_t most_bytes;
    // Size of the pages in bytes: 2 MiB or 1 GiB.
    size_t page_bytes;
    // NUMA node of the socket whose slices the table numbers, or SKL_ANY_NODE.
    int node;
    // Whether memory regardless of slices is acceptable (not 0).
    int plain_allowed;
} skl_memory_request;

// A line of a linked buffer.
typedef struct skl_linked_line {
    // The next line; NULL in the last one.
    struct skl_linked_line *next;
    // The buffer's bytes in this line.
    uint8_t bytes[56];
} skl_linked_line;

// Counts of the lines and objects of a memory.
typedef struct skl_memory_statistics {
    // Number of all lines of 64 bytes.
    uint64_t lines;
    // Number of lines in slices that an owner has claimed; no owner can use the others.
    uint64_t claimed_lines;
    // Number of allocated lines, whole or divided into objects.
    uint64_t used_lines;
    // Number of allocated objects; each line of a buffer counts as one.
    uint64_t objects;
    // Bytes of used lines beyond the requested sizes: free slots, sizes rounded up, links.
    uint64_t unused_bytes_of_used_lines;
    // Size in bytes of the lists beside the lines.
    uint64_t list_bytes;
} skl_memory_statistics;

// A pool of buffers that are chosen by slice and set.
typedef struct skl_spread_request {
    // Number of buffers.
    size_t buffers;
    // Bytes of a buffer: a power of two, from a line to those of the sets of a slice. Buffers are
    // aligned to their size in physical memory.
    size_t buffer_bytes;
    // Sets of a slice: a power of two, as `skipline-host slices sets` tells.
    uint32_t sets_per_slice;
} skl_spread_request;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Reads a latency file: TOML with the keys part, source, kind ("measured" or "modelled") and
// cycles, a list of rows: core by core the read latency to each slice in cycles. On success
// `*latencies` is to be closed with skl_latencies_close().
//
// -EINVAL if the file is not a latency file, else the system's errno for the file.
int skl_latencies_open(const char *latency_path,
                       struct skl_latencies **latencies,
                       char *error,
                       size_t error_bytes);

// Frees latencies; NULL does nothing. No other thread may be using them.
void skl_latencies_close(struct skl_latencies *latencies);

// Returns the number of cores; they are numbered from 0.
int skl_latencies_cores(const struct skl_latencies *latencies);

// Returns the number of slices to which cores have latencies.
int skl_latencies_slices(const struct skl_latencies *latencies);

// Writes the slices by their latency from `core`, nearest first, lower numbers first among equals:
// the first `count` of them, or all if there are fewer. Returns how many were written.
//
// -ERANGE if there are no latencies of the core.
int skl_nearest_slices(const struct skl_latencies *latencies,
                       unsigned int core,
                       uint16_t *slices,
                       size_t count);

// Returns the slice for data that `count` cores share: the one with the lowest mean latency, the
// lowest number among equals.
//
// -EINVAL without cores, -ERANGE if there are no latencies of one.
int skl_shared_slice(const struct skl_latencies *latencies,
                     const unsigned int *cores,
                     size_t count);

// Allocates `count` lines of SKL_LINE_BYTES in the owner's slices, all or none. Each is freed by
// skl_memory_free() or skl_memory_free_lines().
//
// Errors are those of skl_memory_allocate().
int skl_memory_allocate_lines(struct skl_memory *memory, int owner, void **lines, size_t count);

// Frees `count` objects or lines.
//
// -EINVAL if no allocated object begins at one of the addresses; those before it are freed then.
int skl_memory_free_lines(struct skl_memory *memory, void *const *lines, size_t count);

// Closes the handle and unmaps its memory, even if objects are still allocated in it; memory of
// skl_memory_open_on() stays mapped. NULL does nothing. No other thread may be using the handle.
void skl_memory_close(struct skl_memory *memory);

// Returns the reason why the memory is allocated regardless of slices, as a text that lives as long
// as the memory; NULL if it is allocated by slice.
const char *skl_memory_plain_because(const struct skl_memory *memory);

// Reads the physical addresses of the pages again: -ESTALE if the kernel has moved a page since.
int skl_memory_verify(const struct skl_memory *memory, char *error, size_t error_bytes);

// Returns the slice of the allocated object at an address: -EINVAL if there is none, -ENODATA if the
// memory is allocated regardless of slices.
int skl_memory_slice(const struct skl_memory *memory,
                     const void *address);

// Maps at least `bytes` more, in whole pages. A memory that may grow also grows when an owner's
// slices are full.
//
// -ENOMEM if there are too few pages or the memory may not grow so far, else as skl_memory_open();
// -ENXIO in a child of the process that opened the memory. Nothing is mapped then.
int skl_memory_grow(struct skl_memory *memory, size_t bytes, char *error, size_t error_bytes);

// Gives pages without an allocated object back to the system, and keeps at least `keep_bytes`.
// Returns the number of pages. Pages of skl_memory_open_on() are kept.
//
// -ENOMEM if memory is short, -ENXIO in a child of the process that opened the memory.
int skl_memory_give_back(struct skl_memory *memory, size_t keep_bytes);

// Maps at least `bytes` of huge pages of `page_bytes` (2 MiB or 1 GiB) and sorts their lines by
// slice. On success `*memory` is to be closed with skl_memory_close().
//
// Without huge pages, or where the kernel hides physical addresses, it fails (-ENOMEM, -EPERM); with
// `plain_allowed` it returns 1 instead: a memory regardless of slices, with the reason as text in
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

// Opens a memory as skl_memory_open() does, with a node and a largest size. On a machine of several
// sockets the table numbers the slices of one: state its node; pages on other nodes are refused.
//
// -ENODEV if there is no such node, or pages are on another one; -ENODATA if the kernel does not
// report the node of a page.
int skl_memory_open_as(const struct skl_slice_map *map,
                       const struct skl_memory_request *request,
                       struct skl_memory **memory,
                       char *error,
                       size_t error_bytes);

// Sorts memory that the caller has mapped by slice: `bytes` from `start` on, whole pages of
// `page_bytes` (2 MiB or 1 GiB) that are locked or of hugetlbfs, so that the kernel does not move
// them. The library neither grows nor unmaps the memory; it has to stay mapped until
// skl_memory_close().
//
// `physical_pages` has the physical address of each page, for callers that know them (a driver, a
// device's memory); NULL: they are read from the kernel. `node` is the node of the table's socket, or
// SKL_ANY_NODE; for addresses that the caller states it is checked only if it is given.
//
// -EINVAL if `start` or `bytes` is not a multiple of `page_bytes`, or the memory is not of huge
// pages; else as skl_memory_open_as(). Memory regardless of slices is not available here.
int skl_memory_open_on(const struct skl_slice_map *map,
                       void *start,
                       size_t bytes,
                       size_t page_bytes,
                       const uint64_t *physical_pages,
                       int node,
                       struct skl_memory **memory,
                       char *error,
                       size_t error_bytes);

// Allocates an object of up to SKL_LINE_BYTES in the owner's slices. The object is aligned to its
// size, rounded up to 8, 16, 32 or 64 bytes, and lies in one line, which objects of the same size
// share.
//
// -ENOMEM if the owner's slices are full, -EMSGSIZE if it is larger than a line (use a scattered or
// a linked buffer), -ENOENT if there is no such owner, -ENXIO in a child of the process that opened
// the memory.
int skl_memory_allocate(struct skl_memory *memory, int owner, size_t bytes, void **object);

// Allocates an object for `count` elements of `bytes` each and fills it with zeros, as calloc(3).
//
// Errors are those of skl_memory_allocate(); -EMSGSIZE if all elements together exceed a line.
int skl_memory_allocate_zeroed(struct skl_memory *memory,
                               int owner,
                               size_t count,
                               size_t bytes,
                               void **object);

// Changes the size of the object at `*object`, as realloc(3): it keeps as much of its content as
// fits. If it has to move, it moves to another place in the owner's slices, whose address is then in
// `*object`. If `*object` is NULL, a new object is allocated.
//
// Errors are those of skl_memory_allocate(); also -EINVAL if no allocated object begins there. The
// object stays unchanged then.
int skl_memory_reallocate(struct skl_memory *memory,
                          int owner,
                          size_t bytes,
                          void **object);

// Frees an object or a line of a scattered buffer. NULL does nothing.
//
// -EINVAL if no allocated object begins there.
int skl_memory_free(struct skl_memory *memory, void *object);

// Allocates a buffer of `bytes` as lines anywhere in the owner's slices: one `parts` entry for each
// line, as readv(2) and writev(2) take them; the last one may be shorter. Returns the number of
// entries. Each is freed by skl_memory_free(). Those calls take at most IOV_MAX entries at once, 1024
// on Linux or 64 KiB: pass more in several calls.
//
// -ENOSPC if `count` is too small for `bytes`, -EOVERFLOW if `bytes` takes more lines than an int
// counts, -ENOMEM if the owner's slices are full or memory is short, -ENOENT if there is no such
// owner, -ENXIO in a child of the process that opened the memory; no line is allocated then.
int skl_memory_allocate_scattered(struct skl_memory *memory,
                                  int owner,
                                  size_t bytes,
                                  struct iovec *parts,
                                  size_t count);

// Allocates a buffer for `bytes` as a chain of lines in the owner's slices.
//
// -ENOMEM if the owner's slices are full or memory is short, -ENOENT if there is no such owner,
// -ENXIO in a child of the process that opened the memory.
int skl_memory_allocate_linked(struct skl_memory *memory,
                               int owner,
                               size_t bytes,
                               struct skl_linked_line **first);

// Frees a linked buffer, by its first line. NULL does nothing.
//
// -EINVAL if a link was overwritten, -ENOMEM if memory is short, -ENXIO in a child of the process
// that opened the memory; no line is freed then.
int skl_memory_free_linked(struct skl_memory *memory, struct skl_linked_line *first);

// Makes a new owner of `count` slices and returns its number. Owners' slices are disjoint.
//
// -EBUSY if another owner has one of them, -ERANGE if there is no such slice, -EINVAL without
// slices, -ENOSPC after 65535 owners.
int skl_memory_claim(struct skl_memory *memory,
                     const uint16_t *slices,
                     size_t count,
                     char *error,
                     size_t error_bytes);

// Releases an owner's slices; its number is not used again.
//
// -EBUSY if objects of the owner are still allocated, -ENOENT if there is no such owner.
int skl_memory_release(struct skl_memory *memory, int owner);

// Writes the counts of all owners together.
int skl_memory_get_statistics(const struct skl_memory *memory,
                              struct skl_memory_statistics *statistics);

// Writes the counts of one owner: `claimed_lines` are those of its slices; `lines` and `list_bytes`
// are the memory's.
//
// -ENOENT if there is no such owner.
int skl_memory_get_owner_statistics(const struct skl_memory *memory,
                                    int owner,
                                    struct skl_memory_statistics *statistics);

// Writes the physical address of a byte of this process, from /proc/self/pagemap. It stays the same
// as long as the memory is of hugetlbfs or locked. Each call opens the file: call it once per page.
//
// -EPERM if the kernel hides physical addresses (CAP_SYS_ADMIN of the initial user namespace is
// needed), -EFAULT if the byte is not in memory (touch it before), else the system's errno for the
// file.
int skl_physical_address(const void *address,
                         uint64_t *physical_address,
                         char *error,
                         size_t error_bytes);

// Returns the library's version as a text that lives as long as the library.
const char *skl_version(void);

// Reads a slice table, as `skipline-host slices map` writes it. On success `*map` is to be closed
// with skl_slice_map_close().
//
// `published:NAME` in place of a path is the published function of that name, like
// `published:skx-18`; -ENOENT if there is none, with a list of names as text.
//
// -EINVAL if the file is not a slice table, else the system's errno for the file.
int skl_slice_map_open(const char *table_path,
                       struct skl_slice_map **map,
                       char *error,
                       size_t error_bytes);

// Frees a slice map; NULL does nothing. No other thread may be using it.
void skl_slice_map_close(struct skl_slice_map *map);

// Returns the number of slices; they are numbered from 0.
int skl_slice_map_slices(const struct skl_slice_map *map);

// Returns the slice of the line at a physical address; -ERANGE if the table does not cover it. Calls
// are compiled into programs, unless SKL_NO_INLINE is defined.
int skl_slice_of(const struct skl_slice_map *map,
                 uint64_t physical_address);

// Writes the slices of the lines at `count` physical addresses to as many `slices`.
//
// -ERANGE if the table does not cover one of them; what is in `slices` is undefined then.
int skl_slices_of(const struct skl_slice_map *map,
                  const uint64_t *physical_addresses,
                  uint16_t *slices,
                  size_t count);

// Chooses buffers among `count` ones, given their physical addresses, so that no set of a slice gets
// more lines of them than the mean, rounded up, and one more. The set is bits 6 and up of the
// address. Four times as many as are wanted suffice for nearly all memory. Writes the numbers of the
// chosen ones in `physical_addresses` to `chosen`, request->buffers of them, so that those of every
// stretch are spread as well; the same addresses give the same choice. Returns the lines of the set
// that has most.
//
// -EINVAL if the request is not valid or an address not aligned, -ENOSPC if there are fewer buffers
// or they are too alike, -ERANGE if the table does not cover an address.
int skl_spread_buffers(const struct skl_slice_map *map,
                       const struct skl_spread_request *request,
                       const uint64_t *physical_addresses,
                       size_t count,
                       size_t *chosen,
                       char *error,
                       size_t error_bytes);

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

// Free lines of one owner for one thread: most allocations and frees need neither a call of the
// library nor its lock. Initialise with {memory, owner, 0, {NULL}}; lines in the cache count as
// allocated. A freed line is not checked before it goes back to the memory. The child of a fork sets
// `count` to 0 before it calls either function: the lines in the cache are the parent's.
typedef struct skl_cache {
    struct skl_memory *memory;
    int owner;
    unsigned count;
    void *lines[64];
} skl_cache;

// Allocates a line of SKL_LINE_BYTES, as skl_memory_allocate() does.
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

// Frees a line of the same owner, whichever thread allocated it.
static inline int skl_cache_free(skl_cache *cache, void *line) {
    if (cache->count == 64) {
        int failed;
        // Also if it fails: lines that were freed before the fault must not be allocated here.
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
