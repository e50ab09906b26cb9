/* SPDX-License-Identifier: Apache-2.0 */
/* Do the packet data of a pool that is chosen by set fill the sets of all slices evenly? */
#include <string.h>

#include "placed_pool.h"

#define OBJECTS 4096
#define SETS 2048
#define LINES 32
/* 131,072 lines in 16,384 sets are eight each; one more may be in a set. */
#define MOST_LINES 9

static int
start_by_set(void **state)
{
	start_config(state);
	config.slices = NULL;
	config.placing = SKL_MEMPOOL_PLACE_SETS;
	config.sets = SETS;
	return 0;
}

static struct rte_mempool *
make_pool(void)
{
	return configured_pool("by_set", OBJECTS, 256, 0);
}

static unsigned int counts[EMULATED_SLICES][SETS];

/* Counted by masks and page map alone. */
static void
count_object(struct rte_mempool *pool, void *argument, void *object, unsigned int index)
{
	const struct rte_mbuf *mbuf = object;
	const char *data = rte_pktmbuf_mtod(mbuf, const char *);
	rte_iova_t physical = rte_mem_virt2phy(data);
	unsigned int line, *most = argument;

	(void)index;
	assert_ptr_equal(data, emulated_header(pool, mbuf, 0));
	assert_int_equal(physical % (LINES * RTE_CACHE_LINE_SIZE), 0);
	assert_int_equal(mbuf->buf_iova, rte_mem_virt2iova(mbuf->buf_addr));
	for (line = 0; line < LINES; line++) {
		uint64_t address = physical + line * RTE_CACHE_LINE_SIZE;
		unsigned int *count = &counts[emulated_slice_of(address)][address / 64 % SETS];

		*most = RTE_MAX(*most, ++*count);
	}
}

static void
no_set_of_a_slice_gets_many_more_lines_than_others(void **state)
{
	struct rte_mempool *pool = make_pool();
	struct skl_mempool_stats stats;
	unsigned int most = 0;

	(void)state;
	assert_non_null(pool);
	memset(counts, 0, sizeof(counts));
	assert_int_equal(rte_mempool_obj_iter(pool, count_object, &most), OBJECTS);
	assert_in_range(most, 8, MOST_LINES);
	assert_int_equal(skl_mempool_stats(pool, &stats), 0);
	assert_int_equal(stats.objects, OBJECTS);
	assert_int_equal(stats.unplaced, 0);
	assert_int_equal(stats.object_bytes + stats.gaps_bytes, stats.memory_bytes);
	rte_mempool_free(pool);
}

static void
its_objects_are_for_all_cores_and_come_back(void **state)
{
	struct rte_mempool *pool = make_pool();
	static void *objects[OBJECTS];

	(void)state;
	assert_non_null(pool);
	assert_int_equal(rte_mempool_get_bulk(pool, objects, OBJECTS), 0);
	assert_int_equal(skl_mempool_poller_of(pool, objects[0]), -ENOENT);
	assert_int_equal(rte_mempool_avail_count(pool), 0);
	rte_mempool_put_bulk(pool, objects, OBJECTS);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	rte_mempool_free(pool);
}

static void
assert_refused(const char *because)
{
	assert_null(listen_to(make_pool));
	if (strstr(said, because) == NULL)
		fail_msg("said: %s", said);
}

static void
settings_without_a_meaning_are_refused(void **state)
{
	(void)state;
	config.sets = 0;
	assert_refused("needs SKIPLINE_SLICE_SETS");
	config.sets = 3000;
	assert_refused("a power of two up to 65536");
	config.sets = 16;
	assert_refused("in all sets of a slice: 1024 at most");
	config.sets = SETS;
	config.slices = SLICES_OF_TWO;
	assert_refused("places packet data for all cores");
	config.placing = SKL_MEMPOOL_PLACE_OBJECTS;
	assert_refused("SKIPLINE_SLICE_SETS=2048 has no effect");
}

static void
a_table_that_does_not_cover_the_memory_is_refused(void **state)
{
	(void)state;
	config.table = emulated_table(14);
	assert_refused("the slice table does not cover the address");
}

#define SETS_TEST(function) cmocka_unit_test_setup(function, start_by_set)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SETS_TEST(no_set_of_a_slice_gets_many_more_lines_than_others),
		SETS_TEST(its_objects_are_for_all_cores_and_come_back),
		SETS_TEST(settings_without_a_meaning_are_refused),
		SETS_TEST(a_table_that_does_not_cover_the_memory_is_refused),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
