/* SPDX-License-Identifier: Apache-2.0 */
#include "placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "physical.h"

/* The position of an object in a chunk. */
struct slot {
	size_t offset; /* of the object's header */
	uint8_t home;
	uint8_t behind; /* lines behind the object that its buffer may move into */
};

void
placement_start(struct placement *placement, const struct plan *plan, uint32_t objects)
{
	unsigned int home;

	memset(placement, 0, sizeof(*placement));
	if (plan->moves) {
		placement->left[0] = objects;
		return;
	}
	for (home = 0; home < plan->homes; home++)
		placement->left[home] = objects / plan->homes + (home < objects % plan->homes);
}

/* The home with most objects left to lay out among those that take the slice; any slice: -1. */
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

/* Finds the next slot from slot->offset on. 1, or 0 if the chunk ends before. */
static int
next_slot(const struct plan *plan, const uint32_t *left, const struct rte_mempool *pool,
	const struct chunk *chunk, size_t page_bytes, struct page *page, struct slot *slot,
	uint64_t *physical)
{
	size_t bytes = object_bytes(pool);
	int ret, slice;

	for (;; slot->offset += RTE_CACHE_LINE_SIZE) {
		slot->offset = within_page(chunk, slot->offset, bytes, page_bytes);
		if (slot->offset + bytes > chunk->bytes)
			return 0;
		ret = physical_address(page,
			chunk->start + slot->offset + pool->header_size + plan->placed_byte, physical);
		if (ret < 0)
			return ret;
		slice = skl_slice_of(plan->map, *physical);
		if (slice < 0)
			return slice;
		slot->home = choose_home(plan, left, slice);
		if (slot->home != HOME_NONE)
			return 1;
	}
}

/* Lines by which the buffer of the object in a slot moves for each poller. -ENOENT if too many. */
static int
find_lines(const struct plan *plan, const struct rte_mempool *pool, const struct chunk *chunk,
	struct page *page, struct slot *slot, uint8_t *lines, uint64_t *physical)
{
	const char *first = chunk->start + slot->offset + pool->header_size + plan->placed_byte;
	unsigned int line, home, left = plan->homes;
	int ret, slice;

	memset(lines, UINT8_MAX, plan->homes);
	for (line = 0; left > 0 && line <= MOVABLE_MOST_LINES; line++) {
		if (first + line * RTE_CACHE_LINE_SIZE >= chunk->start + chunk->bytes)
			break;
		ret = physical_address(page, first + line * RTE_CACHE_LINE_SIZE, physical);
		if (ret < 0)
			return ret;
		slice = skl_slice_of(plan->map, *physical);
		if (slice < 0)
			return slice;
		for (home = 0; home < plan->homes; home++)
			if (lines[home] == UINT8_MAX && plan->home[home].slices.has[slice]) {
				lines[home] = line;
				slot->behind = line;
				left--;
			}
	}
	return left == 0 ? 0 : -ENOENT;
}

/* As next_slot(), for an object whose buffer moves. */
static int
next_movable_slot(const struct plan *plan, const struct rte_mempool *pool,
	const struct chunk *chunk, size_t page_bytes, struct page *page, struct slot *slot,
	uint8_t *lines, uint64_t *physical)
{
	size_t bytes = object_bytes(pool), all, offset;
	int ret;

	for (slot->home = 0;; slot->offset += RTE_CACHE_LINE_SIZE) {
		slot->offset = within_page(chunk, slot->offset, bytes, page_bytes);
		if (slot->offset + bytes > chunk->bytes)
			return 0;
		ret = find_lines(plan, pool, chunk, page, slot, lines, physical);
		if (ret == -ENOENT)
			continue;
		if (ret < 0)
			return ret;
		all = bytes + slot->behind * RTE_CACHE_LINE_SIZE;
		offset = within_page(chunk, slot->offset, all, page_bytes);
		if (offset == slot->offset)
			return offset + all <= chunk->bytes;
		slot->offset = offset - RTE_CACHE_LINE_SIZE;
	}
}

/* All slots of the chunk are found before the first is used: a chunk that fails changes nothing. */
static int
find_slots(const struct placement *placement, const struct plan *plan,
	struct rte_mempool *pool, const struct chunk *chunk, struct slot *slots, uint8_t *lines,
	uint64_t *uncovered)
{
	struct slot slot = { 0 };
	uint32_t left[RTE_MAX_LCORE];
	struct page page = { 0 };
	size_t page_bytes;
	int ret, found = 0;

	memcpy(left, placement->left, sizeof(left));
	ret = rte_mempool_get_page_size(pool, &page_bytes);
	if (ret < 0)
		return ret;
	while (found < (int)chunk->most_objects) {
		ret = plan->moves ?
			next_movable_slot(plan, pool, chunk, page_bytes, &page, &slot,
				lines + (size_t)found * plan->homes, uncovered) :
			next_slot(plan, left, pool, chunk, page_bytes, &page, &slot, uncovered);
		if (ret < 0)
			return ret;
		if (ret == 0)
			break;
		left[slot.home]--;
		slots[found++] = slot;
		slot.offset += object_bytes(pool) + slot.behind * RTE_CACHE_LINE_SIZE;
	}
	return found;
}

/* Makes room for the objects of a chunk in the tables. */
static int
cover(struct rte_mempool *pool, struct homes *homes, struct movable *movable,
	const struct chunk *chunk)
{
	int ret = homes_cover(homes, pool, chunk->start, chunk->bytes);

	return ret == 0 && movable->pollers > 0 ? movable_cover(movable, homes, pool) : ret;
}

static void
use_slots(struct placement *placement, struct rte_mempool *pool, struct homes *homes,
	const struct chunk *chunk, const struct slot *slots, int found)
{
	size_t end = 0;
	void *object;
	int i;

	for (i = 0; i < found; i++) {
		size_t in_chunk = slots[i].offset + pool->header_size;

		object = chunk->start + in_chunk;
		chunk->add(pool, chunk->add_argument, object,
			chunk->iova == RTE_BAD_IOVA ? RTE_BAD_IOVA : chunk->iova + in_chunk);
		homes_add(homes, object, slots[i].home);
		placement->left[slots[i].home]--;
		placement->gaps_bytes += slots[i].offset - end +
			slots[i].behind * RTE_CACHE_LINE_SIZE;
		end = slots[i].offset + object_bytes(pool) + slots[i].behind * RTE_CACHE_LINE_SIZE;
	}
	placement->objects += found;
	placement->memory_bytes += chunk->bytes;
}

static void
note_lines(const struct plan *plan, const struct rte_mempool *pool, const struct homes *homes,
	struct movable *movable, const struct chunk *chunk, const struct slot *slots,
	const uint8_t *lines, int found)
{
	int i;

	for (i = 0; i < found; i++)
		movable_note(movable, homes, chunk->start + slots[i].offset + pool->header_size,
			lines + (size_t)i * plan->homes);
}

int
placement_fill(struct placement *placement, const struct plan *plan, struct rte_mempool *pool,
	struct homes *homes, struct movable *movable, const struct chunk *chunk, uint64_t *uncovered)
{
	size_t room = RTE_MIN(chunk->bytes / object_bytes(pool) + 1, chunk->most_objects);
	struct slot *slots = calloc(room, sizeof(*slots));
	uint8_t *lines = calloc(room, plan->moves ? plan->homes : 1);
	int ret = -ENOMEM;

	if (slots != NULL && lines != NULL)
		ret = find_slots(placement, plan, pool, chunk, slots, lines, uncovered);
	if (ret > 0 && cover(pool, homes, movable, chunk) < 0)
		ret = -ENOMEM;
	if (ret > 0 && plan->moves)
		note_lines(plan, pool, homes, movable, chunk, slots, lines, ret);
	if (ret > 0)
		use_slots(placement, pool, homes, chunk, slots, ret);
	free(slots);
	free(lines);
	return ret;
}

int
placement_fill_plain(struct placement *placement, const struct plan *plan,
	struct rte_mempool *pool, struct homes *homes, struct movable *movable,
	const struct chunk *chunk)
{
	size_t page_bytes, bytes = object_bytes(pool);
	struct slot slot = { 0 };
	uint32_t objects = 0;
	int ret;

	ret = rte_mempool_get_page_size(pool, &page_bytes);
	if (ret < 0)
		return ret;
	if (cover(pool, homes, movable, chunk) < 0)
		return -ENOMEM;
	while (objects < chunk->most_objects) {
		struct chunk rest = *chunk;

		slot.offset = within_page(chunk, slot.offset, bytes, page_bytes);
		if (slot.offset + bytes > chunk->bytes)
			break;
		slot.home = choose_home(plan, placement->left, -1);
		rest.bytes = 0;
		use_slots(placement, pool, homes, &rest, &slot, 1);
		slot.offset += bytes;
		objects++;
	}
	placement->unplaced += objects;
	placement->memory_bytes += chunk->bytes;
	return objects;
}

/* More lines than this to the next wanted one are rare; a chunk has at least this many. */
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
	/*
	 * As if slices were drawn at random: slices / wanted lines until one is right, itself
	 * included.
	 */
	per_object = bytes + RTE_CACHE_LINE_SIZE *
		(plan->moves ? slices : (slices - wanted) / wanted);
	sum = per_object * objects;
	if (page_bytes > 0)
		sum += sum / page_bytes * bytes;
	*least_bytes = bytes + LONG_GAP_BYTES;
	/* Larger than the least: equal would request one piece of physically contiguous memory. */
	return RTE_MAX(sum + sum / 64, *least_bytes + RTE_CACHE_LINE_SIZE);
}
