/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The own pool of a home: what its packets name as theirs, so that the library frees them into a
 * cache of the home without a call. It is no pool that anyone makes, finds or frees: a copy of the
 * shared pool's description, in memory that processes share, with caches of its own. That of the
 * home's core holds what is kept; those of all others have no size, so that what they free comes to
 * the driver, and to the home's ring, at once. Of a home for all cores each has a cache.
 */
#ifndef SKL_HOME_POOL_H
#define SKL_HOME_POOL_H

#include "homes.h"

/* NULL if there is no memory. */
struct rte_mempool *home_pool_make(struct home_list *list, const struct rte_mempool *pool);

/* Has packets name the pools of their homes. The first get does, as pools are complete then. */
void home_pools_name(struct homes *homes, struct rte_mempool *pool);

static inline bool
home_pools_are_named(const struct homes *homes)
{
	return likely(__atomic_load_n(&homes->packets_state, __ATOMIC_ACQUIRE) == 2);
}

/* Its data is a pointer to the home with this bit; other pools of this driver have none. */
#define HOME_POOL_BIT ((uintptr_t)1)

static inline bool
is_home_pool(const struct rte_mempool *pool)
{
	return ((uintptr_t)pool->pool_data & HOME_POOL_BIT) != 0;
}

/* All homes of the pool that this one is part of. */
struct homes *home_pool_homes(const struct rte_mempool *pool);

/* For struct rte_mempool_ops; puts answer -EINVAL for objects of other pools. */
int home_pool_put(struct rte_mempool *pool, void * const *objects, unsigned int n);
int home_pool_get(struct rte_mempool *pool, void **objects, unsigned int n);
unsigned int home_pool_count(const struct rte_mempool *pool);

#endif
