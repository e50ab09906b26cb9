/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

struct rte_mempool *pool;
struct rte_ring *passed_on;
uint64_t of_others;

struct rte_mempool *
make_pool(const char *name, const char *pollers)
{
	struct rte_mempool *made;

	config.pollers = pollers;
	made = configured_pool(name, OBJECTS, 256, 0);
	assert_non_null(made);
	return made;
}

int
on_lcore(unsigned int lcore, lcore_function_t *function, void *argument)
{
	assert_int_equal(rte_eal_remote_launch(function, argument, lcore), 0);
	return rte_eal_wait_lcore(lcore);
}

unsigned int
made_for_others(void **objects, unsigned int n)
{
	unsigned int i, others = 0;

	for (i = 0; i < n; i++)
		others += skl_mempool_poller_of(rte_mempool_from_obj(objects[i]), objects[i]) !=
			(int)rte_lcore_id();
	return others;
}

void
put_all_back(void)
{
	void *object;

	while (rte_ring_dequeue(passed_on, &object) == 0)
		rte_mempool_put(pool, object);
}

int
start_workers(void **state)
{
	start_config(state);
	of_others = 0;
	passed_on = rte_ring_create("passed_on", 8192, rte_socket_id(), 0);
	return passed_on == NULL;
}

int
end_workers(void **state)
{
	(void)state;
	assert_int_equal(rte_mempool_avail_count(pool), pool->size);
	rte_mempool_free(pool);
	rte_ring_free(passed_on);
	return 0;
}
