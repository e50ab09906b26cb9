/* SPDX-License-Identifier: Apache-2.0 */
/* Is a pool refused whose pollers are on another NUMA node than its memory? */
#include <dlfcn.h>
#include <string.h>

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED_TEST(a_poller_of_another_node_is_refused),
		PLACED_TEST(pollers_of_the_pools_node_are_not),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
