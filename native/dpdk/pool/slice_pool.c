/* SPDX-License-Identifier: Apache-2.0 */
/* The mempool driver: how the library's calls reach plan, placement and homes. */
#include "slice_pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "log.h"

/* Which operations the library calls for a pool. */
static int index_of_several, index_of_one;

RTE_LOG_REGISTER(skl_mempool_logtype, pmd.mempool.skipline, NOTICE);

/* Text for a failure to place an object. */
static void
log_unplaced(const struct rte_mempool *pool, int level, int reason, uint64_t physical)
{
	const char *why = strerror(-reason);

	if (reason == -ERANGE)
		why = "the slice table does not cover the address; recover it with pages that include it";
	else if (reason == -EACCES)
		why = "the kernel hides physical addresses from this process; needed: CAP_SYS_ADMIN "
			"(with any IOVA mode)";
	else if (reason == -ENOTSUP)
		why = "the memory is not made of huge pages, and the kernel may move it";
	if (reason == -ERANGE)
		rte_log(level, skl_mempool_logtype, "SKIPLINE: pool %s: %s (%#" PRIx64 ")\n",
			pool->name, why, physical);
	else
		rte_log(level, skl_mempool_logtype, "SKIPLINE: pool %s: %s\n", pool->name, why);
}

/* The plan, or a plain one where that is asked for or there is nothing to place. */
static int
make_plan(const struct rte_mempool *mempool, struct plan *plan, struct settings *settings)
{
	char why[512] = "";
	int ret;

	if (!plan_has_headers(mempool)) {
		SKL_LOG(NOTICE, "pool %s: its objects have no packet data, nothing is placed\n",
			mempool->name);
		plan_make_plain(plan);
		return 0;
	}
	if (!plan_knows_layout(mempool)) {
		SKL_LOG(ERR, "pool %s: where packet data begins is not known yet; call "
			"rte_pktmbuf_pool_init before populating it\n", mempool->name);
		return -EINVAL;
	}
	ret = settings_read(mempool->pool_config, mempool->name, settings, why, sizeof(why));
	if (ret == 0)
		ret = plan_make(settings, mempool, plan, why, sizeof(why));
	if (ret < 0 && ret != -EINVAL && settings->unplaced == SKL_MEMPOOL_PLAIN) {
		SKL_LOG(WARNING, "pool %s: plain placement: %s\n", mempool->name, why);
		plan_make_plain(plan);
		return 0;
	}
	if (ret < 0)
		SKL_LOG(ERR, "pool %s: %s\n", mempool->name, why);
	return ret;
}

static int
make_homes(struct rte_mempool *mempool, struct slice_pool *pool, const struct settings *settings)
{
	unsigned int lcores[RTE_MAX_LCORE], home;
	int ret;

	if (pool->plan.homes == 1)
		return homes_init_one(&pool->homes, mempool, pool->plan.home[0].lcore,
			mempool->pool_data);
	for (home = 0; home < pool->plan.homes; home++)
		lcores[home] = pool->plan.home[home].lcore;
	ret = homes_init_several(&pool->homes, mempool, pool->plan.homes, lcores);
	if (ret == 0 && settings->cache == SKL_MEMPOOL_CACHE_SORTED)
		ret = homes_take_caches(&pool->homes, mempool);
	if (ret < 0)
		homes_free(&pool->homes);
	return ret;
}

static int
make_pool(struct rte_mempool *mempool, const struct plan *plan, const struct settings *settings)
{
	ssize_t ring_bytes = plan->homes == 1 ? homes_ring_bytes(mempool->size) : 0;
	struct slice_pool *pool;
	int ret;

	if (ring_bytes < 0)
		return ring_bytes;
	pool = rte_zmalloc_socket("skipline_pool", sizeof(*pool) + ring_bytes, RTE_CACHE_LINE_SIZE,
		mempool->socket_id);
	if (pool == NULL)
		return -ENOMEM;
	pool->plan = *plan;
	pool->unplaced = settings->unplaced;
	mempool->pool_data = pool + 1;
	ret = make_homes(mempool, pool, settings);
	if (ret < 0) {
		rte_free(pool);
		mempool->pool_data = NULL;
		return ret;
	}
	pool->homes.borrow = settings->exhausted == SKL_MEMPOOL_BORROW;
	placement_start(&pool->placement, &pool->plan, mempool->size);
	mempool->ops_index = plan->homes == 1 ? index_of_one : index_of_several;
	return 0;
}

static int
slice_pool_alloc(struct rte_mempool *mempool)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	struct settings settings = { 0 };
	int ret;

	if (plan == NULL)
		return -ENOMEM;
	ret = make_plan(mempool, plan, &settings);
	if (ret == 0) {
		ret = make_pool(mempool, plan, &settings);
		if (ret < 0)
			plan_close(plan);
	}
	free(plan);
	return ret;
}

static void
slice_pool_free(struct rte_mempool *mempool)
{
	struct slice_pool *pool;

	/* Called for pools whose alloc failed, too. */
	if (mempool->pool_data == NULL)
		return;
	pool = slice_pool_at(mempool);
	homes_free(&pool->homes);
	plan_close(&pool->plan);
	rte_free(pool);
}

/* Once for a pool: the library tells its caller nothing, and it may happen for each packet. */
static void
log_foreign(struct rte_mempool *mempool)
{
	struct slice_pool *pool = slice_pool_at(mempool);

	if (!__atomic_exchange_n(&pool->foreign_said, true, __ATOMIC_RELAXED))
		SKL_LOG(ERR, "pool %s: objects were freed into it that are none of its own; they are "
			"left alone and counted as puts_refused\n", mempool->name);
}

static __rte_noinline int
put_to_several(struct rte_mempool *mempool, void * const *objects, unsigned int n)
{
	struct slice_pool *pool = slice_pool_at(mempool);
	int ret = homes_put_to_several(&pool->homes, objects, n);

	if (unlikely(ret == -EINVAL))
		log_foreign(mempool);
	return ret;
}

static int
slice_pool_put(struct rte_mempool *mempool, void * const *objects, unsigned int n)
{
	struct slice_pool *pool = slice_pool_at(mempool);

	if (n == 1 && likely(homes_stash(&pool->homes, objects)))
		return 0;
	return put_to_several(mempool, objects, n);
}

static int
slice_pool_get(struct rte_mempool *mempool, void **objects, unsigned int n)
{
	struct slice_pool *pool = slice_pool_at(mempool);

	return homes_get_of_several(&pool->homes, objects, n);
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
	return homes_free_objects(&slice_pool_at(mempool)->homes);
}

static ssize_t
slice_pool_calc_mem_size(const struct rte_mempool *mempool, uint32_t objects, uint32_t page_shift,
	size_t *least_bytes, size_t *align)
{
	const struct slice_pool *pool = slice_pool_at(mempool);

	if (pool->plan.map == NULL)
		return rte_mempool_op_calc_mem_size_default(mempool, objects, page_shift, least_bytes,
			align);
	*align = RTE_CACHE_LINE_SIZE;
	return placement_bytes(&pool->plan, mempool, objects,
		page_shift == 0 ? 0 : (size_t)1 << page_shift, least_bytes);
}

static int
slice_pool_populate(struct rte_mempool *mempool, unsigned int most_objects, void *start,
	rte_iova_t iova, size_t bytes, rte_mempool_populate_obj_cb_t *add, void *add_argument)
{
	const struct chunk chunk = { most_objects, start, bytes, iova, add, add_argument };
	struct slice_pool *pool = slice_pool_at(mempool);
	struct placement *placement = &pool->placement;
	uint64_t uncovered = 0;
	int ret;

	if (pool->plan.map == NULL)
		return placement_fill_plain(placement, &pool->plan, mempool, &pool->homes, &chunk);
	ret = placement_fill(placement, &pool->plan, mempool, &pool->homes, &chunk, &uncovered);
	if (ret < 0 && ret != -ENOMEM && pool->unplaced == SKL_MEMPOOL_PLAIN) {
		log_unplaced(mempool, RTE_LOG_WARNING, ret, uncovered);
		ret = placement_fill_plain(placement, &pool->plan, mempool, &pool->homes, &chunk);
	} else if (ret < 0) {
		log_unplaced(mempool, RTE_LOG_ERR, ret, uncovered);
	}
	if (placement->objects == mempool->size)
		SKL_LOG(INFO, "pool %s: %u objects for %u cores in %" PRIu64 " KiB, %" PRIu64 " KiB of "
			"them gaps; %u lie anywhere\n", mempool->name, placement->objects,
			pool->plan.homes, placement->memory_bytes >> 10, placement->gaps_bytes >> 10,
			placement->unplaced);
	return ret;
}

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

/* What pools of the former become that have one home: no question on the data path. */
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

struct slice_pool *
slice_pool_of(const struct rte_mempool *pool)
{
	const struct rte_mempool_ops *ops = rte_mempool_get_ops(pool->ops_index);

	if (pool->pool_data == NULL ||
			(strcmp(ops->name, ops_of_several.name) != 0 && strcmp(ops->name, ops_of_one.name) != 0))
		return NULL;
	return slice_pool_at(pool);
}
