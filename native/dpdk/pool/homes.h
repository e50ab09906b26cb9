/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free objects by home: the core for which they were made.
 *
 * A pool that one core polls has one home, a plain ring below the usual per-core cache. A pool that
 * several cores poll has one home for each; an object returns to its home, whichever core frees it.
 * The usual cache would give a core the objects that it freed, whatever their home; so this driver
 * fills that cache itself.
 *
 * Objects that a home's core frees, or takes in advance, are *kept* for it in a cache of the home's
 * pool (home_pool.h), into which the library puts packets without a call. The pool's own cache of
 * that core is its *front*: it has the objects that the library took out of the driver at the last
 * get, all of the home, so that gets of single objects need no call and a flush has something to
 * begin with. Its threshold is 0, with which the library hands all objects that are freed into the
 * pool itself to the driver. Rules for both:
 * - homes_put() with objects that lie in the front is a flush, or comes from a driver of a device
 *   that wrote there (some do when they free): kept objects are returned to the rings as well.
 * - homes_get() into the front means that the library, or a driver of a device, fills it. Its
 *   objects may be taken back if the call fails: nothing in it is changed, and the caller sets its
 *   `len`.
 * - Drivers of devices may write objects of all homes into the cache of kept objects, since they
 *   assume that all packets of a burst are of one pool: gets check the homes of the objects that
 *   they take.
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
	struct rte_ring *ring;           /* NULL for the list of objects of other pools */
	struct rte_mempool_cache *kept;  /* NULL without a cache; used by the home's core alone */
	struct rte_mempool_cache *front; /* as `kept` */
	struct rte_mempool *pool;        /* pool of the home; NULL without a cache */
	unsigned int lcore;              /* core of the home; LCORE_ID_ANY: all */
	/* as `lcore`; without a cache a number that no thread has */
	unsigned int keeping_lcore;
	unsigned int number;             /* index in homes.list */
	bool is_mixed;                   /* objects of other homes were found among the kept ones */
} __rte_cache_aligned;

/* Counts of one core, which others read without locks. */
struct home_counts {
	uint64_t gets_by_others;
	uint64_t gets_borrowed;
	uint64_t puts_from_afar;
	uint64_t puts_refused;
} __rte_cache_aligned;

/*
 * The home of each object by its address: no two objects begin in one aligned window of 2^shift
 * bytes, since objects are longer. The table saves a read of the headers of objects, which are
 * cold.
 */
struct home_table {
	uintptr_t base;
	unsigned int shift;
	uint32_t windows;
	uint8_t *home; /* number of the home; the count of homes if no object begins there */
};

struct homes {
	struct home_table table; /* for shared pools */
	unsigned int count;
	/* whether several cores, or objects for all cores, share the pool */
	bool is_shared;
	bool borrow;
	bool keep_pool_of_packets;  /* whether packets name the pool itself, whatever their home */
	unsigned int packets_state; /* state of home_pools_name() */
	/* the one after the last home: objects of other pools */
	struct home_list list[RTE_MAX_LCORE + 1];
	/* home of each lcore; the last for threads without one */
	uint8_t of_lcore[RTE_MAX_LCORE + 1];
	struct home_counts counts[RTE_MAX_LCORE + 1];
};

/* Bytes of a ring for `objects` objects. */
ssize_t homes_ring_bytes(uint32_t objects);

/* Makes one home, whose ring in the given memory all cores use. The lcore may be LCORE_ID_ANY. */
int homes_init_one(struct homes *homes, const struct rte_mempool *pool, unsigned int lcore,
	struct rte_ring *ring);

/* Makes homes for equal shares of the objects, for the cores lcores[], or one for all. -ENOMEM. */
int homes_init_shared(struct homes *homes, const struct rte_mempool *pool, unsigned int count,
	const unsigned int *lcores);

/* For several homes: makes caches of each, and the caches of the pool their fronts. -ENOMEM. */
int homes_take_caches(struct homes *homes, struct rte_mempool *pool);

void homes_free(struct homes *homes);

/* Prepares homes_add() for objects in the `bytes` from `chunk` on. -ENOMEM. */
int homes_cover(struct homes *homes, const struct rte_mempool *pool, const void *chunk,
	size_t bytes);

/* The home of an object, of several; the count of homes if no object of the pool begins there. */
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

/* Gets all objects or none; -ENOBUFS. For pools of several homes, as the functions below. */
int homes_get_of_several(struct homes *homes, void **objects, unsigned int n);

/* Puts objects back. -EINVAL if some are not objects of this pool; these were ignored. */
int homes_put_to_several(struct homes *homes, void * const *objects, unsigned int n);

/*
 * Takes all objects or none out of the kept objects of a core and a ring, and fetches as many in
 * advance as the library would. `kept` may be NULL.
 */
int homes_take(struct rte_ring *ring, struct rte_mempool_cache *kept, void **objects,
	unsigned int n);

/* Puts objects into rings alone, past the kept objects. Errors as homes_put_to_several(). */
int homes_put_into_rings(struct homes *homes, void * const *objects, unsigned int n);

/* Gets all objects or none, of any home, each in turn; -ENOBUFS. */
int homes_get_of_any(struct homes *homes, void **objects, unsigned int n);

/*
 * Keeps an object that a core frees for itself into the pool, on the fast path. False: the caller
 * has to call homes_put_to_several().
 */
static inline bool
homes_keep(struct homes *homes, void * const *object)
{
	struct home_list *list = &homes->list[homes_of_several(homes, *object)];
	struct rte_mempool_cache *kept;

	if (unlikely(list->keeping_lcore != rte_lcore_id()))
		return false;
	kept = list->kept;
	/* Not for a flush of a front with one object. */
	if (unlikely(kept->len >= kept->flushthresh || object == list->front->objs))
		return false;
	kept->objs[kept->len++] = *object;
	return true;
}

/*
 * Gets objects of the core's own home on the fast path: the warmest of the kept ones. False: the
 * caller has to call homes_get_of_several().
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

/* Number of free objects in all lists, without those in fronts, which the library counts. */
unsigned int homes_free_objects(const struct homes *homes);

#endif
