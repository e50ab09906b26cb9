/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secondary process that knows nothing of the driver: gets objects of the pools named on its
 * command line, and frees them. Its drivers are loaded as EAL's options say.
 */
#include <stdio.h>

#include <rte_eal.h>
#include <rte_mempool.h>

#define BURST 32

static int
use(const char *name)
{
	struct rte_mempool *pool = rte_mempool_lookup(name);
	unsigned int before, round;
	void *objects[BURST];

	if (pool == NULL) {
		fprintf(stderr, "error: there is no pool %s\n", name);
		return 1;
	}
	before = rte_mempool_avail_count(pool);
	for (round = 0; round < 100; round++) {
		if (rte_mempool_get_bulk(pool, objects, BURST) < 0) {
			fprintf(stderr, "error: pool %s gives nothing\n", name);
			return 1;
		}
		rte_mempool_put_bulk(pool, objects, BURST);
	}
	return rte_mempool_avail_count(pool) != before;
}

int
main(int argc, char **argv)
{
	int consumed = rte_eal_init(argc, argv), i, ret = 0;

	if (consumed < 0)
		return 2;
	for (i = consumed + 1; ret == 0 && i < argc; i++)
		ret = use(argv[i]);
	rte_eal_cleanup();
	return ret;
}
