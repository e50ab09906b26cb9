/* SPDX-License-Identifier: Apache-2.0 */
#include "homes.h"
#include "home_pool.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

/*
 * Objects of a front at most: enough that few gets of single objects are calls, and so few that
 * bursts still get what was freed last.
 */
#define FRONT_MOST 4

/* As DPDK's caches, which are flushed when they have half as many again as they fetch. */
#define CACHE_MOST(size) ((size) * 3 / 2)

/* Number of slots of a ring for `objects` objects. */
static uint32_t
ring_slots(uint32_t objects)
{
	return rte_align32pow2(objects + 1);
}

ssize_t
homes_ring_bytes(uint32_t objects)
{
	return rte_ring_get_memsize(ring_slots(objects));
}

static int
make_ring(struct home_list *list, const struct rte_mempool *pool, uint32_t objects)
{
	ssize_t bytes = homes_ring_bytes(objects);

	if (bytes < 0)
		return bytes;
	list->ring = rte_zmalloc_socket("skipline_home", bytes, RTE_CACHE_LINE_SIZE, pool->socket_id);
	if (list->ring == NULL)
		return -ENOMEM;
	/* Any core may free an object, whatever flags the pool has. */
	return rte_ring_init(list->ring, pool->name, ring_slots(objects), 0);
}

static void
add_list(struct homes *homes, unsigned int lcore)
{
	struct home_list *list = &homes->list[homes->count];

	list->lcore = lcore;
	list->keeping_lcore = RTE_MAX_LCORE;
	list->number = homes->count;
	if (lcore < RTE_MAX_LCORE)
		homes->of_lcore[lcore] = homes->count;
	homes->count++;
}

static void
clear(struct homes *homes)
{
	memset(homes, 0, sizeof(*homes));
	memset(homes->of_lcore, HOME_NONE, sizeof(homes->of_lcore));
}

int
homes_init_one(struct homes *homes, const struct rte_mempool *pool, unsigned int lcore,
	struct rte_ring *ring)
{
	unsigned int flags = (pool->flags & RTE_MEMPOOL_F_SP_PUT ? RING_F_SP_ENQ : 0) |
		(pool->flags & RTE_MEMPOOL_F_SC_GET ? RING_F_SC_DEQ : 0);

	clear(homes);
	add_list(homes, lcore);
	homes->list[0].ring = ring;
	return rte_ring_init(ring, pool->name, ring_slots(pool->size), flags);
}

int
homes_init_shared(struct homes *homes, const struct rte_mempool *pool, unsigned int count,
	const unsigned int *lcores)
{
	unsigned int home;
	int ret;

	clear(homes);
	homes->is_shared = true;
	for (home = 0; home < count; home++) {
		add_list(homes, lcores[home]);
		ret = make_ring(&homes->list[home], pool, pool->size / count + 1);
		if (ret < 0) {
			homes_free(homes);
			return ret;
		}
	}
	homes->list[count].lcore = homes->list[count].keeping_lcore = RTE_MAX_LCORE;
	return 0;
}

/* Shares the size of a cache of DPDK between the kept objects of a core and its front. */
static void
split_cache(uint32_t size, struct rte_mempool_cache *kept, struct rte_mempool_cache *front)
{
	front->size = RTE_MIN(RTE_MAX(size / 2, 1U), (uint32_t)FRONT_MOST);
	front->flushthresh = 0;
	kept->size = size - front->size;
	kept->flushthresh = CACHE_MOST(size) - front->size;
}

int
homes_take_caches(struct homes *homes, struct rte_mempool *pool)
{
	uint32_t size = pool->cache_size;
	struct home_list *list;
	unsigned int lcore;

	if (!homes->is_shared || size == 0)
		return 0;
	for (lcore = 0; lcore < RTE_MAX_LCORE; lcore++) {
		pool->local_cache[lcore].size = 0;
		pool->local_cache[lcore].flushthresh = 0;
	}
	for (list = homes->list; list < homes->list + homes->count; list++) {
		list->pool = home_pool_make(list, pool);
		if (list->pool == NULL)
			return -ENOMEM;
		if (list->lcore == LCORE_ID_ANY)
			continue;
		list->front = &pool->local_cache[list->lcore];
		list->kept = &list->pool->local_cache[list->lcore];
		list->keeping_lcore = list->lcore;
		split_cache(size, list->kept, list->front);
	}
	/* In one home for all cores each core keeps the objects that it frees. */
	for (lcore = 0; homes->list[0].lcore == LCORE_ID_ANY && lcore < RTE_MAX_LCORE; lcore++)
		split_cache(size, &homes->list[0].pool->local_cache[lcore], &pool->local_cache[lcore]);
	return 0;
}

void
homes_free(struct homes *homes)
{
	unsigned int home;

	for (home = 0; home < homes->count; home++) {
		if (homes->is_shared)
			rte_free(homes->list[home].ring);
		rte_free(homes->list[home].pool);
	}
	rte_free(homes->table.home);
	homes->table.home = NULL;
}

int
homes_cover(struct homes *homes, const struct rte_mempool *pool, const void *chunk, size_t bytes)
{
	struct home_table *table = &homes->table;
	uintptr_t first = (uintptr_t)chunk, last = first + bytes - 1;
	size_t windows;
	uint8_t *home;

	if (!homes->is_shared)
		return 0;
	if (table->windows == 0)
		table->shift = rte_fls_u32(pool->header_size + pool->elt_size + pool->trailer_size) - 1;
	else {
		first = RTE_MIN(first, table->base);
		last = RTE_MAX(last, table->base + ((uintptr_t)table->windows << table->shift) - 1);
	}
	first = RTE_ALIGN_FLOOR(first, (uintptr_t)1 << table->shift);
	windows = ((last - first) >> table->shift) + 1;
	if (windows > UINT32_MAX)
		return -ENOMEM;
	home = rte_malloc_socket("skipline_home_table", windows, 0, pool->socket_id);
	if (home == NULL)
		return -ENOMEM;
	memset(home, homes->count, windows);
	if (table->windows != 0)
		memcpy(home + ((table->base - first) >> table->shift), table->home, table->windows);
	rte_free(table->home);
	*table = (struct home_table){ first, table->shift, windows, home };
	return 0;
}

void
homes_add(struct homes *homes, void *object, uint8_t home)
{
	struct home_table *table = &homes->table;

	if (homes->is_shared)
		table->home[((uintptr_t)object - table->base) >> table->shift] = home;
	/* The ring has the capacity for all objects of the home. */
	rte_ring_enqueue(homes->list[home].ring, object);
}
