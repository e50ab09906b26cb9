/* SPDX-License-Identifier: Apache-2.0 */
/* Is a pool refused whose pollers are on another NUMA node than its memory? */
#include <dlfcn.h>
#include <string.h>

#include <rte_service.h>

#include "placed_pool.h"

static int node_of_second = -1; /* lcore 2; EAL's own answer if it is negative */

/* In place of EAL's, for the driver as well: machines of one node have to do. */
unsigned int
rte_lcore_to_socket_id(unsigned int lcore)
{
	unsigned int (*real)(unsigned int) = dlsym(RTLD_NEXT, "rte_lcore_to_socket_id");

	return lcore == 2 && node_of_second >= 0 ? (unsigned int)node_of_second : real(lcore);
}

static struct rte_mempool *
make(void)
{
	return configured_pool("nodes", 100, 32, 0);
}

static struct rte_mempool *
make_anywhere(void)
{
	return skl_pktmbuf_pool_create("anywhere", 100, 32, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
		SOCKET_ID_ANY, &config);
}

static void
pollers_of_several_nodes_are_refused_wherever_the_memory_is(void **state)
{
	struct rte_mempool *pool;

	(void)state;
	node_of_second = rte_socket_id() + 1;
	assert_null(listen_to(make_anywhere));
	assert_int_equal(rte_errno, EINVAL);
	assert_non_null(strstr(said, "lcores 1 and 2, which poll this pool, are on NUMA nodes"));
	node_of_second = rte_socket_id();
	pool = make_anywhere();
	assert_non_null(pool);
	rte_mempool_free(pool);
}

static void
a_poller_of_another_node_is_refused(void **state)
{
	(void)state;
	node_of_second = rte_socket_id() + 1;
	assert_null(listen_to(make));
	assert_int_equal(rte_errno, EINVAL);
	assert_non_null(strstr(said, "lcore 2, which polls this pool, is on NUMA node"));
	assert_non_null(strstr(said, "SKIPLINE_SLICE_POLLERS"));
}

static void
pollers_of_the_pools_node_are_not(void **state)
{
	struct rte_mempool *pool;

	(void)state;
	node_of_second = rte_socket_id();
	pool = make();
	assert_non_null(pool);
	rte_mempool_free(pool);
	node_of_second++;
	config.pollers = "1";
	pool = make();
	assert_non_null(pool);
	rte_mempool_free(pool);
}

static void
main_polls_where_all_others_are_service_cores(void **state)
{
	struct rte_mempool *pool;
	unsigned int lcore;

	(void)state;
	config.pollers = NULL;
	config.slices = "0=1";
	for (lcore = 1; lcore < RTE_MAX_LCORE; lcore++)
		if (rte_lcore_is_enabled(lcore))
			assert_int_equal(rte_service_lcore_add(lcore), 0);
	pool = make();
	assert_non_null(pool);
	assert_int_equal(skl_mempool_wants(pool, 0, 1), 1);
	rte_mempool_free(pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED_TEST(a_poller_of_another_node_is_refused),
		PLACED_TEST(pollers_of_several_nodes_are_refused_wherever_the_memory_is),
		PLACED_TEST(pollers_of_the_pools_node_are_not),
		/* Last: there are no workers from then on. */
		PLACED_TEST(main_polls_where_all_others_are_service_cores),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
