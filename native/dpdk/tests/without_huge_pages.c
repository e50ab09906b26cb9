/* SPDX-License-Identifier: Apache-2.0 */
/* What happens where pages are small, and the kernel may move them? */
#include <rte_eal.h>

#include "placed_pool.h"

/* EAL has main alone here. */
static struct rte_mempool *
make_pool(enum skl_mempool_unplaced unplaced)
{
	config.slices = "0=3";
	config.pollers = "0";
	config.unplaced = unplaced;
	return configured_pool("pool", 1000, 0, 0);
}

static void
a_pool_is_refused(void **state)
{
	(void)state;
	assert_null(make_pool(SKL_MEMPOOL_REFUSE));
	assert_int_equal(rte_errno, ENOTSUP);
}

static void
a_plain_pool_is_made_if_asked_for(void **state)
{
	struct skl_mempool_stats stats;
	struct rte_mempool *pool = make_pool(SKL_MEMPOOL_PLAIN);

	(void)state;
	assert_non_null(pool);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.unplaced, 1000);
	assert_int_equal(rte_mempool_avail_count(pool), 1000);
	rte_mempool_free(pool);
}

int
main(void)
{
	const char *arguments[] = { "test", "--no-pci", "--no-huge", "-m", "64",
		"--lcores", "0@0", "--log-level=*:error", "--log-level=pmd.mempool.skipline:critical",
		"--no-telemetry", "--no-shconf" };
	const struct CMUnitTest tests[] = {
		PLACED_TEST(a_pool_is_refused),
		PLACED_TEST(a_plain_pool_is_made_if_asked_for),
	};

	if (rte_eal_init(RTE_DIM(arguments), (char **)(uintptr_t)arguments) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
