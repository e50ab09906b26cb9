/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are copies released in the order in which they were entered, in whatever order queues end them?
 *
 * Copies are entered in bursts, each to a queue at random; queues end theirs in order or not. The
 * same is asked of what releases them in the order in which they ended, which has to fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../vhost/reorder.h"

#define QUEUES 5
#define BURST 32
/* Numbers of slots begin again after 65,536. */
#define COPIES 200000
#define SEEDS 20

/* What is judged: `release` writes the slots that it releases, in order. */
struct array {
	void (*clear)(void);
	uint16_t (*room)(void);
	uint16_t (*enter)(void);
	void (*end)(uint16_t slot);
	uint16_t (*release)(uint16_t *slots, uint16_t most);
};

static struct reorder order;

static void
clear_order(void)
{
	reorder_clear(&order);
}

static uint16_t
room_of_order(void)
{
	return reorder_room(&order);
}

static uint16_t
enter_order(void)
{
	return reorder_enter(&order);
}

static void
end_order(uint16_t slot)
{
	reorder_end(&order, slot);
}

static uint16_t
release_order(uint16_t *slots, uint16_t most)
{
	uint16_t i, n = reorder_release(&order, most);

	for (i = 0; i < n; i++)
		slots[i] = reorder_last(&order) - n + 1 + i;
	return n;
}

/* The null model: slots as they ended. */
static struct {
	uint16_t next, ended[REORDER_SLOTS];
	uint32_t first, last;
} as_ended;

static void
clear_as_ended(void)
{
	as_ended.next = 0;
	as_ended.first = as_ended.last = 0;
}

static uint32_t entered, released;

static uint16_t
room_as_ended(void)
{
	return REORDER_SLOTS - (entered - released);
}

static uint16_t
enter_as_ended(void)
{
	return as_ended.next++;
}

static void
end_as_ended(uint16_t slot)
{
	as_ended.ended[as_ended.last++ % REORDER_SLOTS] = slot;
}

static uint16_t
release_as_ended(uint16_t *slots, uint16_t most)
{
	uint16_t n = 0;

	while (n < most && as_ended.first != as_ended.last)
		slots[n++] = as_ended.ended[as_ended.first++ % REORDER_SLOTS];
	return n;
}

static const struct array ordered = {
	clear_order, room_of_order, enter_order, end_order, release_order,
};
static const struct array unordered = {
	clear_as_ended, room_as_ended, enter_as_ended, end_as_ended, release_as_ended,
};

struct queue {
	uint16_t slots[REORDER_SLOTS];
	unsigned int n;
};

static struct queue queues[QUEUES];
static bool has_ended[UINT16_MAX + 1];
static uint64_t drawn;

/* xorshift64 */
static unsigned int
below(unsigned int bound)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return (drawn >> 32) % bound;
}

static void
enter_burst(const struct array *array)
{
	struct queue *queue = &queues[below(QUEUES)];
	unsigned int n = 1 + below(BURST);

	while (n-- > 0 && entered < COPIES && array->room() > 0) {
		uint16_t slot = array->enter();

		has_ended[slot] = false;
		queue->slots[queue->n++] = slot;
		entered++;
	}
}

/* Some of a queue's copies end: the oldest ones, or any. */
static void
end_some(const struct array *array, bool in_order)
{
	struct queue *queue = &queues[below(QUEUES)];
	unsigned int n = below(2 * BURST), i, at;

	for (; n > 0 && queue->n > 0; n--) {
		at = in_order ? 0 : below(queue->n);
		has_ended[queue->slots[at]] = true;
		array->end(queue->slots[at]);
		queue->n--;
		for (i = at; i < queue->n; i++)
			queue->slots[i] = queue->slots[i + 1];
	}
}

/* Whether what is released now is what was entered next, and has ended. */
static bool
releases_in_order(const struct array *array)
{
	uint16_t slots[BURST], n = array->release(slots, below(BURST + 1)), i;

	for (i = 0; i < n; i++, released++)
		if (slots[i] != (uint16_t)released || !has_ended[slots[i]])
			return false;
	return true;
}

/* Whether it does for all, and in the end has released all. */
static bool
keeps_order(const struct array *array, uint64_t seed, bool in_order)
{
	unsigned int turns = 0, queue;

	drawn = seed;
	entered = released = 0;
	for (queue = 0; queue < QUEUES; queue++)
		queues[queue].n = 0;
	array->clear();
	while (released < COPIES && turns++ < 100 * COPIES) {
		switch (below(3)) {
		case 0: enter_burst(array); break;
		case 1: end_some(array, in_order); break;
		default:
			if (!releases_in_order(array))
				return false;
		}
	}
	return released == COPIES;
}

static void
copies_are_released_in_their_order(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++)
		assert_true(keeps_order(&ordered, seed, seed % 2 == 0));
}

static void
the_order_in_which_copies_end_is_another_one(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++)
		assert_false(keeps_order(&unordered, seed, seed % 2 == 0));
}

static void
an_array_that_is_full_has_no_room(void **state)
{
	unsigned int i;

	(void)state;
	reorder_clear(&order);
	for (i = 0; i < REORDER_SLOTS; i++) {
		assert_int_equal(reorder_room(&order), REORDER_SLOTS - i);
		reorder_end(&order, reorder_enter(&order) + (i == 0));
	}
	assert_int_equal(reorder_room(&order), 0);
	/* The oldest one has not ended. */
	assert_int_equal(reorder_release(&order, UINT16_MAX), 0);
	reorder_end(&order, 0);
	assert_int_equal(reorder_release(&order, 1), 1);
	assert_int_equal(reorder_room(&order), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_released_in_their_order),
		cmocka_unit_test(the_order_in_which_copies_end_is_another_one),
		cmocka_unit_test(an_array_that_is_full_has_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
