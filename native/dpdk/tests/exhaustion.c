/* SPDX-License-Identifier: Apache-2.0 */
/* What does a core get when its own objects are used up? */
#include "workers.h"

static int
take_all(void *argument)
{
	unsigned int *got = argument;
	void *object;

	for (*got = 0; rte_mempool_get(pool, &object) == 0; (*got)++) {
		of_others += made_for_others(&object, 1);
		rte_ring_enqueue(passed_on, object);
	}
	return 0;
}

static void
a_core_that_used_up_its_objects_gets_none_of_the_others(void **state)
{
	unsigned int got;

	(void)state;
	pool = make_pool("exhausted", NULL);
	on_lcore(1, take_all, &got);
	assert_int_equal(got, OBJECTS / 2);
	assert_int_equal(of_others, 0);
	put_all_back();
}

static void
it_gets_them_if_asked_for_and_they_are_counted(void **state)
{
	struct skl_mempool_stats stats;
	unsigned int got;

	(void)state;
	config.exhausted = SKL_MEMPOOL_BORROW;
	pool = make_pool("borrowed", NULL);
	on_lcore(1, take_all, &got);
	assert_int_equal(got, OBJECTS);
	assert_int_equal(of_others, OBJECTS / 2);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.gets_borrowed, OBJECTS / 2);
	put_all_back();
}

/* More than a stash holds, and before anything was freed: as a driver fills a long ring. */
static int
take_many_at_once(void *argument)
{
	unsigned int *taken = argument;
	void *objects[OBJECTS / 2];

	*taken = 0;
	if (rte_mempool_get_bulk(pool, objects, OBJECTS / 2 - 1) < 0)
		return 0;
	*taken = OBJECTS / 2 - 1;
	of_others += made_for_others(objects, *taken);
	rte_ring_enqueue_bulk(passed_on, objects, *taken, NULL);
	return 0;
}

static void
a_core_gets_all_that_is_its_own_at_once(void **state)
{
	struct skl_mempool_stats stats;
	unsigned int taken;

	(void)state;
	config.exhausted = SKL_MEMPOOL_BORROW;
	pool = make_pool("at_once", NULL);
	on_lcore(1, take_many_at_once, &taken);
	assert_int_equal(taken, OBJECTS / 2 - 1);
	assert_int_equal(of_others, 0);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.gets_borrowed, 0);
	put_all_back();
}

#define OWN_STASH 40
#define OWN_RING 20
#define OTHER_RING 40

/* Uses up what the poller has, and gives a few of them back: they are stashed. */
static int
use_up_and_stash(void *argument)
{
	void *objects[OBJECTS / 2];
	unsigned int i;

	(void)argument;
	if (rte_mempool_get_bulk(pool, objects, OBJECTS / 2) < 0)
		return -1;
	for (i = 0; i < OWN_STASH; i++)
		rte_mempool_put(pool, objects[i]);
	return rte_ring_enqueue_bulk(passed_on, objects + i, OBJECTS / 2 - i, NULL) == 0 ? -1 : 0;
}

/* Leaves core 1 with a stash, a few objects in its ring, and a few in the ring of core 2. */
static void
leave_few_objects(void)
{
	unsigned int of_second = OBJECTS / 2 - OTHER_RING;
	void *objects[OBJECTS];

	assert_int_equal(on_lcore(1, use_up_and_stash, NULL), 0);
	/* As nothing is left in the ring of core 1, these are all of core 2. */
	assert_int_equal(rte_mempool_get_bulk(pool, objects, of_second), 0);
	rte_ring_enqueue_bulk(passed_on, objects, of_second, NULL);
	rte_ring_dequeue_bulk(passed_on, objects, OWN_RING, NULL);
	rte_mempool_put_bulk(pool, objects, OWN_RING);
}

static int
take_burst(void *argument)
{
	unsigned int n = *(unsigned int *)argument;
	void *objects[OBJECTS];

	if (rte_mempool_get_bulk(pool, objects, n) < 0)
		return -1;
	of_others += made_for_others(objects, n);
	rte_ring_enqueue_bulk(passed_on, objects, n, NULL);
	return 0;
}

static void
a_core_borrows_only_what_its_stash_and_its_ring_lack(void **state)
{
	unsigned int burst = 64, left = OWN_STASH + OWN_RING + OTHER_RING - burst, too_many = left + 1;
	struct skl_mempool_stats stats;

	(void)state;
	config.exhausted = SKL_MEMPOOL_BORROW;
	pool = make_pool("few", NULL);
	leave_few_objects();
	assert_int_equal(rte_mempool_avail_count(pool), burst + left);
	assert_int_equal(on_lcore(1, take_burst, &burst), 0);
	assert_int_equal(of_others, burst - OWN_STASH - OWN_RING);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.gets_borrowed, of_others);
	assert_int_equal(on_lcore(1, take_burst, &too_many), -1);
	assert_int_equal(rte_mempool_avail_count(pool), left);
	assert_int_equal(on_lcore(1, take_burst, &left), 0);
	assert_int_equal(rte_mempool_avail_count(pool), 0);
	put_all_back();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORKERS_TEST(a_core_that_used_up_its_objects_gets_none_of_the_others),
		WORKERS_TEST(it_gets_them_if_asked_for_and_they_are_counted),
		WORKERS_TEST(a_core_gets_all_that_is_its_own_at_once),
		WORKERS_TEST(a_core_borrows_only_what_its_stash_and_its_ring_lack),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
