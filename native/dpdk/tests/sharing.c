/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects does a core get when other cores free them, and when there are none left? */
#include <rte_launch.h>
#include <rte_random.h>

#include "placed_pool.h"

#define OBJECTS 4000
#define BURST 32
#define ROUNDS 500

static struct rte_mempool *pool;
static struct rte_ring *passed_on;
static uint64_t of_others; /* objects that a core got and that were made for another */

static struct rte_mempool *
make_pool(const char *name, const char *pollers)
{
	struct rte_mempool *made;

	config.pollers = pollers;
	made = configured_pool(name, OBJECTS, 256, 0);
	assert_non_null(made);
	return made;
}

static int
start_test(void **state)
{
	start_config(state);
	of_others = 0;
	passed_on = rte_ring_create("passed_on", 8192, rte_socket_id(), 0);
	return passed_on == NULL;
}

static int
end_test(void **state)
{
	(void)state;
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	rte_mempool_free(pool);
	rte_ring_free(passed_on);
	return 0;
}

static int
on_lcore(unsigned int lcore, lcore_function_t *function, void *argument)
{
	assert_int_equal(rte_eal_remote_launch(function, argument, lcore), 0);
	return rte_eal_wait_lcore(lcore);
}

static unsigned int
made_for_others(void **objects, unsigned int n)
{
	unsigned int i, others = 0;

	for (i = 0; i < n; i++)
		others += skl_mempool_poller_of(rte_mempool_from_obj(objects[i]), objects[i]) !=
			(int)rte_lcore_id();
	return others;
}

/* A core receives a burst, and hands it on to be sent and freed elsewhere. */
static int
receive(void *argument)
{
	struct rte_mempool *from = argument;
	void *objects[BURST];

	if (rte_mempool_get_bulk(from, objects, BURST) < 0)
		return -1;
	of_others += made_for_others(objects, BURST);
	return rte_ring_enqueue_bulk(passed_on, objects, BURST, NULL) == BURST ? 0 : -1;
}

static int
transmit(void *argument)
{
	void *objects[BURST];

	(void)argument;
	if (rte_ring_dequeue_bulk(passed_on, objects, BURST, NULL) != BURST)
		return -1;
	rte_mempool_put_bulk(rte_mempool_from_obj(objects[0]), objects, BURST);
	return 0;
}

/* Core 2 frees what core 1 received, and receives itself, each as often. */
static void
receive_here_and_transmit_there(struct rte_mempool *of_first, struct rte_mempool *of_second)
{
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		assert_int_equal(on_lcore(1, receive, of_first), 0);
		assert_int_equal(on_lcore(2, transmit, NULL), 0);
		assert_int_equal(on_lcore(2, receive, of_second), 0);
		assert_int_equal(on_lcore(2, transmit, NULL), 0);
	}
}

static void
a_shared_pool_gives_each_core_its_own_objects_whoever_freed_them(void **state)
{
	struct skl_mempool_stats stats;

	(void)state;
	pool = make_pool("shared", NULL);
	receive_here_and_transmit_there(pool, pool);
	assert_int_equal(of_others, 0);
	assert_int_equal(skl_mempool_stats(pool, &stats), 0);
	assert_int_equal(stats.gets, 2 * ROUNDS * BURST);
	assert_int_equal(stats.puts_from_afar, ROUNDS * BURST);
	assert_int_equal(stats.gets_borrowed + stats.gets_by_others, 0);
}

/* What the driver spares users: DPDK's cache keeps what a core frees, and gives it out again. */
static void
with_the_usual_cache_a_core_that_frees_for_others_gets_their_objects(void **state)
{
	(void)state;
	config.cache = SKL_MEMPOOL_CACHE_MIXED;
	pool = make_pool("mixed", NULL);
	receive_here_and_transmit_there(pool, pool);
	print_message("objects made for another core: %.1f %% of all that core 2 got\n",
		100.0 * of_others / (ROUNDS * BURST));
	assert_true(of_others > ROUNDS * BURST / 2);
}

static void
a_pool_of_one_core_has_its_cache_and_gives_only_what_is_right(void **state)
{
	struct rte_mempool *of_second;

	(void)state;
	pool = make_pool("first", "1");
	of_second = make_pool("second", "2");
	assert_int_equal(pool->cache_size, 256);
	receive_here_and_transmit_there(pool, of_second);
	assert_int_equal(of_others, 0);
	assert_int_equal(rte_mempool_avail_count(of_second), OBJECTS);
	rte_mempool_free(of_second);
}

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
put_all_back(void)
{
	void *object;

	while (rte_ring_dequeue(passed_on, &object) == 0)
		rte_mempool_put(pool, object);
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

/* As main does when it fills receive rings at start. */
static void
a_core_that_does_not_poll_takes_from_all_alike(void **state)
{
	unsigned int i, of_first = 0;
	struct skl_mempool_stats stats;
	void *objects[1000];

	(void)state;
	pool = make_pool("filled", NULL);
	assert_int_equal(rte_mempool_get_bulk(pool, objects, 1000), 0);
	for (i = 0; i < 1000; i++)
		of_first += skl_mempool_poller_of(pool, objects[i]) == 1;
	assert_int_equal(of_first, 500);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.gets_by_others, 1000);
	rte_mempool_put_bulk(pool, objects, 1000);
}

/* Both cores get and put at once, bursts of all sizes, half of them freed by the other one. */
static int
churn(void *argument)
{
	unsigned int rounds = *(unsigned int *)argument, n, got;
	void *objects[600];
	uint64_t others = 0;

	while (rounds-- > 0) {
		n = rte_rand_max(rounds % 64 == 0 ? 600 : BURST) + 1;
		if (rte_mempool_get_bulk(pool, objects, n) == 0) {
			others += made_for_others(objects, n);
			if (rte_rand_max(2) == 0 &&
					rte_ring_enqueue_bulk(passed_on, objects, n, NULL) == n)
				n = 0;
			if (n > 0)
				rte_mempool_put_bulk(pool, objects, n);
		}
		got = rte_ring_dequeue_burst(passed_on, objects, RTE_DIM(objects), NULL);
		if (got > 0)
			rte_mempool_put_bulk(pool, objects, got);
	}
	__atomic_fetch_add(&of_others, others, __ATOMIC_RELAXED);
	return 0;
}

static void
nothing_is_lost_or_doubled_when_cores_get_and_put_at_once(void **state)
{
	unsigned int rounds = 20000, i;
	void *objects[OBJECTS];

	(void)state;
	pool = make_pool("churn", NULL);
	rte_srand(1);
	assert_int_equal(rte_eal_remote_launch(churn, &rounds, 1), 0);
	assert_int_equal(rte_eal_remote_launch(churn, &rounds, 2), 0);
	rte_eal_mp_wait_lcore();
	put_all_back();
	assert_int_equal(of_others, 0);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	/* What lies in the stashes is the workers' alone; the rest is each there once. */
	for (i = 0; rte_mempool_get(pool, &objects[i]) == 0; i++)
		*(uint64_t *)objects[i] = 0;
	assert_true(i > OBJECTS / 2);
	for (rounds = 0; rounds < i; rounds++)
		assert_int_equal((*(uint64_t *)objects[rounds])++, 0);
	rte_mempool_put_bulk(pool, objects, i);
}

#define SHARING_TEST(function) cmocka_unit_test_setup_teardown(function, start_test, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SHARING_TEST(a_shared_pool_gives_each_core_its_own_objects_whoever_freed_them),
		SHARING_TEST(with_the_usual_cache_a_core_that_frees_for_others_gets_their_objects),
		SHARING_TEST(a_pool_of_one_core_has_its_cache_and_gives_only_what_is_right),
		SHARING_TEST(a_core_that_used_up_its_objects_gets_none_of_the_others),
		SHARING_TEST(it_gets_them_if_asked_for_and_they_are_counted),
		SHARING_TEST(a_core_gets_all_that_is_its_own_at_once),
		SHARING_TEST(a_core_borrows_only_what_its_stash_and_its_ring_lack),
		SHARING_TEST(a_core_that_does_not_poll_takes_from_all_alike),
		SHARING_TEST(nothing_is_lost_or_doubled_when_cores_get_and_put_at_once),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
