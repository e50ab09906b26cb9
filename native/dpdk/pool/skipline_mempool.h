/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packet pools whose header lines lie in last-level-cache slices near the core that polls.
 *
 * The driver "skipline_slice" is chosen like any other: rte_pktmbuf_pool_create_by_ops(...,
 * "skipline_slice"), EAL's --mbuf-pool-ops-name, or testpmd's. Applications that do not know of it
 * state what it needs in environment variables; those that link it can pass a configuration.
 *
 * Every function returns 0 or a negative errno and logs the reason as pmd.mempool.skipline.
 */
#ifndef SKIPLINE_MEMPOOL_H
#define SKIPLINE_MEMPOOL_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKL_MEMPOOL_OPS "skipline_slice"

/* All else that the driver consists of is hidden: an application may have functions of any name. */
#define SKL_MEMPOOL_API __attribute__((visibility("default")))

/* Slice numbers are below this. */
#define SKL_MEMPOOL_MOST_SLICES 256

/* What happens where slices are not known: no table, address not covered, pages that may move. */
enum skl_mempool_unplaced {
	SKL_MEMPOOL_REFUSE, /* creation of the pool fails */
	SKL_MEMPOOL_PLAIN,  /* objects lie anywhere; a warning and the statistics say how many */
};

/* What a polling core gets when all objects made for it are in use. */
enum skl_mempool_exhausted {
	SKL_MEMPOOL_FAIL,   /* nothing: the same as an empty pool */
	SKL_MEMPOOL_BORROW, /* an object made for another core; counted */
};

/* The per-core cache of a pool that several cores poll. */
enum skl_mempool_cache {
	/* What a core frees goes to the core it is for; packets name a pool of that core as theirs. */
	SKL_MEMPOOL_CACHE_SORTED,
	/* DPDK's own: a core gets again what it freed, whatever core it is for. */
	SKL_MEMPOOL_CACHE_MIXED,
	/* As the first; packets name the pool itself, and each free is a call to the driver. */
	SKL_MEMPOOL_CACHE_ONE_POOL,
};

/* How the header lines of a pool that several cores poll come to lie in their slices. */
enum skl_mempool_placing {
	SKL_MEMPOOL_PLACE_OBJECTS, /* each object is for one core, and lies where that one wants it */
	SKL_MEMPOOL_PLACE_PACKETS, /* any object is for any core: buffers move inside it at each get */
};

/*
 * How a pool is laid out. Zeroed members have the meaning stated; text has the form of the
 * environment variable of the same name. Read while the pool is populated, not kept.
 */
struct skl_mempool_config {
	size_t size;             /* sizeof(struct skl_mempool_config) */
	const char *table;       /* slice table file; needed */
	const char *latencies;   /* latencies file: the nearest slices of each poller are taken */
	const char *slices;      /* or slices by lcore: "1=0,2;2=4" */
	const char *pollers;     /* lcores: "1-3"; NULL: the workers, or main if there are none */
	unsigned int nearest;    /* slices for each poller out of the latencies; 0: one */
	unsigned int line;       /* header line to place; 0: the first, Ethernet and IPv4 */
	enum skl_mempool_unplaced unplaced;
	enum skl_mempool_exhausted exhausted;
	enum skl_mempool_cache cache;
	enum skl_mempool_placing placing;
};

/* What became of a pool. Counts of the data path are sums over cores, read without locks. */
struct skl_mempool_stats {
	uint32_t objects;
	uint32_t unplaced;          /* objects that lie anywhere; 0 unless asked for */
	uint32_t pollers;           /* cores that objects are made for */
	uint64_t memory_bytes;      /* reserved, all chunks */
	uint64_t object_bytes;      /* of these inside objects, headers included */
	uint64_t gaps_bytes;        /* of these skipped to reach a wanted line */
	uint64_t gets_by_others;    /* objects given to cores that do not poll, if several cores do */
	uint64_t gets_borrowed;     /* objects given to pollers out of another one's */
	uint64_t puts_from_afar;    /* objects freed by a core that they were not made for */
	uint64_t puts_refused;      /* freed into this pool, but none of its objects */
};

/*
 * rte_pktmbuf_pool_create() with this driver and a configuration; NULL: the environment's.
 * NULL with rte_errno set if the pool cannot be laid out as asked.
 */
SKL_MEMPOOL_API struct rte_mempool *skl_pktmbuf_pool_create(const char *name,
	unsigned int objects, unsigned int cache_size, uint16_t priv_size, uint16_t data_room_size,
	int socket_id, const struct skl_mempool_config *config);

/*
 * The pool that was made and that a packet is of: packets of a pool of several pollers name one of
 * its parts (mbuf->pool). Any other pool as it is.
 */
SKL_MEMPOOL_API const struct rte_mempool *skl_mempool_whole(const struct rte_mempool *pool);

/* -EINVAL if the pool is not of this driver. */
SKL_MEMPOOL_API int skl_mempool_stats(const struct rte_mempool *pool,
	struct skl_mempool_stats *stats);

/*
 * The lcore that an object was made for; -ENOENT if it was for none in particular or for all,
 * -EINVAL for an address at which no object of a pool of several pollers begins.
 */
SKL_MEMPOOL_API int skl_mempool_poller_of(const struct rte_mempool *pool, const void *object);

/* Whether the driver was told to place lines of this slice for the lcore. -EINVAL as above. */
SKL_MEMPOOL_API int skl_mempool_wants(const struct rte_mempool *pool, unsigned int lcore,
	uint16_t slice);

/*
 * Slice of the line at an address inside huge pages, in the pool's own table. -ERANGE if the table
 * does not cover it, -ENOTSUP if the physical address is not known. Only in the process that made
 * the pool.
 */
SKL_MEMPOOL_API int skl_mempool_slice_at(const struct rte_mempool *pool, const void *address);

#ifdef __cplusplus
}
#endif
#endif
