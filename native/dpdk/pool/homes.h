/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free objects by home, the core that they are made for.
 *
 * A pool that one core polls has one home, a plain ring below the usual per-core cache. A pool that
 * several cores poll has one home for each; an object returns to its home, whichever core frees
 * it. The usual cache would give a core what it freed, whatever its home; each home has a stash
 * instead, which only its own core touches.
 */
#ifndef SKL_HOMES_H
#define SKL_HOMES_H

#include <assert.h>
#include <stdbool.h>

#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#define HOME_NONE UINT8_MAX
#define STASH_OBJECTS 512

static_assert(RTE_MAX_LCORE < HOME_NONE, "homes are numbered in a byte");

struct home_list {
	struct rte_ring *ring;
	unsigned int lcore;         /* LCORE_ID_ANY: all */
	uint32_t stashed;
	void *stash[STASH_OBJECTS]; /* touched by the home's core alone */
} __rte_cache_aligned;

/* Of one core; read by others without locks. */
struct home_counts {
	uint64_t gets;
	uint64_t gets_by_others;
	uint64_t gets_borrowed;
	uint64_t puts_from_afar;
} __rte_cache_aligned;

/*
 * Home by address: no two objects begin in one aligned window of 2^shift bytes, as objects are
 * longer. A table beside the objects spares the look into their headers, which are cold.
 */
struct home_table {
	uintptr_t base;
	unsigned int shift;
	uint32_t windows;
	uint8_t *home;
};

struct homes {
	unsigned int count;
	bool borrow;
	struct home_table table; /* of several homes */
	struct home_list *list;
	uint8_t of_lcore[RTE_MAX_LCORE + 1]; /* the last: threads that are no lcores */
	struct home_counts counts[RTE_MAX_LCORE + 1];
};

/*
 * Makes `count` lists for `share` objects each, of the cores lcores[]; one list is for all cores.
 * -ENOMEM.
 */
int homes_init(struct homes *homes, const struct rte_mempool *pool, unsigned int count,
	const unsigned int *lcores, uint32_t share);

void homes_free(struct homes *homes);

/* Prepares homes_add() for objects at the addresses from `chunk` on. -ENOMEM. */
int homes_cover(struct homes *homes, const struct rte_mempool *pool, const void *chunk,
	size_t bytes);

static inline uint8_t
homes_of_several(const struct homes *homes, const void *object)
{
	return homes->table.home[((uintptr_t)object - homes->table.base) >> homes->table.shift];
}

static inline uint8_t
homes_of(const struct homes *homes, const void *object)
{
	return homes->count == 1 ? 0 : homes_of_several(homes, object);
}

/* Gives a new object its home. */
void homes_add(struct homes *homes, void *object, uint8_t home);

/* All or none; -ENOBUFS. */
int homes_get(struct homes *homes, void **objects, unsigned int n);
int homes_put_any(struct homes *homes, void * const *objects, unsigned int n);

/* On the fast path: most drivers free packet by packet. */
static inline int
homes_put(struct homes *homes, void * const *objects, unsigned int n)
{
	struct home_list *list;

	if (n != 1 || homes->count == 1)
		return homes_put_any(homes, objects, n);
	list = &homes->list[homes_of_several(homes, objects[0])];
	/* With several homes each is an lcore's; a thread that is no lcore equals none of them. */
	if (unlikely(list->lcore != rte_lcore_id() || list->stashed == STASH_OBJECTS))
		return homes_put_any(homes, objects, n);
	list->stash[list->stashed++] = objects[0];
	return 0;
}

/* Free objects in all lists. */
unsigned int homes_free_objects(const struct homes *homes);

#endif
