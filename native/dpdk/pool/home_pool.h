/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of a home. Packets of the home name it as theirs, so that the library frees them into a
 * cache of the home without a call. Applications do not create, find or free it: it is a copy of
 * the shared pool's description, in memory that processes share, with its own caches. The cache of
 * the home's core has the kept objects. The caches of all other cores have size 0, so that objects
 * that these free come to the driver, and to the home's ring, at once. In the pool of a home for
 * all cores each core has a cache.
 */
#ifndef SKL_HOME_POOL_H
#define SKL_HOME_POOL_H

#include "homes.h"

/* Makes the pool of a home. NULL without memory. */
struct rte_mempool *home_pool_make(struct home_list *list, const struct rte_mempool *pool);

/*
 * Makes packets name the pools of their homes. The first get calls it, since pools are complete
 * then.
 */
void home_pools_name(struct homes *homes, struct rte_mempool *pool);

static inline bool
home_pools_are_named(const struct homes *homes)
{
	return likely(__atomic_load_n(&homes->packets_state, __ATOMIC_ACQUIRE) == 2);
}

/* Bit in the data pointer of the pool of a home; other pools of this driver do not have it. */
#define HOME_POOL_BIT ((uintptr_t)1)

static inline bool
is_home_pool(const struct rte_mempool *pool)
{
	return ((uintptr_t)pool->pool_data & HOME_POOL_BIT) != 0;
}

/* The homes of the shared pool to which the pool of a home belongs. */
struct homes *home_pool_homes(const struct rte_mempool *pool);

/* For struct rte_mempool_ops; a put returns -EINVAL for objects of other pools. */
int home_pool_put(struct rte_mempool *pool, void * const *objects, unsigned int n);
int home_pool_get(struct rte_mempool *pool, void **objects, unsigned int n);
unsigned int home_pool_count(const struct rte_mempool *pool);

#endif
