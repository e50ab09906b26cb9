/* SPDX-License-Identifier: Apache-2.0 */
/* What happens where pages are small, and the kernel may move them? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "../pool/skipline_mempool.h"
#include "emulated.h"

static struct rte_mempool *
make_pool(enum skl_mempool_unplaced unplaced)
{
	const struct skl_mempool_config config = {
		.size = sizeof(config),
		.table = emulated_table(38),
		.slices = "0=3",
		.pollers = "0",
		.unplaced = unplaced,
	};

	return skl_pktmbuf_pool_create("pool", 1000, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
		rte_socket_id(), &config);
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
		cmocka_unit_test(a_pool_is_refused),
		cmocka_unit_test(a_plain_pool_is_made_if_asked_for),
	};

	if (rte_eal_init(RTE_DIM(arguments), (char **)(uintptr_t)arguments) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
