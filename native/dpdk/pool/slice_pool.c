/* SPDX-License-Identifier: Apache-2.0 */
/* Creation of a pool: its plan, the homes of its objects, and their placement. */
#include "slice_pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "log.h"

RTE_LOG_REGISTER(skl_mempool_logtype, pmd.mempool.skipline, NOTICE);

/* Logs why an object could not be placed. */
static void
log_unplaced(const struct rte_mempool *pool, int level, int reason, uint64_t physical)
{
	const char *why = strerror(-reason);

	if (reason == -ERANGE)
		why = "the slice table does not cover the address; recover it with pages that include it";
	else if (reason == -EACCES)
		why = "the kernel hides physical addresses from this process; needed with any IOVA "
			"mode: CAP_SYS_ADMIN of the initial user namespace, which root of a container may "
			"lack";
	else if (reason == -ENOTSUP)
		why = "plain placement in memory that the application brought: it is not made of huge "
			"pages, and the kernel may move it";
	else if (reason == -ENOSPC)
		why = "no choice of its objects by set was found: the memory comes in several pieces, or its "
			"places are too alike; make the pool in one piece, with other pages";
	if (reason == -ERANGE)
		rte_log(level, skl_mempool_logtype, "SKIPLINE: pool %s: %s (%#" PRIx64 ")\n",
			pool->name, why, physical);
	else
		rte_log(level, skl_mempool_logtype, "SKIPLINE: pool %s: %s\n", pool->name, why);
}

/* Makes the plan; a plain one if the settings request it, or nothing can be placed. */
static int
make_plan(const struct rte_mempool *mempool, struct plan *plan, struct settings *settings)
{
	const char *nothing = plan_nothing_because(mempool);
	char why[512] = "";
	int ret;

	if (nothing != NULL) {
		SKL_LOG(NOTICE, "pool %s: nothing is placed: %s\n", mempool->name, nothing);
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

	if (pool->plan.moves)
		movable_init(&pool->movable, &pool->plan, mempool);
	else if (pool->plan.homes == 1)
		return homes_init_one(&pool->homes, mempool, pool->plan.home[0].lcore,
			mempool->pool_data);
	for (home = 0; home < pool->plan.homes; home++)
		lcores[home] = pool->plan.moves ? LCORE_ID_ANY : pool->plan.home[home].lcore;
	ret = homes_init_shared(&pool->homes, mempool, pool->plan.moves ? 1 : pool->plan.homes,
		lcores);
	pool->homes.keep_pool_of_packets = settings->cache == SKL_MEMPOOL_CACHE_ONE_POOL;
	if (ret == 0 && settings->cache != SKL_MEMPOOL_CACHE_MIXED)
		ret = homes_take_caches(&pool->homes, mempool);
	if (ret < 0)
		homes_free(&pool->homes);
	return ret;
}

static int
make_pool(struct rte_mempool *mempool, const struct plan *plan, const struct settings *settings)
{
	ssize_t ring_bytes = plan->homes == 1 && !plan->moves ? homes_ring_bytes(mempool->size) : 0;
	struct slice_pool *pool;
	int ret;

	if (ring_bytes < 0)
		return ring_bytes;
	pool = rte_zmalloc_socket("skipline_pool", sizeof(*pool) + ring_bytes, RTE_CACHE_LINE_SIZE,
		mempool->socket_id);
	if (pool == NULL)
		return -ENOMEM;
	pool->plan = *plan;
	pool->maker = getpid();
	pool->whole = mempool;
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
	mempool->ops_index = operations_index(pool->homes.is_shared);
	return 0;
}

int
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
		if (ret < 0) {
			SKL_LOG(ERR, "pool %s: no memory for lists of its %u free objects: %s\n",
				mempool->name, mempool->size, strerror(-ret));
			plan_close(plan);
		}
	}
	free(plan);
	return ret;
}

void
slice_pool_free(struct rte_mempool *mempool)
{
	struct slice_pool *pool;

	/* Called for pools whose alloc failed, too. */
	if (mempool->pool_data == NULL)
		return;
	pool = slice_pool_at(mempool);
	homes_free(&pool->homes);
	movable_free(&pool->movable);
	if (pool->maker == getpid())
		plan_close(&pool->plan);
	rte_free(pool);
}

ssize_t
slice_pool_calc_mem_size(const struct rte_mempool *mempool, uint32_t objects, uint32_t page_shift,
	size_t *least_bytes, size_t *align)
{
	const struct slice_pool *pool = slice_pool_at(mempool);

	if (pool->plan.map == NULL)
		return rte_mempool_op_calc_mem_size_default(mempool, objects, page_shift, least_bytes,
			align);
	*align = RTE_CACHE_LINE_SIZE;
	if (pool->plan.sets > 0)
		return placement_sets_bytes(&pool->plan, mempool, objects, least_bytes);
	return placement_bytes(&pool->plan, mempool, objects,
		page_shift == 0 ? 0 : (size_t)1 << page_shift, least_bytes);
}

static int
fill_plain(struct rte_mempool *mempool, struct slice_pool *pool, const struct chunk *chunk)
{
	return placement_fill_plain(&pool->placement, &pool->plan, mempool, &pool->homes,
		&pool->movable, chunk);
}

int
slice_pool_populate(struct rte_mempool *mempool, unsigned int most_objects, void *start,
	rte_iova_t iova, size_t bytes, rte_mempool_populate_obj_cb_t *add, void *add_argument)
{
	const struct chunk chunk = { most_objects, start, bytes, iova, add, add_argument };
	struct slice_pool *pool = slice_pool_at(mempool);
	struct placement *placement = &pool->placement;
	uint64_t uncovered = 0;
	int ret;

	/* The library took all objects back and freed their memory: lists have addresses of it. */
	if (mempool->populated_size == 0 && placement->objects > 0) {
		SKL_LOG(ERR, "pool %s: its first population failed; free it and make another one\n",
			mempool->name);
		return -EINVAL;
	}
	if (pool->plan.map == NULL)
		return fill_plain(mempool, pool, &chunk);
	ret = pool->plan.sets > 0 ?
		placement_fill_sets(placement, &pool->plan, mempool, &pool->homes, &chunk, &uncovered) :
		placement_fill(placement, &pool->plan, mempool, &pool->homes, &pool->movable, &chunk,
			&uncovered);
	/* Small pages are the application's own: EAL's are huge, or there would be no plan. */
	if (ret == -ENOTSUP || (ret < 0 && ret != -ENOMEM && pool->unplaced == SKL_MEMPOOL_PLAIN)) {
		/* Once: such memory may come page by page. */
		if (placement->unplaced == 0)
			log_unplaced(mempool, ret == -ENOTSUP ? RTE_LOG_NOTICE : RTE_LOG_WARNING, ret,
				uncovered);
		ret = fill_plain(mempool, pool, &chunk);
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
