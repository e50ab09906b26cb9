/* SPDX-License-Identifier: Apache-2.0 */
/* Does a core keep as much as a cache of DPDK would, and does DPDK see it there? */
#include "workers.h"

#define CACHE 32
#define FEW 20

static struct rte_mempool *
make_small_pool(const char *ops, unsigned int objects, unsigned int cache)
{
	struct rte_mempool *made = rte_mempool_create_empty("small", objects, 256, cache, 0,
		rte_socket_id(), 0);

	assert_non_null(made);
	assert_int_equal(rte_mempool_set_ops_byname(made, ops, &config), 0);
	assert_int_equal(rte_mempool_populate_default(made), objects);
	return made;
}

/* Takes `n` objects one by one, and gives them back. */
static int
use_some(void *argument)
{
	unsigned int n = *(unsigned int *)argument, i;
	void *objects[FEW];

	for (i = 0; i < n; i++)
		if (rte_mempool_get(pool, &objects[i]) < 0)
			return -1;
	for (i = 0; i < n; i++)
		rte_mempool_put(pool, objects[i]);
	return 0;
}

static int
flush(void *argument)
{
	unsigned int n = 1;

	(void)argument;
	if (use_some(&n) < 0)
		return -1;
	rte_mempool_cache_flush(NULL, pool);
	return 0;
}

/* Objects that main gets, and gives back, itself without a cache of this pool. */
static unsigned int
left_for_main(void)
{
	void *objects[OBJECTS];
	unsigned int got = 0;

	while (got < OBJECTS && rte_mempool_generic_get(pool, &objects[got], 1, NULL) == 0)
		got++;
	if (got > 0)
		rte_mempool_generic_put(pool, objects, got, NULL);
	return got;
}

/* What is left for main while both workers keep what they used, and when one has flushed. */
static void
share_small_pool(const char *ops, unsigned int objects, unsigned int cache, unsigned int *left)
{
	unsigned int n = FEW;

	pool = make_small_pool(ops, objects, cache);
	assert_int_equal(on_lcore(1, use_some, &n), 0);
	assert_int_equal(on_lcore(2, use_some, &n), 0);
	assert_int_equal(rte_mempool_avail_count(pool), objects);
	left[0] = left_for_main();
	on_lcore(1, flush, NULL);
	left[1] = left_for_main();
	on_lcore(2, flush, NULL);
	left[2] = left_for_main();
}

static void
pools_of_all_sizes_leave_no_fewer_objects_than_the_standard_pool(void **state)
{
	static const unsigned int sizes[] = { 255, 511, 1000 }, caches[] = { 0, 1, CACHE, 128 };
	unsigned int standard[3], aware[3], size, cache, i;

	(void)state;
	for (size = 0; size < RTE_DIM(sizes); size++)
		for (cache = 0; cache < RTE_DIM(caches); cache++) {
			share_small_pool("ring_mp_mc", sizes[size], caches[cache], standard);
			rte_mempool_free(pool);
			share_small_pool(SKL_MEMPOOL_OPS, sizes[size], caches[cache], aware);
			for (i = 0; i < RTE_DIM(aware); i++)
				assert_in_range(aware[i], standard[i], sizes[size]);
			assert_int_equal(aware[2], sizes[size]);
			if (size < RTE_DIM(sizes) - 1 || cache < RTE_DIM(caches) - 1)
				rte_mempool_free(pool);
		}
}

static int
take_one(void *argument)
{
	void *object;

	(void)argument;
	return rte_mempool_get(pool, &object) < 0 ? -1 : rte_ring_enqueue(passed_on, object);
}

static void
what_is_taken_in_advance_is_counted(void **state)
{
	(void)state;
	pool = make_small_pool(SKL_MEMPOOL_OPS, 1000, CACHE);
	assert_int_equal(on_lcore(1, take_one, NULL), 0);
	assert_int_equal(rte_mempool_avail_count(pool), 999);
	assert_int_equal(left_for_main(), 999 - CACHE);
	put_all_back();
}

/* Takes objects of both homes into `objects`, as a core does that sends for all. */
static void
take_of_both(void **objects, unsigned int n)
{
	assert_int_equal(rte_mempool_generic_get(pool, objects, n, NULL), 0);
}

/* As the vector drivers of i40e, ice and iavf free: into the cache, and on to the pool. */
static int
free_as_a_device_does(void *argument)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(pool, rte_lcore_id());
	void **objects = argument;

	if (cache->len == 0)
		return -1;
	memcpy(&cache->objs[cache->len], objects, FEW * sizeof(*objects));
	cache->len += FEW;
	if (cache->len >= cache->flushthresh) {
		rte_mempool_ops_enqueue_bulk(pool, &cache->objs[cache->size],
			cache->len - cache->size);
		cache->len = cache->size;
	}
	return 0;
}

/* As they receive: the cache is filled up to what a ring of descriptors needs. */
static int
receive_as_a_device_does(void *argument)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(pool, rte_lcore_id());
	unsigned int need;

	(void)argument;
	if (cache->len == 0 || cache->len >= 2 * FEW)
		return -1;
	need = 2 * FEW + (cache->size - cache->len);
	if (rte_mempool_ops_dequeue_bulk(pool, &cache->objs[cache->len], need) < 0)
		return -1;
	cache->len += need - 2 * FEW;
	of_others += made_for_others(&cache->objs[cache->len], 2 * FEW);
	return rte_ring_enqueue_bulk(passed_on, &cache->objs[cache->len], 2 * FEW, NULL) > 0 ? 0 : -1;
}

static void
assert_all_are_there_once(unsigned int objects)
{
	void *all[OBJECTS];
	unsigned int i;

	on_lcore(1, flush, NULL);
	on_lcore(2, flush, NULL);
	assert_int_equal(rte_mempool_generic_get(pool, all, objects, NULL), 0);
	for (i = 0; i < objects; i++)
		*(uint64_t *)all[i] = 0;
	for (i = 0; i < objects; i++)
		assert_int_equal((*(uint64_t *)all[i])++, 0);
	rte_mempool_generic_put(pool, all, objects, NULL);
}

static void
drivers_that_use_the_cache_themselves_lose_and_mix_nothing(void **state)
{
	void *objects[FEW];
	unsigned int n = 1;

	(void)state;
	pool = make_small_pool(SKL_MEMPOOL_OPS, 1000, CACHE);
	take_of_both(objects, FEW);
	assert_int_equal(on_lcore(1, use_some, &n), 0);
	assert_int_equal(on_lcore(1, free_as_a_device_does, objects), 0);
	assert_int_equal(rte_mempool_avail_count(pool), 1000);
	n = FEW;
	assert_int_equal(on_lcore(1, use_some, &n), 0);
	assert_int_equal(on_lcore(1, receive_as_a_device_does, NULL), 0);
	assert_int_equal(of_others, 0);
	assert_int_equal(rte_mempool_avail_count(pool), 1000 - 2 * FEW);
	put_all_back();
	assert_all_are_there_once(1000);
}

/* A core that cannot have all it asks for keeps what it has. */
static int
ask_for_too_many(void *argument)
{
	unsigned int n = FEW, too_many = *(unsigned int *)argument;
	void *objects[OBJECTS];

	if (use_some(&n) < 0)
		return -1;
	return rte_mempool_get_bulk(pool, objects, too_many) < 0 ? 0 : -1;
}

static void
a_get_that_fails_changes_nothing(void **state)
{
	static const enum skl_mempool_exhausted answers[] = { SKL_MEMPOOL_FAIL, SKL_MEMPOOL_BORROW };
	static const unsigned int objects = 300;
	unsigned int i, too_many[] = { 151, 301 };

	(void)state;
	for (i = 0; i < RTE_DIM(answers); i++) {
		config.exhausted = answers[i];
		pool = make_small_pool(SKL_MEMPOOL_OPS, objects, CACHE);
		assert_int_equal(on_lcore(1, ask_for_too_many, &too_many[i]), 0);
		assert_int_equal(rte_mempool_avail_count(pool), objects);
		assert_all_are_there_once(objects);
		if (i == 0)
			rte_mempool_free(pool);
	}
}

static int
free_them(void *argument)
{
	rte_mempool_put_bulk(pool, argument, 10 * FEW);
	return 0;
}

static void
objects_of_all_homes_freed_at_once_go_to_their_own(void **state)
{
	struct skl_mempool_stats stats;
	void *objects[10 * FEW];

	(void)state;
	pool = make_small_pool(SKL_MEMPOOL_OPS, 1000, CACHE);
	take_of_both(objects, 10 * FEW);
	on_lcore(1, free_them, objects);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.puts_from_afar, 5 * FEW);
	take_of_both(objects, 10 * FEW);
	on_lcore(2, free_them, objects);
	assert_all_are_there_once(1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORKERS_TEST(pools_of_all_sizes_leave_no_fewer_objects_than_the_standard_pool),
		WORKERS_TEST(what_is_taken_in_advance_is_counted),
		WORKERS_TEST(drivers_that_use_the_cache_themselves_lose_and_mix_nothing),
		WORKERS_TEST(a_get_that_fails_changes_nothing),
		WORKERS_TEST(objects_of_all_homes_freed_at_once_go_to_their_own),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
