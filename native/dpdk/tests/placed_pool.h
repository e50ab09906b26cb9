/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver's tests begin with: cmocka, and a pool of two pollers, lcores 1 and 2, that have
 * slices of their own in the emulated cache. A test changes `config` before it makes its pool.
 */
#ifndef TESTS_PLACED_POOL_H
#define TESTS_PLACED_POOL_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "../pool/skipline_mempool.h"
#include "emulated.h"

/* Slices of the two pollers. */
#define SLICES_OF_TWO "1=3;2=0,6"

extern struct skl_mempool_config config;

/* Sets `config` to its beginnings; for cmocka. */
int start_config(void **state);

/* The pool of `config`; NULL with rte_errno if it is refused. */
struct rte_mempool *configured_pool(const char *name, unsigned int objects, unsigned int cache,
	uint16_t priv_size);

/* What was logged, from notices on, while `listen_to` ran `make`. */
extern char said[4096];
struct rte_mempool *listen_to(struct rte_mempool *(*make)(void));

#define PLACED_TEST(function) cmocka_unit_test_setup(function, start_config)

#endif
