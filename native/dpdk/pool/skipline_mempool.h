/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packet pools whose header lines lie in last-level-cache slices near the core that polls.
 *
 * The driver "skipline_slice" is chosen like any other: rte_pktmbuf_pool_create_by_ops(...,
 * "skipline_slice"), EAL's --mbuf-pool-ops-name, or testpmd's. Unmodified applications configure it
 * by environment variables; applications that link it can pass a configuration.
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

/* All other symbols are hidden: an application may have functions of any name. */
#define SKL_MEMPOOL_API __attribute__((visibility("default")))

/* Slice numbers are below this. */
#define SKL_MEMPOOL_MOST_SLICES 256

/* Behaviour if slices are not known: no table, address not covered, pages that may move. */
enum skl_mempool_unplaced {
	SKL_MEMPOOL_REFUSE, /* creation of the pool fails */
	SKL_MEMPOOL_PLAIN,  /* objects lie anywhere; a warning and the statistics report how many */
};

/* Behaviour if all objects that were made for a polling core are in use. */
enum skl_mempool_exhausted {
	SKL_MEMPOOL_FAIL,   /* the core gets none, as from an empty pool */
	SKL_MEMPOOL_BORROW, /* it gets an object made for another core, which is counted */
};

/* The per-core cache of a pool that several cores poll. */
enum skl_mempool_cache {
	/*
	 * An object that is freed goes to the core it was made for; packets name a pool of that
	 * core.
	 */
	SKL_MEMPOOL_CACHE_SORTED,
	/*
	 * DPDK's cache: a core gets again the objects that it freed, whatever core they were made
	 * for.
	 */
	SKL_MEMPOOL_CACHE_MIXED,
	/* As SORTED, but packets name the pool itself, and each free is a call to the driver. */
	SKL_MEMPOOL_CACHE_ONE_POOL,
};

/* How header lines of a pool that several cores poll are placed in slices. */
enum skl_mempool_placing {
	/* each object is for one core, and lies in a slice of that core */
	SKL_MEMPOOL_PLACE_OBJECTS,
	/* any object is for any core: buffers move inside it at each get */
	SKL_MEMPOOL_PLACE_PACKETS,
	/*
	 * Any object is for any core. Objects are chosen by the slices and sets of their packet data:
	 * no set of a slice gets many more lines than others.
	 */
	SKL_MEMPOOL_PLACE_SETS,
};

/*
 * The configuration of a pool. Members that are 0 have the stated default; texts have the format of
 * the environment variable of the same name. It is read while the pool is populated, and not kept.
 */
struct skl_mempool_config {
	size_t size;             /* sizeof(struct skl_mempool_config) */
	const char *table;       /* slice table file; needed */
	/* latencies file, from which the nearest slices of each poller are chosen */
	const char *latencies;
	const char *slices;      /* instead of latencies: slices by lcore, "1=0,2;2=4" */
	const char *pollers;     /* lcores: "1-3"; NULL: the workers, or main if there are none */
	unsigned int nearest;    /* slices for each poller out of the latencies; 0: one */
	unsigned int line;       /* header line to place; 0: the first, Ethernet and IPv4 */
	enum skl_mempool_unplaced unplaced;
	enum skl_mempool_exhausted exhausted;
	enum skl_mempool_cache cache;
	enum skl_mempool_placing placing;
	unsigned int sets;       /* sets of a slice; needed if objects are chosen by set */
};

/* Statistics of a pool. Counts of the data path are sums over cores, read without locks. */
struct skl_mempool_stats {
	uint32_t objects;
	/* objects that lie anywhere; 0 unless the configuration allows it */
	uint32_t unplaced;
	uint32_t pollers;           /* cores that objects are made for */
	uint64_t memory_bytes;      /* bytes reserved in all chunks */
	uint64_t object_bytes;      /* of these in objects, with their headers */
	uint64_t gaps_bytes;        /* of these skipped to reach a line in a wanted slice */
	/* objects given to cores that do not poll, if several cores do */
	uint64_t gets_by_others;
	uint64_t gets_borrowed;     /* objects given to a poller that were made for another one */
	uint64_t puts_from_afar;    /* objects freed by a core that they were not made for */
	uint64_t puts_refused;      /* objects of other pools that were freed into this one */
};

/*
 * Creates a packet pool, as rte_pktmbuf_pool_create() does, with this driver and a configuration;
 * NULL for `config`: that of the environment. Returns NULL, with rte_errno set, if the pool cannot
 * be laid out so.
 */
SKL_MEMPOOL_API struct rte_mempool *skl_pktmbuf_pool_create(const char *name,
	unsigned int objects, unsigned int cache_size, uint16_t priv_size, uint16_t data_room_size,
	int socket_id, const struct skl_mempool_config *config);

/*
 * Returns the pool that was created, for the pool that a packet names: packets of a pool of several
 * pollers name the pool of a home (mbuf->pool). Returns any other pool unchanged.
 */
SKL_MEMPOOL_API const struct rte_mempool *skl_mempool_whole(const struct rte_mempool *pool);

/* Reads the statistics of a pool. -EINVAL if the pool is not of this driver. */
SKL_MEMPOOL_API int skl_mempool_stats(const struct rte_mempool *pool,
	struct skl_mempool_stats *stats);

/*
 * Returns the lcore for which an object was made; -ENOENT if it was made for all or for none in
 * particular, -EINVAL for an address at which no object of a pool of several pollers begins.
 */
SKL_MEMPOOL_API int skl_mempool_poller_of(const struct rte_mempool *pool, const void *object);

/* Returns whether the configuration names this slice for the lcore. -EINVAL as above. */
SKL_MEMPOOL_API int skl_mempool_wants(const struct rte_mempool *pool, unsigned int lcore,
	uint16_t slice);

/*
 * Returns the slice of the line at an address inside huge pages, by the table of the pool. -ERANGE
 * if the table does not cover the address, -ENOTSUP if the physical address is not known. Only for
 * the process that created the pool.
 */
SKL_MEMPOOL_API int skl_mempool_slice_at(const struct rte_mempool *pool, const void *address);

#ifdef __cplusplus
}
#endif
#endif
