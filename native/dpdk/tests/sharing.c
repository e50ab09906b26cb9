/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects does a core get when other cores free them, and when there are none left? */
#include <rte_random.h>

#include "workers.h"

#define BURST 32
#define ROUNDS 500
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

static int
free_one(void *argument)
{
	rte_mempool_put(pool, argument);
	return 0;
}

/* Memory of another pool, of the heap, and below all pools. */
static void
objects_of_other_pools_are_refused_and_counted(void **state)
{
	struct skl_mempool_stats stats;
	struct rte_mempool *other;
	void *objects[3];

	(void)state;
	other = make_pool("other", NULL);
	pool = make_pool("own", NULL);
	assert_int_equal(rte_mempool_get(other, &objects[0]), 0);
	objects[1] = objects;
	objects[2] = (void *)(uintptr_t)4096;
	assert_int_equal(skl_mempool_poller_of(pool, objects[0]), -EINVAL);
	assert_int_equal(rte_mempool_ops_enqueue_bulk(pool, objects, 3), -EINVAL);
	on_lcore(1, free_one, objects[0]);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.puts_refused, 4);
	rte_mempool_put(other, objects[0]);
	rte_mempool_free(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORKERS_TEST(a_shared_pool_gives_each_core_its_own_objects_whoever_freed_them),
		WORKERS_TEST(with_the_usual_cache_a_core_that_frees_for_others_gets_their_objects),
		WORKERS_TEST(a_pool_of_one_core_has_its_cache_and_gives_only_what_is_right),
		WORKERS_TEST(a_core_that_does_not_poll_takes_from_all_alike),
		WORKERS_TEST(objects_of_other_pools_are_refused_and_counted),
		WORKERS_TEST(nothing_is_lost_or_doubled_when_cores_get_and_put_at_once),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
