/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free objects by home, the core that they are made for.
 *
 * A pool that one core polls has one home, a plain ring below the usual per-core cache. A pool that
 * several cores poll has one home for each; an object returns to its home, whichever core frees
 * it. The usual cache would give a core what it freed, whatever its home; so this driver fills it.
 *
 * The per-core cache of a home's core is its *stash*. Its size and threshold are 0, with which
 * the library takes objects out of it, counts and flushes it as ever, but hands all that is freed
 * to the driver; the driver puts what belongs to the home there. What holds for the stash:
 * - It has objects of its home alone, unless a driver of a device wrote to it (some do when they
 *   free); that same call empties it through homes_put(), with the stash itself as the list.
 * - homes_get() into the stash itself is the library (or a device's driver) filling it. Whatever
 *   lies there then may be taken back if the call fails: nothing there is touched, and `len` is the
 *   caller's.
 * - The library sets `len` to 0 after either. What a core takes in advance, to spare looks into
 *   the ring, lies in its *reserve* therefore, until the next free moves it to the stash.
 */
#ifndef SKL_HOMES_H
#define SKL_HOMES_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#define HOME_NONE UINT8_MAX

static_assert(RTE_MAX_LCORE < HOME_NONE, "homes are numbered in a byte");

struct home_list {
	struct rte_ring *ring;           /* NULL: the list of objects of other pools */
	struct rte_mempool_cache *stash; /* this and the rest are touched by the home's core alone */
	void **reserve;
	unsigned int lcore;              /* LCORE_ID_ANY: all */
	unsigned int stashing_lcore;     /* the same; without a stash a number that no thread has */
	uint32_t stash_size;             /* objects taken in advance; 0 without a stash */
	uint32_t stash_most;             /* with more it is emptied into the ring */
	uint32_t stash_fast;             /* homes_stash() for up to so many and 2; 0 with a reserve */
	uint32_t reserved;
} __rte_cache_aligned;

/* Of one core; read by others without locks. */
struct home_counts {
	uint64_t gets_by_others;
	uint64_t gets_borrowed;
	uint64_t puts_from_afar;
	uint64_t puts_refused;
} __rte_cache_aligned;

/*
 * Home by address: no two objects begin in one aligned window of 2^shift bytes, as objects are
 * longer. A table beside the objects spares the look into their headers, which are cold.
 */
struct home_table {
	uintptr_t base;
	unsigned int shift;
	uint32_t windows;
	uint8_t *home; /* the number of homes: no object begins there */
};

struct homes {
	struct home_table table; /* of several homes */
	unsigned int count;
	bool borrow;
	struct home_list list[RTE_MAX_LCORE + 1]; /* that after the last home: of objects of other pools */
	uint8_t of_lcore[RTE_MAX_LCORE + 1]; /* the last: threads that are no lcores */
	struct home_counts counts[RTE_MAX_LCORE + 1];
};

/* Bytes of a ring for so many objects. */
ssize_t homes_ring_bytes(uint32_t objects);

/* One home, whose ring all cores use, in the memory given for it: the lcore may be LCORE_ID_ANY. */
int homes_init_one(struct homes *homes, const struct rte_mempool *pool, unsigned int lcore,
	struct rte_ring *ring);

/* Several homes, for equal parts of the objects, of the cores lcores[]. -ENOMEM. */
int homes_init_several(struct homes *homes, const struct rte_mempool *pool, unsigned int count,
	const unsigned int *lcores);

/* Makes the pool's caches stashes of their cores, if there are several homes. -ENOMEM. */
int homes_take_caches(struct homes *homes, struct rte_mempool *pool);

void homes_free(struct homes *homes);

/* Prepares homes_add() for objects at the addresses from `chunk` on. -ENOMEM. */
int homes_cover(struct homes *homes, const struct rte_mempool *pool, const void *chunk,
	size_t bytes);

/* Of several homes; their number for an address at which no object of the pool begins. */
static inline unsigned int
homes_of_several(const struct homes *homes, const void *object)
{
	uintptr_t window = ((uintptr_t)object - homes->table.base) >> homes->table.shift;

	return likely(window < homes->table.windows) ? homes->table.home[window] : homes->count;
}

static inline unsigned int
homes_of(const struct homes *homes, const void *object)
{
	return homes->count == 1 ? 0 : homes_of_several(homes, object);
}

static inline unsigned int
homes_this_lcore(void)
{
	return RTE_MIN(rte_lcore_id(), (unsigned int)RTE_MAX_LCORE);
}

static inline void
homes_set_reserved(struct home_list *list, uint32_t reserved)
{
	list->reserved = reserved;
	list->stash_fast = reserved > 0 || list->stash_most < 2 ? 0 : list->stash_most - 2;
}

/* Gives a new object its home. */
void homes_add(struct homes *homes, void *object, uint8_t home);

/* All or none; -ENOBUFS. For pools of several homes, as those below. */
int homes_get_of_several(struct homes *homes, void **objects, unsigned int n);

/* -EINVAL: some are no objects of this pool, and were left alone. */
int homes_put_to_several(struct homes *homes, void * const *objects, unsigned int n);

/*
 * An object that a core frees for itself goes to its stash here, on the fast path: most drivers
 * free packet by packet. False: it is for homes_put_to_several().
 */
static inline bool
homes_stash(struct homes *homes, void * const *object)
{
	struct home_list *list = &homes->list[homes_of_several(homes, *object)];
	struct rte_mempool_cache *stash;

	if (unlikely(list->stashing_lcore != rte_lcore_id()))
		return false;
	stash = list->stash;
	/* With one object in the stash this may be the library that flushes it. */
	if (unlikely(stash->len - 2 >= list->stash_fast))
		return false;
	stash->objs[stash->len++] = *object;
	return true;
}

/* Free objects in all lists but those in stashes, which the library counts. */
unsigned int homes_free_objects(const struct homes *homes);

#endif
