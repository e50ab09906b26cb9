/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free objects by home, the core that they are made for.
 *
 * A pool that one core polls has one home, a plain ring below the usual per-core cache. A pool that
 * several cores poll has one home for each; an object returns to its home, whichever core frees
 * it. The usual cache would give a core what it freed, whatever its home; so this driver fills it.
 *
 * What a home's core frees, or takes in advance, is *kept* for it in a cache of the home's own pool
 * (home_pool.h), into which the library puts packets without a call. The pool's own cache of that
 * core is its *front*: it holds what the library took out of the driver at the last get, objects of
 * the home alone, so that gets of single objects need no call and a flush has something to begin
 * with. Its threshold is 0, with which the library hands all that is freed into the pool itself to
 * the driver. What holds for both:
 * - homes_put() with objects that lie in the front is a flush, or a driver of a device that wrote
 *   there (some do when they free): what is kept is returned to the rings as well.
 * - homes_get() into the front is the library (or a device's driver) filling it. What lies there may
 *   be taken back if the call fails: nothing there is touched, and its `len` is the caller's.
 * - Drivers of devices may write objects of all homes into what is kept, since they take all
 *   packets of a burst to be of one pool: gets look at the homes of what they take.
 */
#ifndef SKL_HOMES_H
#define SKL_HOMES_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#define HOME_NONE UINT8_MAX

static_assert(RTE_MAX_LCORE < HOME_NONE, "homes are numbered in a byte");

struct home_list {
	struct rte_ring *ring;           /* NULL: the list of objects of other pools */
	struct rte_mempool_cache *kept;  /* NULL without a cache; touched by the home's core alone */
	struct rte_mempool_cache *front; /* the same */
	struct rte_mempool *pool;        /* the home's own; NULL without a cache */
	unsigned int lcore;              /* LCORE_ID_ANY: all */
	unsigned int keeping_lcore;      /* the same; without a cache a number that no thread has */
	unsigned int number;             /* place in homes.list */
	bool is_mixed;                   /* objects of other homes were found among what is kept */
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
	struct home_table table; /* of shared pools */
	unsigned int count;
	bool is_shared;             /* between cores, or by objects that are for all of them */
	bool borrow;
	bool keep_pool_of_packets;  /* packets name the pool itself, whatever their home */
	unsigned int packets_state; /* of home_pools_name() */
	struct home_list list[RTE_MAX_LCORE + 1]; /* that after the last home: of objects of other pools */
	uint8_t of_lcore[RTE_MAX_LCORE + 1]; /* the last: threads that are no lcores */
	struct home_counts counts[RTE_MAX_LCORE + 1];
};

/* Bytes of a ring for so many objects. */
ssize_t homes_ring_bytes(uint32_t objects);

/* One home, whose ring all cores use, in the memory given for it: the lcore may be LCORE_ID_ANY. */
int homes_init_one(struct homes *homes, const struct rte_mempool *pool, unsigned int lcore,
	struct rte_ring *ring);

/* Homes for equal parts of the objects, of the cores lcores[], or one of all. -ENOMEM. */
int homes_init_shared(struct homes *homes, const struct rte_mempool *pool, unsigned int count,
	const unsigned int *lcores);

/* Makes caches for each home, and the pool's caches their fronts, if there are several. -ENOMEM. */
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
	return homes->is_shared ? homes_of_several(homes, object) : 0;
}

static inline unsigned int
homes_this_lcore(void)
{
	return RTE_MIN(rte_lcore_id(), (unsigned int)RTE_MAX_LCORE);
}

/* Gives a new object its home. */
void homes_add(struct homes *homes, void *object, uint8_t home);

/* All or none; -ENOBUFS. For pools of several homes, as those below. */
int homes_get_of_several(struct homes *homes, void **objects, unsigned int n);

/* -EINVAL: some are no objects of this pool, and were left alone. */
int homes_put_to_several(struct homes *homes, void * const *objects, unsigned int n);

/*
 * All or none out of what a core keeps and a ring; fetches as many in advance as the library would.
 * `kept` may be NULL.
 */
int homes_take(struct rte_ring *ring, struct rte_mempool_cache *kept, void **objects,
	unsigned int n);

/* Into rings alone, past what is kept. As homes_put_to_several(). */
int homes_put_into_rings(struct homes *homes, void * const *objects, unsigned int n);

/* All or none of any home, each in turn; -ENOBUFS. */
int homes_get_of_any(struct homes *homes, void **objects, unsigned int n);

/*
 * An object that a core frees for itself into the pool is kept here, on the fast path. False: it is
 * for homes_put_to_several().
 */
static inline bool
homes_keep(struct homes *homes, void * const *object)
{
	struct home_list *list = &homes->list[homes_of_several(homes, *object)];
	struct rte_mempool_cache *kept;

	if (unlikely(list->keeping_lcore != rte_lcore_id()))
		return false;
	kept = list->kept;
	/* A flush of a front with one object. */
	if (unlikely(kept->len >= kept->flushthresh || object == list->front->objs))
		return false;
	kept->objs[kept->len++] = *object;
	return true;
}

/*
 * What a core gets of its own, on the fast path: the warmest of what is kept. False: it is for
 * homes_get_of_several().
 */
static inline bool
homes_get_kept(struct homes *homes, void **objects, unsigned int n)
{
	unsigned int own = homes->of_lcore[homes_this_lcore()];
	struct rte_mempool_cache *kept;

	if (unlikely(own == HOME_NONE))
		return false;
	kept = homes->list[own].kept;
	if (unlikely(kept == NULL || kept->len < n || n == 0 || homes->list[own].is_mixed))
		return false;
	if (unlikely(homes_of_several(homes, kept->objs[kept->len - 1]) != own))
		return false;
	kept->len -= n;
	memcpy(objects, &kept->objs[kept->len], n * sizeof(*objects));
	return true;
}

/* Free objects in all lists but those in fronts, which the library counts. */
unsigned int homes_free_objects(const struct homes *homes);

#endif
