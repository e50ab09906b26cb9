/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of this driver, in memory that processes share. rte_mempool.pool_data points to its end.
 * The ring of a pool of one home is there, as in pools of the standard driver: its data path needs
 * nothing else.
 */
#ifndef SKL_SLICE_POOL_H
#define SKL_SLICE_POOL_H

#include <sys/types.h>

#include "homes.h"
#include "movable.h"
#include "placement.h"
#include "plan.h"

struct slice_pool {
	struct homes homes;
	struct movable movable;
	struct placement placement;
	enum skl_mempool_unplaced unplaced;
	bool foreign_logged;
	const struct rte_mempool *whole; /* pool that the library knows */
	struct plan plan; /* its map is in memory of the process that created the pool */
	pid_t maker;
} __rte_cache_aligned;

static inline struct slice_pool *
slice_pool_at(const struct rte_mempool *pool)
{
	return (struct slice_pool *)pool->pool_data - 1;
}

/* For struct rte_mempool_ops. */
int slice_pool_alloc(struct rte_mempool *mempool);
void slice_pool_free(struct rte_mempool *mempool);
ssize_t slice_pool_calc_mem_size(const struct rte_mempool *mempool, uint32_t objects,
	uint32_t page_shift, size_t *least_bytes, size_t *align);
int slice_pool_populate(struct rte_mempool *mempool, unsigned int most_objects, void *start,
	rte_iova_t iova, size_t bytes, rte_mempool_populate_obj_cb_t *add, void *add_argument);

/*
 * Number in the library of the operations of pools that are shared between cores, or of one core.
 */
int operations_index(bool is_shared);

/* The pool of this driver; NULL if the pool is of another driver, or not populated. */
struct slice_pool *slice_pool_of(const struct rte_mempool *pool);

#endif
