/* SPDX-License-Identifier: Apache-2.0 */
/* Do packets of a shared pool go home when they are freed by themselves, as drivers free them? */
#include <rte_random.h>

#include "workers.h"

#define BURST 32
#define ROUNDS 500

static int
receive(void *argument)
{
	void *packets[BURST];

	(void)argument;
	if (rte_mempool_get_bulk(pool, packets, BURST) < 0)
		return -1;
	of_others += made_for_others(packets, BURST);
	return rte_ring_enqueue_bulk(passed_on, packets, BURST, NULL) == BURST ? 0 : -1;
}

/* Frees as argument says: packet by packet, or all at once. */
static int
transmit(void *argument)
{
	struct rte_mbuf *packets[BURST];
	unsigned int i;

	if (rte_ring_dequeue_bulk(passed_on, (void **)packets, BURST, NULL) != BURST)
		return -1;
	if (*(bool *)argument)
		rte_pktmbuf_free_bulk(packets, BURST);
	else
		for (i = 0; i < BURST; i++)
			rte_pktmbuf_free(packets[i]);
	return 0;
}

static void
packets_go_home_whichever_core_frees_them(void **state)
{
	struct skl_mempool_stats stats;
	unsigned int round, at_once;

	(void)state;
	for (at_once = 0; at_once < 2; at_once++) {
		bool argument = at_once == 1;

		pool = make_pool("shared", NULL);
		for (round = 0; round < ROUNDS; round++) {
			assert_int_equal(on_lcore(1, receive, NULL), 0);
			assert_int_equal(on_lcore(2, transmit, &argument), 0);
			assert_int_equal(on_lcore(2, receive, NULL), 0);
			assert_int_equal(on_lcore(2, transmit, &argument), 0);
		}
		assert_int_equal(of_others, 0);
		assert_int_equal(skl_mempool_stats(pool, &stats), 0);
		assert_int_equal(stats.puts_from_afar, ROUNDS * BURST);
		assert_int_equal(stats.gets_borrowed + stats.gets_by_others, 0);
		assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
		if (!argument)
			rte_mempool_free(pool);
	}
}

/* What its core frees is kept in a cache, and is what it gets next. */
static int
free_and_get_again(void *argument)
{
	unsigned int *same = argument, i;
	struct rte_mbuf *before[BURST], *after[BURST];
	unsigned int other;

	if (rte_pktmbuf_alloc_bulk(pool, before, BURST) < 0)
		return -1;
	for (i = 0; i < BURST; i++)
		rte_pktmbuf_free(before[i]);
	if (rte_pktmbuf_alloc_bulk(pool, after, BURST) < 0)
		return -1;
	for (*same = 0, i = 0; i < BURST; i++)
		for (other = 0; other < BURST; other++)
			*same += after[i] == before[other];
	rte_pktmbuf_free_bulk(after, BURST);
	return rte_mempool_avail_count(pool) == OBJECTS ? 0 : -1;
}

static void
a_core_gets_what_it_freed_last(void **state)
{
	unsigned int same;

	(void)state;
	pool = make_pool("kept", NULL);
	assert_int_equal(on_lcore(1, free_and_get_again, &same), 0);
	assert_int_equal(on_lcore(1, free_and_get_again, &same), 0);
	/* But for those in the front, from which single packets come. */
	assert_in_range(same, BURST - 8, BURST);
}

/* The pools that packets name are parts of the one that was made, and describe it. */
static void
packets_name_a_part_of_their_pool(void **state)
{
	struct rte_mbuf *first, *second, *copy, *clone;
	struct skl_mempool_stats stats;

	(void)state;
	pool = make_pool("named", NULL);
	first = rte_pktmbuf_alloc(pool);
	second = rte_pktmbuf_alloc(pool);
	assert_true(first->pool != pool);
	assert_ptr_equal(skl_mempool_whole(first->pool), pool);
	assert_ptr_equal(skl_mempool_whole(pool), pool);
	assert_string_equal(first->pool->name, pool->name);
	assert_int_equal(rte_pktmbuf_data_room_size(first->pool), rte_pktmbuf_data_room_size(pool));
	assert_int_equal(skl_mempool_stats(first->pool, &stats), 0);
	assert_int_equal(stats.pollers, 2);
	assert_ptr_equal(rte_mempool_from_obj(first), pool);

	assert_non_null(rte_pktmbuf_append(first, 100));
	copy = rte_pktmbuf_copy(first, first->pool, 0, UINT32_MAX);
	clone = rte_pktmbuf_clone(first, second->pool);
	assert_non_null(copy);
	assert_non_null(clone);
	assert_ptr_equal(rte_mbuf_from_indirect(clone), first);
	rte_pktmbuf_free(clone);
	rte_pktmbuf_free(copy);
	rte_pktmbuf_free(first);
	rte_pktmbuf_free(second);
}

static void
packets_name_the_pool_itself_if_asked_for(void **state)
{
	bool argument = false;
	struct rte_mbuf *packet;

	(void)state;
	config.cache = SKL_MEMPOOL_CACHE_ONE_POOL;
	pool = make_pool("one", NULL);
	packet = rte_pktmbuf_alloc(pool);
	assert_ptr_equal(packet->pool, pool);
	rte_pktmbuf_free(packet);
	assert_int_equal(on_lcore(1, receive, NULL), 0);
	assert_int_equal(on_lcore(2, transmit, &argument), 0);
	assert_int_equal(on_lcore(1, receive, NULL), 0);
	assert_int_equal(of_others, 0);
	put_all_back();
}

static const unsigned char written = 0x5a;

/* Like a packet of the pool in one field alone. */
static void
write_object(struct rte_mempool *of, void *argument, void *object, unsigned int number)
{
	(void)argument, (void)number;
	memset(object, written, 256);
	((struct rte_mbuf *)object)->pool = of;
}

/* Objects that are no packets are left as they are, whatever they look like. */
static void
objects_that_are_no_packets_stay_as_they_are(void **state)
{
	const size_t at_pool = offsetof(struct rte_mbuf, pool);
	void *objects[OBJECTS];
	unsigned int i;
	size_t byte;

	(void)state;
	pool = rte_mempool_create_empty("objects", 100, 512, 32,
		sizeof(struct rte_pktmbuf_pool_private), rte_socket_id(), 0);
	rte_pktmbuf_pool_init(pool, NULL);
	assert_int_equal(rte_mempool_set_ops_byname(pool, SKL_MEMPOOL_OPS, &config), 0);
	assert_int_equal(rte_mempool_populate_default(pool), 100);
	rte_mempool_obj_iter(pool, write_object, NULL);
	assert_int_equal(rte_mempool_get_bulk(pool, objects, 100), 0);
	for (i = 0; i < 100; i++) {
		assert_ptr_equal(((struct rte_mbuf *)objects[i])->pool, pool);
		for (byte = 0; byte < 256; byte++)
			if (byte < at_pool || byte >= at_pool + sizeof(pool))
				assert_int_equal(((unsigned char *)objects[i])[byte], written);
	}
	rte_mempool_put_bulk(pool, objects, 100);
}

/*
 * As the vector drivers of i40e, ice and iavf free packets that they take to be of one pool: into the
 * cache of the first one's.
 */
static int
free_as_a_device_does(void *argument)
{
	struct rte_mbuf **packets = argument;
	struct rte_mempool *of_first = packets[0]->pool;
	struct rte_mempool_cache *cache = rte_mempool_default_cache(of_first, rte_lcore_id());

	memcpy(&cache->objs[cache->len], packets, BURST * sizeof(*packets));
	cache->len += BURST;
	if (cache->len >= cache->flushthresh) {
		rte_mempool_ops_enqueue_bulk(of_first, &cache->objs[cache->size],
			cache->len - cache->size);
		cache->len = cache->size;
	}
	return 0;
}

static void
devices_that_free_into_caches_lose_nothing_and_mix_at_most_a_burst(void **state)
{
	struct rte_mbuf *packets[BURST];
	unsigned int round;
	uint64_t first = 0;

	(void)state;
	pool = make_pool("device", NULL);
	for (round = 0; round < ROUNDS; round++) {
		/* Of both homes, in turn. */
		assert_int_equal(rte_mempool_generic_get(pool, (void **)packets, BURST, NULL), 0);
		assert_int_equal(on_lcore(1, free_as_a_device_does, packets), 0);
		assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
		assert_int_equal(on_lcore(1, receive, NULL), 0);
		put_all_back();
		if (round == ROUNDS / 10)
			first = of_others;
	}
	assert_in_range(first, 0, 2 * BURST);
	assert_int_equal(of_others, first);
}

/* Both cores get and free at once, half of it passed on to the other one. */
static int
churn(void *argument)
{
	unsigned int rounds = *(unsigned int *)argument, n, got, i;
	struct rte_mbuf *packets[600];
	uint64_t others = 0;

	while (rounds-- > 0) {
		n = rte_rand_max(rounds % 64 == 0 ? 600 : BURST) + 1;
		if (rte_pktmbuf_alloc_bulk(pool, packets, n) == 0) {
			others += made_for_others((void **)packets, n);
			if (rte_rand_max(2) == 0 && rte_ring_enqueue_bulk(passed_on,
					(void **)packets, n, NULL) == n)
				n = 0;
			for (i = 0; i < n; i++)
				rte_pktmbuf_free(packets[i]);
		}
		got = rte_ring_dequeue_burst(passed_on, (void **)packets, RTE_DIM(packets), NULL);
		if (got > 0)
			rte_pktmbuf_free_bulk(packets, got);
	}
	__atomic_fetch_add(&of_others, others, __ATOMIC_RELAXED);
	return 0;
}

static int
flush(void *argument)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(pool);

	(void)argument;
	if (packet == NULL)
		return -1;
	rte_pktmbuf_free(packet);
	rte_mempool_cache_flush(NULL, pool);
	return 0;
}

static void
nothing_is_lost_or_doubled_when_cores_get_and_free_at_once(void **state)
{
	unsigned int rounds = 20000, i;
	void *packets[OBJECTS];

	(void)state;
	pool = make_pool("churn", NULL);
	rte_srand(1);
	assert_int_equal(rte_eal_remote_launch(churn, &rounds, 1), 0);
	assert_int_equal(rte_eal_remote_launch(churn, &rounds, 2), 0);
	rte_eal_mp_wait_lcore();
	put_all_back();
	assert_int_equal(of_others, 0);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	assert_int_equal(on_lcore(1, flush, NULL), 0);
	assert_int_equal(on_lcore(2, flush, NULL), 0);
	/* After a flush all of them are there, each once. */
	assert_int_equal(rte_mempool_generic_get(pool, packets, OBJECTS, NULL), 0);
	for (i = 0; i < OBJECTS; i++)
		rte_pktmbuf_mtod((struct rte_mbuf *)packets[i], uint64_t *)[0] = 0;
	for (i = 0; i < OBJECTS; i++)
		assert_int_equal(rte_pktmbuf_mtod((struct rte_mbuf *)packets[i], uint64_t *)[0]++, 0);
	rte_mempool_generic_put(pool, packets, OBJECTS, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORKERS_TEST(packets_go_home_whichever_core_frees_them),
		WORKERS_TEST(a_core_gets_what_it_freed_last),
		WORKERS_TEST(packets_name_a_part_of_their_pool),
		WORKERS_TEST(packets_name_the_pool_itself_if_asked_for),
		WORKERS_TEST(objects_that_are_no_packets_stay_as_they_are),
		WORKERS_TEST(devices_that_free_into_caches_lose_nothing_and_mix_at_most_a_burst),
		WORKERS_TEST(nothing_is_lost_or_doubled_when_cores_get_and_free_at_once),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
