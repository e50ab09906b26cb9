/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement of objects in a chunk of memory: each object lies where its placed line is in a slice
 * of the core for which it is made.
 *
 * The objects are placed, not the buffers inside them: rte_pktmbuf_init(), which runs after this,
 * and rte_pktmbuf_detach() compute a buffer's address from its mbuf's, so that a shift inside the
 * object would be lost there. Where buffers move (movable.h) each get repeats it.
 */
#ifndef SKL_PLACEMENT_H
#define SKL_PLACEMENT_H

#include "homes.h"
#include "movable.h"
#include "plan.h"

/* State of the placement, which grows with each chunk. */
struct placement {
	uint32_t left[RTE_MAX_LCORE]; /* objects still to be placed for each home */
	uint32_t objects;
	uint32_t unplaced;
	uint64_t memory_bytes;
	uint64_t gaps_bytes;
};

struct chunk {
	uint32_t most_objects;
	char *start;
	size_t bytes;
	rte_iova_t iova;
	/* called for each object before it is put into the pool */
	rte_mempool_populate_obj_cb_t *add;
	void *add_argument;
};

/* Shares out `objects` objects among the homes. */
void placement_start(struct placement *placement, const struct plan *plan, uint32_t objects);

/*
 * Places objects of `pool` into the chunk, puts them into their homes, and returns their number.
 * -ERANGE if the table does not cover an address (in *uncovered); -ENOTSUP, -EACCES as
 * physical_address(); -ENOMEM. On an error nothing was placed.
 */
int placement_fill(struct placement *placement, const struct plan *plan, struct rte_mempool *pool,
	struct homes *homes, struct movable *movable, const struct chunk *chunk, uint64_t *uncovered);

/* Places objects one after the other, wherever their lines lie; otherwise as placement_fill(). */
int placement_fill_plain(struct placement *placement, const struct plan *plan,
	struct rte_mempool *pool, struct homes *homes, struct movable *movable,
	const struct chunk *chunk);

/*
 * Estimates the bytes for `objects` more; a pool that needs more calls again. For
 * ops.calc_mem_size.
 */
ssize_t placement_bytes(const struct plan *plan, const struct rte_mempool *pool, uint32_t objects,
	size_t page_bytes, size_t *least_bytes);

/*
 * Bytes for `objects` that are chosen by set, in one piece: four times as many places. For
 * ops.calc_mem_size.
 */
ssize_t placement_sets_bytes(const struct plan *plan, const struct rte_mempool *pool,
	uint32_t objects, size_t *least_bytes);

/*
 * Chooses places for all objects of the pool by the slices and sets of their packet data; otherwise
 * as placement_fill(). -ENOSPC if the chunk has too few places, or they are too alike.
 */
int placement_fill_sets(struct placement *placement, const struct plan *plan,
	struct rte_mempool *pool, struct homes *homes, const struct chunk *chunk, uint64_t *uncovered);

static inline size_t
object_bytes(const struct rte_mempool *pool)
{
	return (size_t)pool->header_size + pool->elt_size + pool->trailer_size;
}

#endif
