/* SPDX-License-Identifier: Apache-2.0 */
/* Can processes that load their drivers in other orders use the same pools? */
#include <libgen.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <rte_eal.h>

#include "placed_pool.h"

#define SKIPPED 77
#define OBJECTS 1000

static char pages[] = "/tmp/skipline-pages-XXXXXX";
static char prefix[32];

static void
remove_pages(void)
{
	umount(pages);
	rmdir(pages);
}

/* For this process and its children alone, so that it goes with them. */
static int
mount_pages(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mkdtemp(pages) == NULL ? -1 : mount("none", pages, "hugetlbfs", 0, NULL);
}

/* Shared memory needs files; other tests do without. */
static void
start(void)
{
	const char *arguments[] = { "test", "--no-pci", "--file-prefix", prefix, "--huge-dir", pages,
		"-m", "64", "--lcores", "0@0,1@0,2@0", "--log-level=*:error", "--no-telemetry" };

	snprintf(prefix, sizeof(prefix), "skipline-test-%d", getpid());
	if (mount_pages() < 0) {
		perror("skipped: no hugetlbfs");
		rmdir(pages);
		exit(SKIPPED);
	}
	atexit(remove_pages);
	if (rte_eal_init(RTE_DIM(arguments), (char **)(uintptr_t)arguments) >= 0)
		return;
	fprintf(stderr, "skipped: EAL does not start: %s\n", rte_strerror(rte_errno));
	exit(SKIPPED);
}

static struct rte_mempool *
make_standard_pool(void)
{
	struct rte_mempool *pool = rte_mempool_create_empty("standard", OBJECTS, 256, 32, 0,
		rte_socket_id(), 0);

	assert_int_equal(rte_mempool_set_ops_byname(pool, "ring_mp_mc", NULL), 0);
	assert_int_equal(rte_mempool_populate_default(pool), OBJECTS);
	return pool;
}

/* Runs the other process with drivers in this order, on the CPU of lcore 1. */
static int
run_secondary(const char *drivers)
{
	char self[512] = "", command[2048];
	const char *folder;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	folder = dirname(self);
	snprintf(command, sizeof(command), "LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH %s/secondary-user "
		"--no-pci --proc-type=secondary --file-prefix %s --huge-dir %s --lcores 1@0 "
		"--log-level=*:error --no-telemetry %s -- one shared standard",
		folder, folder, prefix, pages, drivers);
	return system(command);
}

static void
secondaries_find_their_pools_whatever_they_load_first(void **state)
{
	static const char *const orders[] = {
		"-d librte_mempool_skipline.so",
		"-d librte_mempool_ring.so -d librte_mempool_stack.so -d librte_mempool_skipline.so",
		"-d librte_mempool_skipline.so -d librte_mempool_ring.so -d librte_mempool_stack.so",
	};
	struct rte_mempool *pools[3];
	unsigned int i;

	(void)state;
	pools[0] = configured_pool("shared", OBJECTS, 32, 0);
	config.pollers = "1";
	pools[1] = configured_pool("one", OBJECTS, 32, 0);
	pools[2] = make_standard_pool();
	for (i = 0; i < RTE_DIM(orders); i++)
		if (run_secondary(orders[i]) != 0)
			fail_msg("with %s", orders[i]);
	for (i = 0; i < RTE_DIM(pools); i++) {
		assert_int_equal(rte_mempool_avail_count(pools[i]), OBJECTS);
		rte_mempool_free(pools[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED_TEST(secondaries_find_their_pools_whatever_they_load_first),
	};

	start();
	return cmocka_run_group_tests(tests, NULL, NULL) + rte_eal_cleanup();
}
