/* SPDX-License-Identifier: Apache-2.0 */
/* The data path of pools that several cores poll. */
#include "homes.h"

#include <string.h>

#include <rte_common.h>

/* Objects that are sorted by home at once. */
#define SORTED_AT_ONCE 64

static int
enqueue(const struct home_list *list, void * const *objects, unsigned int n)
{
	return n > 0 && rte_ring_mp_enqueue_bulk(list->ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
}

static bool
is_in_stash(const struct home_list *list, void * const *objects)
{
	return list->stash_size > 0 &&
		(uintptr_t)objects - (uintptr_t)list->stash->objs < sizeof(list->stash->objs);
}

/* All or none out of the reserve and the ring, with as many in advance as the library would take. */
static int
get_reserved(struct home_list *list, void **objects, unsigned int n)
{
	unsigned int ahead;

	if (n > list->reserved && n <= list->stash_size) {
		ahead = n + list->stash_size - list->reserved;
		if (rte_ring_mc_dequeue_bulk(list->ring, &list->reserve[list->reserved], ahead, NULL) > 0)
			homes_set_reserved(list, list->reserved + ahead);
	}
	if (n <= list->reserved) {
		homes_set_reserved(list, list->reserved - n);
		memcpy(objects, &list->reserve[list->reserved], n * sizeof(*objects));
		return 0;
	}
	if (rte_ring_mc_dequeue_bulk(list->ring, objects + list->reserved, n - list->reserved,
			NULL) == 0)
		return -ENOBUFS;
	if (list->reserved > 0)
		memcpy(objects, list->reserve, list->reserved * sizeof(*objects));
	homes_set_reserved(list, 0);
	return 0;
}

/* The library has emptied the stash before it asks; callers that pass it by have not. */
static int
get_own(struct home_list *list, void **objects, unsigned int n)
{
	unsigned int stashed = 0;

	if (list->stash_size == 0)
		return rte_ring_mc_dequeue_bulk(list->ring, objects, n, NULL) == 0 ? -ENOBUFS : 0;
	if (!is_in_stash(list, objects))
		stashed = RTE_MIN(n, list->stash->len);
	if (n > stashed && get_reserved(list, objects + stashed, n - stashed) < 0)
		return -ENOBUFS;
	if (stashed > 0)
		memcpy(objects, &list->stash->objs[list->stash->len - stashed],
			stashed * sizeof(*objects));
	if (stashed > 0)
		list->stash->len -= stashed;
	return 0;
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

/* Puts objects back into their rings: what a call that fails had taken. */
static void
give_back(struct homes *homes, void * const *objects, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		rte_ring_mp_enqueue(homes->list[homes_of_several(homes, objects[i])].ring, objects[i]);
}

/* Takes objects out of all rings in turn, so that no poller is left with fewer than the others. */
static int
get_any(struct homes *homes, void **objects, unsigned int n)
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

/* What the core has taken in advance or kept goes to its ring, but for what the caller holds. */
static int
empty_own(struct home_list *own, bool keep_stash)
{
	if (enqueue(own, own->reserve, own->reserved) < 0)
		return -ENOBUFS;
	homes_set_reserved(own, 0);
	if (keep_stash || own->stash_size == 0)
		return 0;
	if (enqueue(own, own->stash->objs, own->stash->len) < 0)
		return -ENOBUFS;
	own->stash->len = 0;
	return 0;
}

/* Takes what the home has left, then from other homes: returns how many of those. */
static int
get_borrowing(struct homes *homes, struct home_list *own, void **objects, unsigned int n)
{
	void *taken[RTE_MEMPOOL_CACHE_MAX_SIZE];
	bool in_stash = is_in_stash(own, objects);
	void **to = in_stash ? taken : objects;
	unsigned int of_own;

	if (in_stash && n > RTE_DIM(taken))
		return -ENOBUFS;
	if (empty_own(own, in_stash) < 0)
		return -ENOBUFS;
	of_own = rte_ring_mc_dequeue_burst(own->ring, to, n, NULL);
	if (get_any(homes, to + of_own, n - of_own) < 0) {
		give_back(homes, to, of_own);
		return -ENOBUFS;
	}
	if (in_stash)
		memcpy(objects, taken, n * sizeof(*objects));
	return n - of_own;
}

int
homes_get_of_several(struct homes *homes, void **objects, unsigned int n)
{
	unsigned int lcore = homes_this_lcore();
	uint8_t own = homes->of_lcore[lcore];
	int borrowed;

	if (own == HOME_NONE) {
		if (get_any(homes, objects, n) < 0)
			return -ENOBUFS;
		homes->counts[lcore].gets_by_others += n;
		return 0;
	}
	if (get_own(&homes->list[own], objects, n) == 0)
		return 0;
	if (!homes->borrow)
		return -ENOBUFS;
	borrowed = get_borrowing(homes, &homes->list[own], objects, n);
	if (borrowed < 0)
		return borrowed;
	homes->counts[lcore].gets_borrowed += borrowed;
	return 0;
}

/* Objects of the core's own home: into its stash, as the library puts them into a cache. */
static int
put_own(struct home_list *own, void * const *objects, unsigned int n)
{
	struct rte_mempool_cache *stash = own->stash;

	if (n > own->stash_most)
		return enqueue(own, objects, n);
	if (stash->len + own->reserved + n > own->stash_most && empty_own(own, false) < 0)
		return -ENOBUFS;
	memcpy(&stash->objs[stash->len], own->reserve, own->reserved * sizeof(*objects));
	stash->len += own->reserved;
	homes_set_reserved(own, 0);
	memcpy(&stash->objs[stash->len], objects, n * sizeof(*objects));
	stash->len += n;
	return 0;
}

/* Objects of one home, by a core that has no stash for them. */
static int
put_afar(struct homes *homes, unsigned int home, unsigned int lcore, void * const *objects,
	unsigned int n)
{
	if (unlikely(home == homes->count)) {
		homes->counts[lcore].puts_refused += n;
		return -EINVAL;
	}
	if (home != homes->of_lcore[lcore])
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

/* To the stash goes what is the core's own up to the first that is not: most often all. */
static int
put_leading(struct homes *homes, unsigned int own, void * const *objects, unsigned int n,
	unsigned int *first)
{
	struct home_list *list = &homes->list[own];
	unsigned int leading = 0;
	int ret;

	if (is_in_stash(list, objects)) {
		ret = enqueue(list, list->reserve, list->reserved);
		homes_set_reserved(list, 0);
		return ret;
	}
	while (leading < n && homes_of_several(homes, objects[leading]) == own)
		leading++;
	*first = leading;
	return leading == 0 ? 0 : put_own(list, objects, leading);
}

int
homes_put_to_several(struct homes *homes, void * const *objects, unsigned int n)
{
	unsigned int lcore = homes_this_lcore(), own = homes->of_lcore[lcore], first = 0, home, part;
	int ret = 0, failed;

	if (n == 1) {
		home = homes_of_several(homes, *objects);
		if (home != own || homes->list[own].stash_size == 0)
			return put_afar(homes, home, lcore, objects, 1);
	}
	if (own != HOME_NONE)
		ret = put_leading(homes, own, objects, n, &first);
	for (; first < n; first += part) {
		part = RTE_MIN(n - first, (unsigned int)SORTED_AT_ONCE);
		failed = put_sorted(homes, lcore, objects + first, part);
		if (failed < 0)
			ret = failed;
	}
	return ret;
}

unsigned int
homes_free_objects(const struct homes *homes)
{
	unsigned int home, objects = 0;

	for (home = 0; home < homes->count; home++)
		objects += rte_ring_count(homes->list[home].ring) + homes->list[home].reserved;
	return objects;
}
