/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool that cores get from and free into, each at its turn, and objects that are in use: every
 * test ends with all of them back in the pool.
 */
#ifndef TESTS_WORKERS_H
#define TESTS_WORKERS_H

#include <rte_launch.h>
#include <rte_ring.h>

#include "placed_pool.h"

#define OBJECTS 4000

extern struct rte_mempool *pool;
extern struct rte_ring *passed_on; /* objects in use */
extern uint64_t of_others;         /* objects that a core got and that were made for another */

/* `pool` of OBJECTS objects, with caches of 256. */
struct rte_mempool *make_pool(const char *name, const char *pollers);

int on_lcore(unsigned int lcore, lcore_function_t *function, void *argument);

/* How many of the objects were made for another core than this one. */
unsigned int made_for_others(void **objects, unsigned int n);

/* Frees what is in use. */
void put_all_back(void);

/* For cmocka. */
int start_workers(void **state);
int end_workers(void **state);

#define WORKERS_TEST(function) \
	cmocka_unit_test_setup_teardown(function, start_workers, end_workers)

#endif
