/* SPDX-License-Identifier: Apache-2.0 */
/* The data path of pools that several cores poll. */
#include "homes.h"

#include <string.h>

#include <rte_common.h>
#include <rte_memcpy.h>

/* Objects that are sorted by home at once. */
#define SORTED_AT_ONCE 64

static int
enqueue(const struct home_list *list, void * const *objects, unsigned int n)
{
	return n > 0 && rte_ring_mp_enqueue_bulk(list->ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
}

static bool
is_in_front(const struct home_list *list, void * const *objects)
{
	return list->kept != NULL &&
		(uintptr_t)objects - (uintptr_t)list->front->objs < sizeof(list->front->objs);
}

/*
 * Whether the last objects that are kept are of this home. A look at each costs as much as a cache
 * saves: the newest one is looked at until one of another home has been found, then all are.
 */
static bool
are_own(const struct homes *homes, const struct home_list *own, unsigned int n)
{
	const struct rte_mempool_cache *kept = own->kept;
	unsigned int i, least = own->is_mixed ? kept->len - n : RTE_MAX(kept->len, 1U) - 1, others = 0;

	for (i = least; i < kept->len; i++)
		others |= homes_of_several(homes, kept->objs[i]) ^ own->number;
	return others == 0;
}

/* Returns the kept objects to the rings. */
static int
return_kept(struct homes *homes, struct home_list *own)
{
	int ret = homes_put_into_rings(homes, own->kept->objs, own->kept->len);

	own->kept->len = 0;
	return ret;
}

/* Keeps so many that `n` can be taken and as many are left as the library would take in advance. */
static void
keep_ahead(struct rte_ring *ring, struct rte_mempool_cache *kept, unsigned int n)
{
	unsigned int ahead = n + kept->size - kept->len;

	if (n + kept->size <= RTE_DIM(kept->objs) &&
			rte_ring_mc_dequeue_bulk(ring, &kept->objs[kept->len], ahead, NULL) > 0)
		kept->len += ahead;
}

/* Takes so many of the kept objects, the warmest ones, and all others out of the ring. */
static int
take(struct rte_ring *ring, struct rte_mempool_cache *kept, unsigned int of_kept, void **objects,
	unsigned int n)
{
	if (of_kept < n && rte_ring_mc_dequeue_bulk(ring, objects + of_kept, n - of_kept, NULL) == 0)
		return -ENOBUFS;
	kept->len -= of_kept;
	rte_memcpy(objects, &kept->objs[kept->len], of_kept * sizeof(*objects));
	return 0;
}

int
homes_take(struct rte_ring *ring, struct rte_mempool_cache *kept, void **objects, unsigned int n)
{
	if (kept == NULL)
		return rte_ring_mc_dequeue_bulk(ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
	if (kept->len < n)
		keep_ahead(ring, kept, n);
	return take(ring, kept, RTE_MIN(n, kept->len), objects, n);
}

/* Gets all objects or none, of the core's own home. */
static int
get_own(struct homes *homes, struct home_list *own, void **objects, unsigned int n)
{
	struct rte_mempool_cache *kept = own->kept;

	if (kept == NULL)
		return homes_take(own->ring, NULL, objects, n);
	if (kept->len < n)
		keep_ahead(own->ring, kept, n);
	if (unlikely(!are_own(homes, own, RTE_MIN(n, kept->len)))) {
		own->is_mixed = true;
		if (return_kept(homes, own) < 0)
			return -ENOBUFS;
	}
	return take(own->ring, kept, RTE_MIN(n, kept->len), objects, n);
}

static const struct home_list *
fullest(const struct homes *homes)
{
	const struct home_list *best = &homes->list[0];
	unsigned int home;

	for (home = 1; home < homes->count; home++)
		if (rte_ring_count(homes->list[home].ring) > rte_ring_count(best->ring))
			best = &homes->list[home];
	return best;
}

/* Puts the objects that a failed call had taken back into their rings. */
static void
give_back(struct homes *homes, void * const *objects, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		rte_ring_mp_enqueue(homes->list[homes_of_several(homes, objects[i])].ring, objects[i]);
}

/* Takes objects out of all rings in turn, so that no poller is left with fewer than the others. */
int
homes_get_of_any(struct homes *homes, void **objects, unsigned int n)
{
	unsigned int got, part, taken = 0;

	while (taken < n) {
		part = RTE_MIN(n - taken, RTE_MAX(n / homes->count, 1U));
		got = rte_ring_mc_dequeue_burst(fullest(homes)->ring, objects + taken, part, NULL);
		if (got == 0) {
			give_back(homes, objects, taken);
			return -ENOBUFS;
		}
		taken += got;
	}
	return 0;
}

/*
 * Takes the objects left in the home, then objects of other homes, and returns the number of these.
 */
static int
get_borrowing(struct homes *homes, struct home_list *own, void **objects, unsigned int n)
{
	unsigned int of_own;

	if (own->kept != NULL && return_kept(homes, own) < 0)
		return -ENOBUFS;
	of_own = rte_ring_mc_dequeue_burst(own->ring, objects, n, NULL);
	if (homes_get_of_any(homes, objects + of_own, n - of_own) < 0) {
		give_back(homes, objects, of_own);
		return -ENOBUFS;
	}
	return n - of_own;
}

int
homes_get_of_several(struct homes *homes, void **objects, unsigned int n)
{
	unsigned int lcore = homes_this_lcore();
	uint8_t own = homes->of_lcore[lcore];
	int borrowed;

	if (own == HOME_NONE) {
		if (homes_get_of_any(homes, objects, n) < 0)
			return -ENOBUFS;
		homes->counts[lcore].gets_by_others += n;
		return 0;
	}
	if (get_own(homes, &homes->list[own], objects, n) == 0)
		return 0;
	/*
	 * For a front that cannot be filled the library asks again, for what its caller needs
	 * alone.
	 */
	if (!homes->borrow || is_in_front(&homes->list[own], objects))
		return -ENOBUFS;
	borrowed = get_borrowing(homes, &homes->list[own], objects, n);
	if (borrowed < 0)
		return borrowed;
	homes->counts[lcore].gets_borrowed += borrowed;
	return 0;
}

/* Objects of the core's own home are kept, as the library puts them into a cache. */
static int
put_own(struct homes *homes, struct home_list *own, void * const *objects, unsigned int n)
{
	struct rte_mempool_cache *kept = own->kept;

	if (kept == NULL || n > kept->flushthresh)
		return enqueue(own, objects, n);
	if (kept->len + n > kept->flushthresh && return_kept(homes, own) < 0)
		return -ENOBUFS;
	memcpy(&kept->objs[kept->len], objects, n * sizeof(*objects));
	kept->len += n;
	return 0;
}

/* Objects of one home, into its ring. */
static int
put_afar(struct homes *homes, unsigned int home, unsigned int lcore, void * const *objects,
	unsigned int n)
{
	if (unlikely(home == homes->count)) {
		homes->counts[lcore].puts_refused += n;
		return -EINVAL;
	}
	/* An object for all cores is never from afar. */
	if (home != homes->of_lcore[lcore] && homes->list[home].lcore != LCORE_ID_ANY)
		homes->counts[lcore].puts_from_afar += n;
	return enqueue(&homes->list[home], objects, n);
}

/* Sorts objects by home, so that each ring is gone to once. */
static int
put_sorted(struct homes *homes, unsigned int lcore, void * const *objects, unsigned int n)
{
	void *left[SORTED_AT_ONCE], *of_one[SORTED_AT_ONCE];
	unsigned int home, i, same, others;
	int ret = 0, failed;

	memcpy(left, objects, n * sizeof(*left));
	for (; n > 0; n = others) {
		home = homes_of_several(homes, left[0]);
		same = others = 0;
		for (i = 0; i < n; i++) {
			if (homes_of_several(homes, left[i]) == home)
				of_one[same++] = left[i];
			else
				left[others++] = left[i];
		}
		failed = put_afar(homes, home, lcore, of_one, same);
		if (failed < 0)
			ret = failed;
	}
	return ret;
}

int
homes_put_into_rings(struct homes *homes, void * const *objects, unsigned int n)
{
	unsigned int lcore = homes_this_lcore(), first, part;
	int ret = 0, failed;

	if (n == 1)
		return put_afar(homes, homes_of_several(homes, *objects), lcore, objects, 1);
	for (first = 0; first < n; first += part) {
		part = RTE_MIN(n - first, (unsigned int)SORTED_AT_ONCE);
		failed = put_sorted(homes, lcore, objects + first, part);
		if (failed < 0)
			ret = failed;
	}
	return ret;
}

int
homes_put_to_several(struct homes *homes, void * const *objects, unsigned int n)
{
	uint8_t own = homes->of_lcore[homes_this_lcore()];
	unsigned int leading = 0;
	int ret = 0, failed;

	if (own != HOME_NONE && is_in_front(&homes->list[own], objects)) {
		ret = return_kept(homes, &homes->list[own]);
	} else if (own != HOME_NONE) {
		/* Objects of the core's own home up to the first that is not: most often all. */
		while (leading < n && homes_of_several(homes, objects[leading]) == own)
			leading++;
		if (leading > 0)
			ret = put_own(homes, &homes->list[own], objects, leading);
	}
	if (leading == n)
		return ret;
	failed = homes_put_into_rings(homes, objects + leading, n - leading);
	return failed < 0 ? failed : ret;
}

unsigned int
homes_free_objects(const struct homes *homes)
{
	unsigned int home, objects = 0;

	for (home = 0; home < homes->count; home++) {
		objects += rte_ring_count(homes->list[home].ring);
		if (homes->list[home].kept != NULL)
			objects += homes->list[home].kept->len;
	}
	return objects;
}
