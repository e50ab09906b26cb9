/* SPDX-License-Identifier: Apache-2.0 */
#include "homes.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

/* Objects that a stash takes from its ring, or gives back to it, at once. */
#define STASH_EXCHANGE (STASH_OBJECTS / 2)

static int
make_ring(struct home_list *list, const struct rte_mempool *pool, uint32_t objects,
	unsigned int flags)
{
	uint32_t slots = rte_align32pow2(objects + 1);
	ssize_t bytes = rte_ring_get_memsize(slots);

	if (bytes < 0)
		return bytes;
	list->ring = rte_zmalloc_socket("skipline_home", bytes, RTE_CACHE_LINE_SIZE, pool->socket_id);
	if (list->ring == NULL)
		return -ENOMEM;
	return rte_ring_init(list->ring, pool->name, slots, flags);
}

int
homes_init(struct homes *homes, const struct rte_mempool *pool, unsigned int count,
	const unsigned int *lcores, uint32_t share)
{
	unsigned int flags = 0, home;
	int ret;

	memset(homes, 0, sizeof(*homes));
	memset(homes->of_lcore, HOME_NONE, sizeof(homes->of_lcore));
	homes->list = rte_zmalloc_socket("skipline_homes", count * sizeof(*homes->list),
		RTE_CACHE_LINE_SIZE, pool->socket_id);
	if (homes->list == NULL)
		return -ENOMEM;
	/* With several homes any core may free an object, whatever flags the pool has. */
	if (count == 1)
		flags = (pool->flags & RTE_MEMPOOL_F_SP_PUT ? RING_F_SP_ENQ : 0) |
			(pool->flags & RTE_MEMPOOL_F_SC_GET ? RING_F_SC_DEQ : 0);
	homes->count = count;
	for (home = 0; home < count; home++) {
		ret = make_ring(&homes->list[home], pool, share, flags);
		if (ret < 0) {
			homes_free(homes);
			return ret;
		}
		homes->list[home].lcore = lcores[home];
		if (lcores[home] < RTE_MAX_LCORE)
			homes->of_lcore[lcores[home]] = home;
	}
	return 0;
}

void
homes_free(struct homes *homes)
{
	unsigned int home;

	for (home = 0; homes->list != NULL && home < homes->count; home++)
		rte_free(homes->list[home].ring);
	rte_free(homes->list);
	rte_free(homes->table.home);
	homes->list = NULL;
	homes->table.home = NULL;
}

int
homes_cover(struct homes *homes, const struct rte_mempool *pool, const void *chunk, size_t bytes)
{
	struct home_table *table = &homes->table;
	uintptr_t first = (uintptr_t)chunk, last = first + bytes - 1;
	size_t windows;
	uint8_t *home;

	if (homes->count == 1)
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
	memset(home, HOME_NONE, windows);
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

	if (homes->count > 1)
		table->home[((uintptr_t)object - table->base) >> table->shift] = home;
	/* The ring has the capacity for all objects of the home. */
	rte_ring_enqueue(homes->list[home].ring, object);
}

/* Moves the objects that were stashed first, and so are the coldest, to the ring. */
static int
spill(struct home_list *list, unsigned int n)
{
	if (rte_ring_enqueue_bulk(list->ring, list->stash, n, NULL) == 0)
		return -ENOBUFS;
	list->stashed -= n;
	memmove(list->stash, list->stash + n, list->stashed * sizeof(list->stash[0]));
	return 0;
}

static int
get_own(struct home_list *list, void **objects, unsigned int n)
{
	unsigned int wanted;

	if (n > STASH_OBJECTS) {
		if (list->stashed > 0 && spill(list, list->stashed) < 0)
			return -ENOBUFS;
		return rte_ring_dequeue_bulk(list->ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
	}
	if (n > list->stashed) {
		wanted = RTE_MIN(n + STASH_EXCHANGE, (unsigned int)STASH_OBJECTS) - list->stashed;
		list->stashed += rte_ring_dequeue_burst(list->ring, &list->stash[list->stashed], wanted,
			NULL);
		if (n > list->stashed)
			return -ENOBUFS;
	}
	list->stashed -= n;
	memcpy(objects, &list->stash[list->stashed], n * sizeof(*objects));
	return 0;
}

static int
put_own(struct home_list *list, void * const *objects, unsigned int n)
{
	if (n > STASH_EXCHANGE)
		return rte_ring_enqueue_bulk(list->ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
	if (list->stashed + n > STASH_OBJECTS && spill(list, STASH_EXCHANGE) < 0)
		return -ENOBUFS;
	memcpy(&list->stash[list->stashed], objects, n * sizeof(*objects));
	list->stashed += n;
	return 0;
}

static struct home_list *
fullest(const struct homes *homes)
{
	struct home_list *best = &homes->list[0];
	unsigned int home;

	for (home = 1; home < homes->count; home++)
		if (rte_ring_count(homes->list[home].ring) > rte_ring_count(best->ring))
			best = &homes->list[home];
	return best;
}

/* Takes objects out of all rings in turn, so that no poller is left with fewer than the others. */
static int
get_any(struct homes *homes, void **objects, unsigned int n)
{
	unsigned int got, part, taken = 0;

	while (taken < n) {
		part = RTE_MIN(n - taken, RTE_MAX(n / homes->count, 1U));
		got = rte_ring_dequeue_burst(fullest(homes)->ring, objects + taken, part, NULL);
		if (got == 0) {
			homes_put_any(homes, objects, taken);
			return -ENOBUFS;
		}
		taken += got;
	}
	return 0;
}

/* Takes what the home has left, stash first, then from other homes: returns how many of those. */
static int
get_borrowing(struct homes *homes, struct home_list *own, void **objects, unsigned int n)
{
	unsigned int taken = RTE_MIN(n, own->stashed);

	own->stashed -= taken;
	memcpy(objects, &own->stash[own->stashed], taken * sizeof(*objects));
	taken += rte_ring_dequeue_burst(own->ring, objects + taken, n - taken, NULL);
	if (get_any(homes, objects + taken, n - taken) < 0) {
		homes_put_any(homes, objects, taken);
		return -ENOBUFS;
	}
	return n - taken;
}

int
homes_get(struct homes *homes, void **objects, unsigned int n)
{
	struct home_counts *counts;
	unsigned int lcore;
	int borrowed;
	uint8_t own;

	if (homes->count == 1)
		return rte_ring_dequeue_bulk(homes->list[0].ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
	lcore = RTE_MIN(rte_lcore_id(), (unsigned int)RTE_MAX_LCORE);
	counts = &homes->counts[lcore];
	own = homes->of_lcore[lcore];
	if (own == HOME_NONE) {
		if (get_any(homes, objects, n) < 0)
			return -ENOBUFS;
		counts->gets_by_others += n;
	} else if (get_own(&homes->list[own], objects, n) < 0) {
		if (!homes->borrow)
			return -ENOBUFS;
		borrowed = get_borrowing(homes, &homes->list[own], objects, n);
		if (borrowed < 0)
			return borrowed;
		counts->gets_borrowed += borrowed;
	}
	counts->gets += n;
	return 0;
}

int
homes_put_any(struct homes *homes, void * const *objects, unsigned int n)
{
	unsigned int lcore = RTE_MIN(rte_lcore_id(), (unsigned int)RTE_MAX_LCORE);
	uint8_t own = homes->of_lcore[lcore], home;
	unsigned int first, end;
	int ret;

	if (homes->count == 1)
		return rte_ring_enqueue_bulk(homes->list[0].ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
	/* A run of objects with the same home goes there in one call. */
	for (first = 0; first < n; first = end) {
		home = homes_of_several(homes, objects[first]);
		for (end = first + 1; end < n && homes_of_several(homes, objects[end]) == home; end++)
			;
		if (home == own) {
			ret = put_own(&homes->list[home], objects + first, end - first);
		} else {
			homes->counts[lcore].puts_from_afar += end - first;
			ret = rte_ring_enqueue_bulk(homes->list[home].ring, objects + first,
				end - first, NULL) == 0 ? -ENOBUFS : 0;
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

unsigned int
homes_free_objects(const struct homes *homes)
{
	unsigned int home, objects = 0;

	for (home = 0; home < homes->count; home++)
		objects += rte_ring_count(homes->list[home].ring) + homes->list[home].stashed;
	return objects;
}
