/* SPDX-License-Identifier: Apache-2.0 */
#include "placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "physical.h"

/* A place in a chunk. */
struct place {
	size_t offset; /* of the object's header */
	uint8_t home;
};

static size_t
object_bytes(const struct rte_mempool *pool)
{
	return (size_t)pool->header_size + pool->elt_size + pool->trailer_size;
}

void
placement_start(struct placement *placement, const struct plan *plan, uint32_t objects)
{
	unsigned int home;

	memset(placement, 0, sizeof(*placement));
	for (home = 0; home < plan->homes; home++)
		placement->left[home] = objects / plan->homes + (home < objects % plan->homes);
}

/* The home with most left to place among those that take the slice; any slice: -1. */
static uint8_t
choose_home(const struct plan *plan, const uint32_t *left, int slice)
{
	uint8_t best = HOME_NONE;
	unsigned int home;

	for (home = 0; home < plan->homes; home++)
		if (left[home] > 0 && (slice < 0 || plan->home[home].slices.has[slice]) &&
				(best == HOME_NONE || left[home] > left[best]))
			best = home;
	return best;
}

/*
 * First offset from `offset` on where an object does not cross a page, unless it is larger: devices
 * need it in one piece, and neighbouring pages may be apart in their view.
 */
static size_t
within_page(const struct chunk *chunk, size_t offset, size_t bytes, size_t page_bytes)
{
	uintptr_t first = (uintptr_t)chunk->start + offset;

	if (page_bytes == 0 || bytes > page_bytes)
		return offset;
	if (RTE_ALIGN_FLOOR(first, page_bytes) == RTE_ALIGN_FLOOR(first + bytes - 1, page_bytes))
		return offset;
	return offset + (RTE_ALIGN_CEIL(first, page_bytes) - first);
}

/* Finds the next place from place->offset on. 1, or 0 if the chunk ends before. */
static int
next_place(const struct plan *plan, const uint32_t *left, const struct rte_mempool *pool,
	const struct chunk *chunk, size_t page_bytes, struct page *page, struct place *place,
	uint64_t *physical)
{
	size_t bytes = object_bytes(pool);
	int ret, slice;

	for (;; place->offset += RTE_CACHE_LINE_SIZE) {
		place->offset = within_page(chunk, place->offset, bytes, page_bytes);
		if (place->offset + bytes > chunk->bytes)
			return 0;
		ret = physical_address(page,
			chunk->start + place->offset + pool->header_size + plan->placed_byte, physical);
		if (ret < 0)
			return ret;
		slice = skl_slice_of(plan->map, *physical);
		if (slice < 0)
			return slice;
		place->home = choose_home(plan, left, slice);
		if (place->home != HOME_NONE)
			return 1;
	}
}

/* All places of the chunk before any is used: a chunk that fails leaves nothing behind. */
static int
find_places(const struct placement *placement, const struct plan *plan,
	struct rte_mempool *pool, const struct chunk *chunk, struct place *places, uint64_t *uncovered)
{
	struct place place = { 0 };
	uint32_t left[RTE_MAX_LCORE];
	struct page page = { 0 };
	size_t page_bytes;
	int ret, found = 0;

	memcpy(left, placement->left, sizeof(left));
	ret = rte_mempool_get_page_size(pool, &page_bytes);
	if (ret < 0)
		return ret;
	while (found < (int)chunk->most_objects) {
		ret = next_place(plan, left, pool, chunk, page_bytes, &page, &place, uncovered);
		if (ret < 0)
			return ret;
		if (ret == 0)
			break;
		left[place.home]--;
		places[found++] = place;
		place.offset += object_bytes(pool);
	}
	return found;
}

static void
use_places(struct placement *placement, struct rte_mempool *pool, struct homes *homes,
	const struct chunk *chunk, const struct place *places, int found)
{
	size_t end = 0;
	void *object;
	int i;

	for (i = 0; i < found; i++) {
		size_t in_chunk = places[i].offset + pool->header_size;

		object = chunk->start + in_chunk;
		chunk->add(pool, chunk->add_argument, object,
			chunk->iova == RTE_BAD_IOVA ? RTE_BAD_IOVA : chunk->iova + in_chunk);
		homes_add(homes, object, places[i].home);
		placement->left[places[i].home]--;
		placement->gaps_bytes += places[i].offset - end;
		end = places[i].offset + object_bytes(pool);
	}
	placement->objects += found;
	placement->memory_bytes += chunk->bytes;
}

int
placement_fill(struct placement *placement, const struct plan *plan, struct rte_mempool *pool,
	struct homes *homes, const struct chunk *chunk, uint64_t *uncovered)
{
	size_t room = RTE_MIN(chunk->bytes / object_bytes(pool) + 1, chunk->most_objects);
	struct place *places = calloc(room, sizeof(*places));
	int ret;

	if (places == NULL)
		return -ENOMEM;
	ret = find_places(placement, plan, pool, chunk, places, uncovered);
	if (ret > 0 && homes_cover(homes, pool, chunk->start, chunk->bytes) < 0)
		ret = -ENOMEM;
	if (ret > 0)
		use_places(placement, pool, homes, chunk, places, ret);
	free(places);
	return ret;
}

int
placement_fill_plain(struct placement *placement, const struct plan *plan,
	struct rte_mempool *pool, struct homes *homes, const struct chunk *chunk)
{
	size_t page_bytes, bytes = object_bytes(pool);
	struct place place = { 0 };
	uint32_t objects = 0;
	int ret;

	ret = rte_mempool_get_page_size(pool, &page_bytes);
	if (ret < 0)
		return ret;
	if (homes_cover(homes, pool, chunk->start, chunk->bytes) < 0)
		return -ENOMEM;
	while (objects < chunk->most_objects) {
		struct chunk rest = *chunk;

		place.offset = within_page(chunk, place.offset, bytes, page_bytes);
		if (place.offset + bytes > chunk->bytes)
			break;
		place.home = choose_home(plan, placement->left, -1);
		rest.bytes = 0;
		use_places(placement, pool, homes, &rest, &place, 1);
		place.offset += bytes;
		objects++;
	}
	placement->unplaced += objects;
	placement->memory_bytes += chunk->bytes;
	return objects;
}

/* More lines than this to the next wanted one are rare; a chunk has at least room for them. */
#define LONG_GAP_BYTES (4096 * RTE_CACHE_LINE_SIZE)

ssize_t
placement_bytes(const struct plan *plan, const struct rte_mempool *pool, uint32_t objects,
	size_t page_bytes, size_t *least_bytes)
{
	unsigned int slice, slices = skl_slice_map_slices(plan->map), wanted = 0, home;
	size_t bytes = object_bytes(pool), per_object, sum;

	for (slice = 0; slice < slices; slice++)
		for (home = 0; home < plan->homes; home++)
			if (plan->home[home].slices.has[slice]) {
				wanted++;
				break;
			}
	/* As if slices were drawn at random: slices / wanted lines until one is right, itself included. */
	per_object = bytes + RTE_CACHE_LINE_SIZE * (slices - wanted) / wanted;
	sum = per_object * objects;
	if (page_bytes > 0)
		sum += sum / page_bytes * bytes;
	*least_bytes = bytes + LONG_GAP_BYTES;
	/* Larger than the least: equal would ask for one piece of physically contiguous memory. */
	return RTE_MAX(sum + sum / 64, *least_bytes + RTE_CACHE_LINE_SIZE);
}
