/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in a process that the kernel does not show physical addresses? */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "placed_pool.h"

/* Before EAL starts, so that it does not know addresses either; it goes on with IOVA as VA. */
static void
give_up_addresses(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	if (syscall(SYS_capget, &header, sets) == 0) {
		sets[0].effective &= ~(1U << CAP_SYS_ADMIN);
		sets[0].permitted &= ~(1U << CAP_SYS_ADMIN);
		syscall(SYS_capset, &header, sets);
	}
}

static void
a_pool_is_refused(void **state)
{
	(void)state;
	assert_null(configured_pool("pool", 1000, 0, 0));
	assert_int_equal(rte_errno, EACCES);
}

static void
a_plain_pool_is_made_if_asked_for(void **state)
{
	struct skl_mempool_stats stats;
	struct rte_mempool *pool;

	(void)state;
	config.unplaced = SKL_MEMPOOL_PLAIN;
	pool = configured_pool("pool", 1000, 0, 0);
	assert_non_null(pool);
	skl_mempool_stats(pool, &stats);
	assert_int_equal(stats.unplaced, 1000);
	rte_mempool_free(pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED_TEST(a_pool_is_refused),
		PLACED_TEST(a_plain_pool_is_made_if_asked_for),
	};

	give_up_addresses();
	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
