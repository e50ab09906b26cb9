/* SPDX-License-Identifier: Apache-2.0 */
/* The mempool driver: the functions that the library calls, and their place in its table. */
#include <errno.h>
#include <string.h>

#include <rte_eal.h>

#include "home_pool.h"
#include "log.h"
#include "slice_pool.h"

/* Numbers of the operations that the library calls for a pool. */
static int index_of_several, index_of_one;

/*
 * Logs once for a pool: the library does not report it to its caller, and it may happen for each
 * packet.
 */
static void
log_foreign(const struct rte_mempool *mempool, struct slice_pool *pool)
{
	if (!__atomic_exchange_n(&pool->foreign_logged, true, __ATOMIC_RELAXED))
		SKL_LOG(ERR, "pool %s: objects were freed into it that are none of its own; they are "
			"left alone and counted as puts_refused\n", mempool->name);
}

static __rte_noinline int
put_to_several(struct rte_mempool *mempool, void * const *objects, unsigned int n)
{
	struct slice_pool *pool = slice_pool_at(mempool);
	int ret = pool->movable.pollers > 0 ? movable_put(mempool, &pool->homes, objects, n) :
		homes_put_to_several(&pool->homes, objects, n);

	if (unlikely(ret == -EINVAL))
		log_foreign(mempool, pool);
	return ret;
}

/* Into the own pool of a home. */
static __rte_noinline int
put_to_home(struct rte_mempool *mempool, void * const *objects, unsigned int n)
{
	int ret = home_pool_put(mempool, objects, n);

	if (unlikely(ret == -EINVAL))
		log_foreign(mempool, container_of(home_pool_homes(mempool), struct slice_pool, homes));
	return ret;
}

static int
slice_pool_put(struct rte_mempool *mempool, void * const *objects, unsigned int n)
{
	struct slice_pool *pool = slice_pool_at(mempool);

	if (is_home_pool(mempool))
		return put_to_home(mempool, objects, n);
	if (n == 1 && likely(homes_keep(&pool->homes, objects)))
		return 0;
	return put_to_several(mempool, objects, n);
}

static __rte_noinline int
get_of_several(struct rte_mempool *mempool, void **objects, unsigned int n)
{
	struct slice_pool *pool = slice_pool_at(mempool);

	if (is_home_pool(mempool))
		return home_pool_get(mempool, objects, n);
	if (!home_pools_are_named(&pool->homes))
		home_pools_name(&pool->homes, mempool);
	if (pool->movable.pollers > 0)
		return movable_get(&pool->movable, &pool->homes, objects, n);
	return homes_get_of_several(&pool->homes, objects, n);
}

static int
slice_pool_get(struct rte_mempool *mempool, void **objects, unsigned int n)
{
	struct slice_pool *pool = slice_pool_at(mempool);

	if (likely(!is_home_pool(mempool) && home_pools_are_named(&pool->homes) &&
			pool->movable.pollers == 0 && homes_get_kept(&pool->homes, objects, n)))
		return 0;
	return get_of_several(mempool, objects, n);
}

/* Pools of one home that the application says only one core puts into, or gets from. */
static __rte_noinline int
put_alone(struct rte_ring *ring, void * const *objects, unsigned int n)
{
	return rte_ring_sp_enqueue_bulk(ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
}

static __rte_noinline int
get_alone(struct rte_ring *ring, void **objects, unsigned int n)
{
	return rte_ring_sc_dequeue_bulk(ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
}

/* Else as in the standard driver. */
static int
one_put(struct rte_mempool *mempool, void * const *objects, unsigned int n)
{
	struct rte_ring *ring = mempool->pool_data;

	if (unlikely(ring->prod.sync_type != RTE_RING_SYNC_MT))
		return put_alone(ring, objects, n);
	return rte_ring_mp_enqueue_bulk(ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
}

static int
one_get(struct rte_mempool *mempool, void **objects, unsigned int n)
{
	struct rte_ring *ring = mempool->pool_data;

	if (unlikely(ring->cons.sync_type != RTE_RING_SYNC_MT))
		return get_alone(ring, objects, n);
	return rte_ring_mc_dequeue_bulk(ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
}

static unsigned int
slice_pool_count(const struct rte_mempool *mempool)
{
	const struct slice_pool *pool;

	if (is_home_pool(mempool))
		return home_pool_count(mempool);
	pool = slice_pool_at(mempool);
	return pool->movable.pollers > 0 ? movable_count(&pool->homes) :
		homes_free_objects(&pool->homes);
}

/* Also for the pools of homes: the table of drivers has no room for a third driver. */
static const struct rte_mempool_ops ops_of_several = {
	.name = SKL_MEMPOOL_OPS,
	.alloc = slice_pool_alloc,
	.free = slice_pool_free,
	.enqueue = slice_pool_put,
	.dequeue = slice_pool_get,
	.get_count = slice_pool_count,
	.calc_mem_size = slice_pool_calc_mem_size,
	.populate = slice_pool_populate,
};

/* Operations of pools with one home, so that the data path needs no check. */
static const struct rte_mempool_ops ops_of_one = {
	.name = SKL_MEMPOOL_OPS "_one",
	.alloc = slice_pool_alloc,
	.free = slice_pool_free,
	.enqueue = one_put,
	.dequeue = one_get,
	.get_count = slice_pool_count,
	.calc_mem_size = slice_pool_calc_mem_size,
	.populate = slice_pool_populate,
};

/*
 * Pools know their driver by its place in a table, which is the order in which a process loaded its
 * drivers. This one takes the first place, so that processes that share pools may load it when they
 * like; the others keep their order. Pools that exist already know theirs by the places as they
 * are: then it stays where it is.
 */
static int
register_first(const struct rte_mempool_ops *ops)
{
	struct rte_mempool_ops registered;
	int index = rte_mempool_register_ops(ops);

	if (index <= 0 || rte_eal_iova_mode() != RTE_IOVA_DC)
		return index;
	rte_spinlock_lock(&rte_mempool_ops_table.sl);
	registered = rte_mempool_ops_table.ops[index];
	memmove(&rte_mempool_ops_table.ops[1], &rte_mempool_ops_table.ops[0],
		index * sizeof(registered));
	rte_mempool_ops_table.ops[0] = registered;
	rte_spinlock_unlock(&rte_mempool_ops_table.sl);
	return 0;
}

RTE_INIT(skl_mempool_register)
{
	index_of_one = register_first(&ops_of_one);
	index_of_several = register_first(&ops_of_several);
	if (index_of_several == 0)
		index_of_one++;
}

int
operations_index(bool is_shared)
{
	return is_shared ? index_of_several : index_of_one;
}

struct slice_pool *
slice_pool_of(const struct rte_mempool *pool)
{
	const struct rte_mempool_ops *ops = rte_mempool_get_ops(pool->ops_index);

	if (pool->pool_data == NULL)
		return NULL;
	if (strcmp(ops->name, ops_of_several.name) != 0 && strcmp(ops->name, ops_of_one.name) != 0)
		return NULL;
	return is_home_pool(pool) ? container_of(home_pool_homes(pool), struct slice_pool, homes) :
		slice_pool_at(pool);
}
