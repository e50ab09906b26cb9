/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects chosen by set: packet data begin at multiples of their size, so that they fill the same
 * sets as any others of their colour, and libskipline_slices chooses among four times as many places.
 * Mbuf and headroom lie before the data: a place takes more than its data, and neighbouring blocks
 * begin with different colours, so that all of them occur.
 */
#include "placement.h"

#include <errno.h>
#include <stdlib.h>

#include "physical.h"

/* Places for each object: fewer are too alike more often. */
#define PLACES 4

static size_t
place_bytes(const struct plan *plan, const struct rte_mempool *pool)
{
	return RTE_ALIGN_CEIL(object_bytes(pool), plan->buffer_bytes);
}

ssize_t
placement_sets_bytes(const struct plan *plan, const struct rte_mempool *pool, uint32_t objects,
	size_t *least_bytes)
{
	size_t place = place_bytes(plan, pool), block = (size_t)plan->sets * RTE_CACHE_LINE_SIZE;
	size_t bytes = (size_t)objects * PLACES * place;

	/* A place may be lost where a block begins with another colour, and at each end. */
	bytes += bytes / block * place + 2 * place;
	/* Equal would request one piece of physically contiguous memory. */
	*least_bytes = bytes - RTE_CACHE_LINE_SIZE;
	return bytes;
}

/* The first unit from `unit` on, in buffers' sizes, at which data of a place begin. */
static uintptr_t
first_place(const struct plan *plan, size_t units_of_place, uintptr_t unit)
{
	size_t colours = (size_t)plan->sets * RTE_CACHE_LINE_SIZE / plan->buffer_bytes;

	while ((unit + unit / colours) % units_of_place != 0)
		unit++;
	return unit;
}

/*
 * Finds the places of a chunk: where data begin, and their physical addresses. Their number, or a
 * negative errno.
 */
static int
find_places(const struct plan *plan, struct rte_mempool *pool, const struct chunk *chunk,
	size_t most, char **data, uint64_t *physical)
{
	size_t bytes = object_bytes(pool), before = pool->header_size + plan->placed_byte, page_bytes;
	size_t units = place_bytes(plan, pool) / plan->buffer_bytes, found = 0;
	uintptr_t start = (uintptr_t)chunk->start, unit, object;
	struct page page = { 0 };
	int ret = rte_mempool_get_page_size(pool, &page_bytes);

	if (ret < 0)
		return ret;
	unit = first_place(plan, units, (start + before + plan->buffer_bytes - 1) / plan->buffer_bytes);
	for (; found < most; unit = first_place(plan, units, unit + units)) {
		object = unit * plan->buffer_bytes - before;
		if (object + bytes > start + chunk->bytes)
			break;
		/* Devices need an object in one piece. */
		if (page_bytes > 0 && object / page_bytes != (object + bytes - 1) / page_bytes)
			continue;
		data[found] = (char *)(unit * plan->buffer_bytes);
		ret = physical_address(&page, data[found], &physical[found]);
		if (ret < 0)
			return ret;
		found++;
	}
	return found;
}

static int
use_places(struct placement *placement, const struct plan *plan, struct rte_mempool *pool,
	struct homes *homes, const struct chunk *chunk, char *const *data, const size_t *chosen)
{
	uint32_t i;

	if (homes_cover(homes, pool, chunk->start, chunk->bytes) < 0)
		return -ENOMEM;
	for (i = 0; i < chunk->most_objects; i++) {
		char *object = data[chosen[i]] - plan->placed_byte;

		chunk->add(pool, chunk->add_argument, object,
			chunk->iova == RTE_BAD_IOVA ? RTE_BAD_IOVA : chunk->iova + (object - chunk->start));
		homes_add(homes, object, 0);
	}
	placement->left[0] -= chunk->most_objects;
	placement->objects += chunk->most_objects;
	placement->memory_bytes += chunk->bytes;
	placement->gaps_bytes += chunk->bytes - chunk->most_objects * object_bytes(pool);
	return chunk->most_objects;
}

/* Finds one of the addresses that the table does not cover, for a message. */
static void
find_uncovered(const struct plan *plan, const uint64_t *physical, int count, uint64_t *uncovered)
{
	int i;

	for (i = 0; i < count; i++) {
		*uncovered = physical[i];
		if (skl_slice_of(plan->map, physical[i]) < 0)
			return;
	}
}

int
placement_fill_sets(struct placement *placement, const struct plan *plan, struct rte_mempool *pool,
	struct homes *homes, const struct chunk *chunk, uint64_t *uncovered)
{
	const skl_spread_request request = {
		.buffers = chunk->most_objects,
		.buffer_bytes = plan->buffer_bytes,
		.sets_per_slice = plan->sets,
	};
	size_t most = chunk->bytes / place_bytes(plan, pool) + 1;
	uint64_t *physical = calloc(most, sizeof(*physical));
	size_t *chosen = calloc(chunk->most_objects, sizeof(*chosen));
	char **data = calloc(most, sizeof(*data));
	int found = -ENOMEM, ret = -ENOMEM;

	if (physical != NULL && chosen != NULL && data != NULL)
		ret = found = find_places(plan, pool, chunk, most, data, physical);
	/* Of several chunks none sees what the others give to a set. */
	if (found >= 0)
		ret = chunk->most_objects < pool->size ? -ENOSPC :
			skl_spread_buffers(plan->map, &request, physical, found, chosen, NULL, 0);
	if (ret == -ERANGE)
		find_uncovered(plan, physical, found, uncovered);
	if (ret >= 0)
		ret = use_places(placement, plan, pool, homes, chunk, data, chosen);
	free(physical);
	free(chosen);
	free(data);
	return ret;
}
