/* SPDX-License-Identifier: Apache-2.0 */
/* Do header lines lie where they should, and stay there? */
#include <stdlib.h>

#include "placed_pool.h"

#define OBJECTS 2047

static struct rte_mempool *
make_pool(uint16_t priv_size)
{
	struct rte_mempool *pool = configured_pool("pool", OBJECTS, 128, priv_size);

	assert_non_null(pool);
	return pool;
}

static int
start_with_one_poller(void **state)
{
	start_config(state);
	config.pollers = "1";
	return 0;
}

/* Judged by masks and page map alone. */
static void
check_object(struct rte_mempool *pool, void *argument, void *object, unsigned int index)
{
	const struct rte_mbuf *mbuf = object;
	const void *header = emulated_header(pool, mbuf, config.line);
	int slice = emulated_slice(header);

	(void)argument;
	(void)index;
	assert_int_equal(mbuf->buf_len, RTE_MBUF_DEFAULT_BUF_SIZE);
	assert_ptr_equal(rte_pktmbuf_mtod_offset(mbuf, char *, config.line * RTE_CACHE_LINE_SIZE),
		header);
	assert_int_equal(slice, skl_mempool_slice_at(pool, header));
	if (skl_mempool_poller_of(pool, object) == 1)
		assert_int_equal(slice, 3);
	else
		assert_true(slice == 0 || slice == 6);
}

static void
each_header_line_can_be_the_one_that_is_placed(void **state)
{
	static const unsigned int lines[] = { 0, 1, 2, 5, 31 };
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(lines); i++) {
		struct rte_mempool *pool;

		config.line = lines[i];
		pool = make_pool(0);
		assert_int_equal(rte_mempool_obj_iter(pool, check_object, NULL), OBJECTS);
		rte_mempool_free(pool);
	}
}

static void
private_data_before_the_buffer_is_reckoned_with(void **state)
{
	static const uint16_t sizes[] = { 8, 64, 104, 256 };
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(sizes); i++) {
		struct rte_mempool *pool = make_pool(sizes[i]);

		assert_int_equal(rte_mempool_obj_iter(pool, check_object, NULL), OBJECTS);
		rte_mempool_free(pool);
	}
}

static void
cores_that_share_a_pool_have_equal_parts_of_it(void **state)
{
	struct rte_mempool *pool;
	unsigned int of_first = 0, i;
	void *objects[OBJECTS];

	(void)state;
	config.pollers = NULL;
	pool = make_pool(0);
	assert_int_equal(rte_mempool_obj_iter(pool, check_object, NULL), OBJECTS);
	assert_int_equal(rte_mempool_get_bulk(pool, objects, OBJECTS), 0);
	for (i = 0; i < OBJECTS; i++)
		of_first += skl_mempool_poller_of(pool, objects[i]) == 1;
	assert_in_range(of_first, OBJECTS / 2, OBJECTS / 2 + 1);
	rte_mempool_put_bulk(pool, objects, OBJECTS);
	rte_mempool_free(pool);
}

static int
by_address(const void *one, const void *other)
{
	uintptr_t first = *(const uintptr_t *)one, second = *(const uintptr_t *)other;

	return (first > second) - (first < second);
}

static void
objects_do_not_overlap_and_devices_see_them_where_they_are(void **state)
{
	void *objects[OBJECTS];
	struct rte_mempool *pool;
	unsigned int i;
	size_t bytes;

	(void)state;
	config.pollers = NULL;
	pool = make_pool(0);
	bytes = pool->header_size + pool->elt_size + pool->trailer_size;
	assert_int_equal(rte_mempool_get_bulk(pool, objects, OBJECTS), 0);
	for (i = 0; i < OBJECTS; i++) {
		assert_int_equal(rte_mempool_virt2iova(objects[i]), rte_mem_virt2iova(objects[i]));
		assert_int_equal(((struct rte_mbuf *)objects[i])->buf_iova,
			rte_mem_virt2iova(((struct rte_mbuf *)objects[i])->buf_addr));
	}
	qsort(objects, OBJECTS, sizeof(*objects), by_address);
	for (i = 0; i < OBJECTS; i++) {
		uintptr_t start = (uintptr_t)objects[i] - pool->header_size;

		assert_true(i == 0 || (uintptr_t)objects[i] - (uintptr_t)objects[i - 1] >= bytes);
		/* Neighbouring pages may be apart for devices. */
		assert_int_equal(start / RTE_PGSIZE_2M, (start + bytes - 1) / RTE_PGSIZE_2M);
	}
	rte_mempool_put_bulk(pool, objects, OBJECTS);
	rte_mempool_free(pool);
}

/* An indirect mbuf's buffer address is computed anew when it is detached. */
static void
placement_outlives_reset_attach_and_detach(void **state)
{
	struct rte_mempool *pool = make_pool(0);
	struct rte_mbuf *clone = rte_pktmbuf_alloc(pool), *packet = rte_pktmbuf_alloc(pool);

	(void)state;
	assert_non_null(rte_pktmbuf_append(packet, 64));
	rte_pktmbuf_attach(clone, packet);
	assert_ptr_equal(clone->buf_addr, packet->buf_addr);
	rte_pktmbuf_detach(clone);
	rte_pktmbuf_reset(packet);
	assert_int_equal(packet->data_off, RTE_PKTMBUF_HEADROOM);
	check_object(pool, NULL, clone, 0);
	check_object(pool, NULL, packet, 0);
	rte_pktmbuf_free(packet);
	rte_pktmbuf_free(clone);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	rte_mempool_free(pool);
}

static void
objects_that_are_no_packets_are_placed_by_their_own_lines(void **state)
{
	struct rte_mempool *pool = rte_mempool_create_empty("plain", 1000, 400, 0, 0,
		rte_socket_id(), 0);
	void *objects[1000];
	unsigned int i;

	(void)state;
	config.line = 2;
	assert_int_equal(rte_mempool_set_ops_byname(pool, SKL_MEMPOOL_OPS, &config), 0);
	assert_int_equal(rte_mempool_populate_default(pool), 1000);
	assert_int_equal(rte_mempool_get_bulk(pool, objects, 1000), 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(emulated_slice((char *)objects[i] + 128), 3);
	rte_mempool_put_bulk(pool, objects, 1000);
	rte_mempool_free(pool);
}

static void
memory_is_accounted_for_and_given_back(void **state)
{
	size_t before = emulated_heap_bytes();
	struct rte_mempool *pool = make_pool(0);
	struct skl_mempool_stats stats;

	(void)state;
	assert_int_equal(skl_mempool_stats(pool, &stats), 0);
	assert_int_equal(stats.objects, OBJECTS);
	assert_int_equal(stats.unplaced, 0);
	assert_true(stats.gaps_bytes > 0);
	assert_true(stats.object_bytes + stats.gaps_bytes <= stats.memory_bytes);
	/* One slice of eight: gaps of seven lines on average, and a quarter MiB for the last. */
	assert_true(stats.memory_bytes < stats.object_bytes + OBJECTS * 9 * 64 + (1 << 19));
	rte_mempool_free(pool);
	assert_int_equal(emulated_heap_bytes(), before);
}

#define PLACEMENT_TEST(function) cmocka_unit_test_setup(function, start_with_one_poller)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACEMENT_TEST(each_header_line_can_be_the_one_that_is_placed),
		PLACEMENT_TEST(private_data_before_the_buffer_is_reckoned_with),
		PLACEMENT_TEST(cores_that_share_a_pool_have_equal_parts_of_it),
		PLACEMENT_TEST(objects_do_not_overlap_and_devices_see_them_where_they_are),
		PLACEMENT_TEST(placement_outlives_reset_attach_and_detach),
		PLACEMENT_TEST(objects_that_are_no_packets_are_placed_by_their_own_lines),
		PLACEMENT_TEST(memory_is_accounted_for_and_given_back),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
