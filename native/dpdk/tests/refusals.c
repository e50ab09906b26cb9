/* SPDX-License-Identifier: Apache-2.0 */
/* What is said when a pool cannot be laid out as asked, and is anything left behind? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_log.h>

#include "placed_pool.h"

#define OBJECTS 1000

static struct rte_mempool *
make_configured(void)
{
	return configured_pool("refused", OBJECTS, 0, 0);
}

static void
assert_refused(struct rte_mempool *(*make)(void), int reason, const char *text)
{
	size_t before = emulated_heap_bytes();

	assert_null(listen_to(make));
	assert_int_equal(rte_errno, reason);
	if (strstr(said, text) == NULL)
		fail_msg("said: %s", said);
	assert_int_equal(emulated_heap_bytes(), before);
}

static void
a_missing_or_damaged_table_is_refused(void **state)
{
	(void)state;
	config.table = NULL;
	assert_refused(make_configured, EINVAL, "set SKIPLINE_SLICE_TABLE");
	config.table = "/nowhere/table.toml";
	assert_refused(make_configured, ENOENT, "/nowhere/table.toml");
	config.table = "/etc/passwd";
	assert_refused(make_configured, EINVAL, "/etc/passwd");
}

static void
addresses_that_the_table_does_not_cover_are_refused(void **state)
{
	(void)state;
	config.table = emulated_table(20);
	assert_refused(make_configured, ERANGE, "does not cover");
}

static void
they_are_used_if_asked_for_and_said_to_be_unplaced(void **state)
{
	struct skl_mempool_stats stats;
	struct rte_mempool *pool;

	(void)state;
	config.table = emulated_table(20);
	config.unplaced = SKL_MEMPOOL_PLAIN;
	pool = listen_to(make_configured);
	assert_non_null(pool);
	assert_non_null(strstr(said, "does not cover"));
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.objects, OBJECTS);
	assert_int_equal(stats.unplaced, OBJECTS);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	rte_mempool_free(pool);
}

/* Objects have room for packet data, but no private area says where in an object it begins. */
static struct rte_mempool *
make_before_its_layout(void)
{
	struct rte_mempool *pool;
	int ret;

	pool = rte_mempool_create_empty("early", OBJECTS, sizeof(struct rte_mbuf) + 2176, 0,
		sizeof(struct rte_pktmbuf_pool_private), SOCKET_ID_ANY, 0);
	assert_non_null(pool);
	ret = rte_mempool_set_ops_byname(pool, "skipline_slice", &config);
	if (ret == 0)
		ret = rte_mempool_populate_default(pool);
	if (ret >= 0)
		return pool;
	rte_mempool_free(pool);
	rte_errno = -ret;
	return NULL;
}

static void
a_pool_that_does_not_say_where_its_data_begins_is_refused(void **state)
{
	(void)state;
	assert_refused(make_before_its_layout, EINVAL, "rte_pktmbuf_pool_init");
}

static void
slices_and_lines_that_are_none_are_refused(void **state)
{
	(void)state;
	config.slices = "1=8;2=0";
	assert_refused(make_configured, EINVAL, "slice 8 for lcore 1");
	config.slices = "1=0";
	assert_refused(make_configured, EINVAL, "lists no slices for lcore 2");
	config.slices = "1:0";
	assert_refused(make_configured, EINVAL, "1:0; allowed");
	config.slices = NULL;
	assert_refused(make_configured, EINVAL, "set one of");
	config.slices = SLICES_OF_TWO;
	config.line = 32;
	assert_refused(make_configured, EINVAL, "allowed: 0 to 31");
}

static void
pollers_that_are_none_are_refused(void **state)
{
	(void)state;
	config.pollers = "7";
	assert_refused(make_configured, EINVAL, "lcore 7");
	config.pollers = "1-";
	assert_refused(make_configured, EINVAL, "1-; allowed");
	config.pollers = "rx_*=1";
	assert_refused(make_configured, EINVAL, "names no lcores for this pool");
	config.pollers = "rx_*=1;ref*=2";
	rte_mempool_free(make_configured());
}

/* Latencies of one core to so many slices; the file's name is made up once. */
static const char *
write_latencies(unsigned int slices)
{
	static char path[] = "/tmp/skipline-latencies-XXXXXX";
	static bool named;
	FILE *file;

	if (!named)
		close(mkstemp(path));
	named = true;
	file = fopen(path, "w");

	fprintf(file, "part = \"p\"\nsource = \"s\"\nkind = \"modelled\"\ncycles = [[40.0");
	while (--slices > 0)
		fprintf(file, ", 50.0");
	fprintf(file, "]]\n");
	fclose(file);
	return path;
}

static void
latencies_of_another_part_or_without_the_pollers_cpu_are_refused(void **state)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(2);

	(void)state;
	config.slices = NULL;
	config.latencies = write_latencies(2);
	assert_refused(make_configured, EINVAL, "has 2 slices");
	config.latencies = write_latencies(8);
	config.pollers = "2";
	if (!CPU_ISSET(0, &cpus))
		assert_refused(make_configured, ERANGE, "has latencies of CPUs 0 to 0");
	assert_int_equal(remove(config.latencies), 0);
	assert_refused(make_configured, ENOENT, config.latencies);
}

static struct rte_mempool *
make_larger_than_memory(void)
{
	return configured_pool("large", 1 << 24, 0, 0);
}

static void
exhausted_memory_is_an_error_and_is_given_back(void **state)
{
	(void)state;
	assert_refused(make_larger_than_memory, ENOMEM, "lists of its 16777216 free objects");
	rte_mempool_free(make_configured());
}

/* The call of an application that knows only the driver's name. */
static struct rte_mempool *
make_by_name(void)
{
	return rte_pktmbuf_pool_create_by_ops("by_name", OBJECTS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
		rte_socket_id(), SKL_MEMPOOL_OPS);
}

static void
the_environment_is_read_and_its_faults_are_refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "SKIPLINE_SLICE_LINE", "one" }, { "SKIPLINE_SLICE_LINE", "-1" },
		{ "SKIPLINE_SLICE_NEAREST", "9999" }, { "SKIPLINE_SLICE_UNPLACED", "yes" },
		{ "SKIPLINE_SLICE_EXHAUSTED", "steal" }, { "SKIPLINE_SLICE_CACHE", "none" },
		{ "SKIPLINE_SLICE_POLLERS", "1,1000" }, { "SKIPLINE_SLICE_SLICES", "1=0;2" },
	};
	struct rte_mempool *pool;
	unsigned int i;

	(void)state;
	assert_refused(make_by_name, EINVAL, "set SKIPLINE_SLICE_TABLE");
	setenv("SKIPLINE_SLICE_TABLE", config.table, 1);
	for (i = 0; i < RTE_DIM(wrong); i++) {
		setenv("SKIPLINE_SLICE_SLICES", config.slices, 1);
		setenv(wrong[i][0], wrong[i][1], 1);
		assert_refused(make_by_name, EINVAL, wrong[i][0]);
		assert_non_null(strstr(said, wrong[i][1]));
		unsetenv(wrong[i][0]);
	}
	setenv("SKIPLINE_SLICE_SLICES", config.slices, 1);
	pool = make_by_name();
	assert_non_null(pool);
	assert_int_equal(skl_mempool_wants(pool, 2, 6), 1);
	assert_int_equal(skl_mempool_wants(pool, 1, 6), 0);
	rte_mempool_free(pool);
}

static struct rte_mempool *half_populated;

static struct rte_mempool *
populate_again(void)
{
	assert_int_equal(rte_mempool_populate_anon(half_populated), 0);
	assert_int_equal(rte_errno, EINVAL);
	return NULL;
}

/* The library frees the memory of the objects that were placed already: lists name them. */
static void
a_pool_whose_population_failed_is_not_populated_again(void **state)
{
	struct rte_mempool *pool;

	(void)state;
	pool = rte_mempool_create_empty("half", 200000, 2176, 0, 0, rte_socket_id(), 0);
	assert_int_equal(rte_mempool_set_ops_byname(pool, SKL_MEMPOOL_OPS, &config), 0);
	assert_int_equal(rte_mempool_populate_default(pool), -ENOMEM);
	half_populated = pool;
	listen_to(populate_again);
	assert_non_null(strstr(said, "its first population failed"));
	rte_mempool_free(pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED_TEST(a_missing_or_damaged_table_is_refused),
		PLACED_TEST(addresses_that_the_table_does_not_cover_are_refused),
		PLACED_TEST(they_are_used_if_asked_for_and_said_to_be_unplaced),
		PLACED_TEST(a_pool_that_does_not_say_where_its_data_begins_is_refused),
		PLACED_TEST(slices_and_lines_that_are_none_are_refused),
		PLACED_TEST(pollers_that_are_none_are_refused),
		PLACED_TEST(latencies_of_another_part_or_without_the_pollers_cpu_are_refused),
		PLACED_TEST(exhausted_memory_is_an_error_and_is_given_back),
		PLACED_TEST(a_pool_whose_population_failed_is_not_populated_again),
		PLACED_TEST(the_environment_is_read_and_its_faults_are_refused),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
