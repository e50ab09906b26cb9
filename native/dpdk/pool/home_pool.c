/* SPDX-License-Identifier: Apache-2.0 */
#include "home_pool.h"

#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include "slice_pool.h"

enum { NOT_NAMED, NAMING, NAMED };

static size_t
bytes_of(const struct rte_mempool *pool)
{
	return RTE_MEMPOOL_HEADER_SIZE(pool, pool->cache_size) + pool->private_data_size;
}

struct rte_mempool *
home_pool_make(struct home_list *list, const struct rte_mempool *pool)
{
	struct rte_mempool *own = rte_zmalloc_socket("skipline_home_pool", bytes_of(pool),
		RTE_CACHE_LINE_SIZE, pool->socket_id);

	if (own == NULL)
		return NULL;
	own->local_cache = RTE_PTR_ADD(own, RTE_MEMPOOL_HEADER_SIZE(pool, 0));
	own->pool_data = RTE_PTR_ADD(list, HOME_POOL_BIT);
	return own;
}

/* Copies the description of the shared pool, which has to be complete. */
static void
describe(struct rte_mempool *own, struct rte_mempool *pool)
{
	struct rte_mempool_cache *caches = own->local_cache;
	void *data = own->pool_data;

	memcpy(own, pool, RTE_MEMPOOL_HEADER_SIZE(pool, 0));
	own->local_cache = caches;
	own->pool_data = data;
	memcpy(rte_mempool_get_priv(own), rte_mempool_get_priv(pool), pool->private_data_size);
}

/* Whether an object is a packet as rte_pktmbuf_init() leaves it. */
static bool
is_packet(struct rte_mempool *pool, const struct rte_mbuf *packet)
{
	return packet->pool == pool && packet->priv_size == rte_pktmbuf_priv_size(pool) &&
		packet->nb_segs == 1 && packet->next == NULL && rte_mbuf_refcnt_read(packet) == 1;
}

static void
name_home(struct rte_mempool *pool, void *argument, void *object, unsigned int number)
{
	struct homes *homes = argument;
	unsigned int home = homes_of_several(homes, object);
	struct rte_mbuf *packet = object;

	(void)number;
	if (home < homes->count && is_packet(pool, packet))
		packet->pool = homes->list[home].pool;
}

void
home_pools_name(struct homes *homes, struct rte_mempool *pool)
{
	unsigned int expected = NOT_NAMED, home;

	if (!__atomic_compare_exchange_n(&homes->packets_state, &expected, NAMING, false,
			__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		while (!home_pools_are_named(homes))
			rte_pause();
		return;
	}
	if (homes->list[0].pool != NULL && !homes->keep_pool_of_packets &&
			pool->private_data_size >= sizeof(struct rte_pktmbuf_pool_private) &&
			pool->elt_size >= sizeof(struct rte_mbuf)) {
		for (home = 0; home < homes->count; home++)
			describe(homes->list[home].pool, pool);
		rte_mempool_obj_iter(pool, name_home, homes);
	}
	__atomic_store_n(&homes->packets_state, NAMED, __ATOMIC_RELEASE);
}

static struct home_list *
home_of(const struct rte_mempool *pool)
{
	return RTE_PTR_SUB(pool->pool_data, HOME_POOL_BIT);
}

struct homes *
home_pool_homes(const struct rte_mempool *pool)
{
	struct home_list *list = home_of(pool);

	return container_of(list - list->number, struct homes, list[0]);
}

/* Called for objects of other cores, and for those of the home's core when its cache is full. */
int
home_pool_put(struct rte_mempool *pool, void * const *objects, unsigned int n)
{
	return homes_put_into_rings(home_pool_homes(pool), objects, n);
}

/*
 * For functions that take further packets out of the pool that a packet names: copies, fragments.
 */
int
home_pool_get(struct rte_mempool *pool, void **objects, unsigned int n)
{
	const struct home_list *list = home_of(pool);
	struct homes *homes = home_pool_homes(pool);
	unsigned int lcore = rte_lcore_id();
	bool in_kept = lcore < RTE_MAX_LCORE && (uintptr_t)objects -
		(uintptr_t)pool->local_cache[lcore].objs < sizeof(pool->local_cache[lcore].objs);

	if (rte_ring_mc_dequeue_bulk(list->ring, objects, n, NULL) > 0)
		return 0;
	/* The library asks once more for what its caller needs, into the caller's memory. */
	if (in_kept || !homes->borrow || homes_get_of_any(homes, objects, n) < 0)
		return -ENOBUFS;
	homes->counts[homes_this_lcore()].gets_borrowed += n;
	return 0;
}

unsigned int
home_pool_count(const struct rte_mempool *pool)
{
	return rte_ring_count(home_of(pool)->ring);
}
