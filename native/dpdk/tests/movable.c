/* SPDX-License-Identifier: Apache-2.0 */
/* Is any packet in the slices of the core that gets it, and whole, if buffers move? */
#include <rte_random.h>

#include "workers.h"

#define BURST 32
#define ROUNDS 300
#define ROOM (RTE_PKTMBUF_HEADROOM + 2048)

static uint64_t elsewhere; /* packets that a core got with a header line in a slice of another */

static struct rte_mempool *
make_movable(const char *name)
{
	config.placing = SKL_MEMPOOL_PLACE_PACKETS;
	return make_pool(name, NULL);
}

/* The line of a packet's first byte, as its core would receive it. */
static bool
is_where_wanted(const struct rte_mbuf *packet, unsigned int lcore)
{
	int slice = emulated_slice((const char *)packet->buf_addr + RTE_PKTMBUF_HEADROOM);

	return lcore == 1 ? slice == 3 : slice == 0 || slice == 6;
}

static void
look_at(struct rte_mbuf **packets, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		elsewhere += !is_where_wanted(packets[i], rte_lcore_id());
		assert_int_equal(packets[i]->buf_iova - rte_mempool_virt2iova(packets[i]),
			(char *)packets[i]->buf_addr - (char *)packets[i]);
	}
}

static int
receive(void *argument)
{
	struct rte_mbuf *packets[BURST];

	(void)argument;
	if (rte_pktmbuf_alloc_bulk(pool, packets, BURST) < 0)
		return -1;
	look_at(packets, BURST);
	return rte_ring_enqueue_bulk(passed_on, (void **)packets, BURST, NULL) == BURST ? 0 : -1;
}

static int
transmit(void *argument)
{
	struct rte_mbuf *packets[BURST];
	unsigned int i;

	(void)argument;
	if (rte_ring_dequeue_bulk(passed_on, (void **)packets, BURST, NULL) != BURST)
		return -1;
	for (i = 0; i < BURST; i++)
		rte_pktmbuf_free(packets[i]);
	return 0;
}

static void
each_core_has_packets_in_its_own_slices_whoever_freed_them(void **state)
{
	unsigned int round, receiver;

	(void)state;
	elsewhere = 0;
	pool = make_movable("movable");
	for (round = 0; round < ROUNDS; round++)
		for (receiver = 1; receiver <= 2; receiver++) {
			assert_int_equal(on_lcore(receiver, receive, NULL), 0);
			assert_int_equal(on_lcore(2, transmit, NULL), 0);
		}
	assert_int_equal(elsewhere, 0);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
}

static int
take_all(void *argument)
{
	struct rte_mbuf *packet;
	unsigned int *got = argument;

	for (*got = 0; (packet = rte_pktmbuf_alloc(pool)) != NULL; (*got)++) {
		look_at(&packet, 1);
		rte_ring_enqueue(passed_on, packet);
	}
	return 0;
}

static void
one_core_may_have_all_of_them(void **state)
{
	struct skl_mempool_stats stats;
	unsigned int got;

	(void)state;
	elsewhere = 0;
	pool = make_movable("all");
	on_lcore(1, take_all, &got);
	assert_int_equal(got, OBJECTS);
	put_all_back();
	on_lcore(2, take_all, &got);
	/* Main, which has no slices here, keeps some of what it freed. */
	assert_in_range(got, OBJECTS - 384, OBJECTS);
	assert_int_equal(elsewhere, 0);
	put_all_back();
	assert_int_equal(skl_mempool_stats(pool, &stats), 0);
	assert_int_equal(stats.pollers, 2);
	assert_int_equal(stats.unplaced, 0);
}

/* Every byte of every buffer is written, and none of it is another packet's. */
static void
buffers_are_whole_wherever_they_are(void **state)
{
	struct rte_mbuf *packet;
	void *packets[OBJECTS];
	unsigned int got, i, byte;

	(void)state;
	pool = make_movable("whole");
	on_lcore(1, take_all, &got);
	assert_int_equal(rte_ring_dequeue_bulk(passed_on, packets, got, NULL), got);
	for (i = 0; i < got; i++) {
		packet = packets[i];
		assert_int_equal(packet->buf_len, ROOM);
		memset(packet->buf_addr, i & 0xff, ROOM);
	}
	for (i = 0; i < got; i++) {
		packet = packets[i];
		assert_int_equal(rte_mbuf_refcnt_read(packet), 1);
		for (byte = 0; byte < ROOM; byte += 97)
			assert_int_equal(((unsigned char *)packet->buf_addr)[byte], i & 0xff);
		assert_int_equal(((unsigned char *)packet->buf_addr)[ROOM - 1], i & 0xff);
		rte_pktmbuf_free(packet);
	}
}

/* A buffer that was lent out, or replaced, is back in its place. */
static int
clone_and_free(void *argument)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(pool), *clone;

	(void)argument;
	if (packet == NULL || rte_pktmbuf_append(packet, 60) == NULL)
		return -1;
	clone = rte_pktmbuf_clone(packet, pool);
	if (clone == NULL)
		return -1;
	rte_pktmbuf_free(packet);
	rte_pktmbuf_free(clone);
	return 0;
}

static void
clones_leave_buffers_where_they_are_wanted(void **state)
{
	unsigned int round;

	(void)state;
	elsewhere = 0;
	pool = make_movable("clones");
	for (round = 0; round < ROUNDS; round++) {
		assert_int_equal(on_lcore(1, clone_and_free, NULL), 0);
		assert_int_equal(on_lcore(1, receive, NULL), 0);
		assert_int_equal(on_lcore(1, transmit, NULL), 0);
	}
	assert_int_equal(elsewhere, 0);
}

static int
churn(void *argument)
{
	unsigned int rounds = *(unsigned int *)argument, n, got, i;
	struct rte_mbuf *packets[600];

	while (rounds-- > 0) {
		n = rte_rand_max(rounds % 64 == 0 ? 600 : BURST) + 1;
		if (rte_pktmbuf_alloc_bulk(pool, packets, n) == 0) {
			for (i = 0; i < n; i++)
				if (rounds % 16 == 0 && !is_where_wanted(packets[i], rte_lcore_id()))
					__atomic_fetch_add(&elsewhere, 1, __ATOMIC_RELAXED);
			if (rte_rand_max(2) == 0 && rte_ring_enqueue_bulk(passed_on,
					(void **)packets, n, NULL) == n)
				n = 0;
			for (i = 0; i < n; i++)
				rte_pktmbuf_free(packets[i]);
		}
		got = rte_ring_dequeue_burst(passed_on, (void **)packets, RTE_DIM(packets), NULL);
		if (got > 0)
			rte_mempool_put_bulk(pool, (void **)packets, got);
	}
	return 0;
}

static void
nothing_is_lost_or_doubled_when_cores_get_and_free_at_once(void **state)
{
	unsigned int rounds = 2000, i;
	void *packets[OBJECTS];

	(void)state;
	elsewhere = 0;
	pool = make_movable("churn");
	rte_srand(1);
	assert_int_equal(rte_eal_remote_launch(churn, &rounds, 1), 0);
	assert_int_equal(rte_eal_remote_launch(churn, &rounds, 2), 0);
	rte_eal_mp_wait_lcore();
	put_all_back();
	assert_int_equal(elsewhere, 0);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	/* What cores keep is theirs alone; the rest is each there once. */
	for (i = 0; rte_mempool_get(pool, &packets[i]) == 0; i++)
		rte_pktmbuf_mtod((struct rte_mbuf *)packets[i], uint64_t *)[0] = 0;
	assert_true(i > OBJECTS / 2);
	for (rounds = 0; rounds < i; rounds++)
		assert_int_equal(
			rte_pktmbuf_mtod((struct rte_mbuf *)packets[rounds], uint64_t *)[0]++, 0);
	rte_mempool_put_bulk(pool, packets, i);
}

static void
objects_of_other_pools_are_refused(void **state)
{
	struct skl_mempool_stats stats;
	void *nothing = state;

	(void)state;
	pool = make_movable("refusing");
	assert_int_equal(rte_mempool_ops_enqueue_bulk(pool, &nothing, 1), -EINVAL);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.puts_refused, 1);
}

static void
it_needs_packets_and_a_cache_of_its_own(void **state)
{
	(void)state;
	config.placing = SKL_MEMPOOL_PLACE_PACKETS;
	config.cache = SKL_MEMPOOL_CACHE_MIXED;
	assert_null(configured_pool("mixed", 100, 32, 0));
	assert_int_equal(rte_errno, EINVAL);
	config.cache = SKL_MEMPOOL_CACHE_SORTED;
	pool = rte_mempool_create_empty("objects", 100, 256, 32, 0, rte_socket_id(), 0);
	assert_int_equal(rte_mempool_set_ops_byname(pool, SKL_MEMPOOL_OPS, &config), 0);
	assert_int_equal(rte_mempool_populate_default(pool), -EINVAL);
	rte_mempool_free(pool);
	pool = make_movable("last");
}

static struct rte_mempool *
make_with_much_private_data(void)
{
	config.placing = SKL_MEMPOOL_PLACE_PACKETS;
	return configured_pool("private", 16, 0, 65400);
}

static void
private_data_that_leave_no_room_to_move_are_refused(void **state)
{
	struct rte_mempool *pool;

	(void)state;
	assert_null(listen_to(make_with_much_private_data));
	assert_int_equal(rte_errno, EINVAL);
	assert_non_null(strstr(said, "private data of 65400 bytes"));
	pool = configured_pool("most", 16, 0, 49272);
	assert_non_null(pool);
	rte_mempool_free(pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORKERS_TEST(each_core_has_packets_in_its_own_slices_whoever_freed_them),
		WORKERS_TEST(one_core_may_have_all_of_them),
		WORKERS_TEST(buffers_are_whole_wherever_they_are),
		WORKERS_TEST(clones_leave_buffers_where_they_are_wanted),
		WORKERS_TEST(nothing_is_lost_or_doubled_when_cores_get_and_free_at_once),
		WORKERS_TEST(objects_of_other_pools_are_refused),
		WORKERS_TEST(it_needs_packets_and_a_cache_of_its_own),
		PLACED_TEST(private_data_that_leave_no_room_to_move_are_refused),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
