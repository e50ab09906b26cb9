/* SPDX-License-Identifier: Apache-2.0 */
#include "placed_pool.h"

#include <stdio.h>

#include <rte_log.h>

struct skl_mempool_config config;
char said[4096];

int
start_config(void **state)
{
	(void)state;
	config = (struct skl_mempool_config){
		.size = sizeof(config),
		.table = emulated_table(38),
		.slices = SLICES_OF_TWO,
	};
	return 0;
}

struct rte_mempool *
configured_pool(const char *name, unsigned int objects, unsigned int cache, uint16_t priv_size)
{
	return skl_pktmbuf_pool_create(name, objects, cache, priv_size, RTE_MBUF_DEFAULT_BUF_SIZE,
		rte_socket_id(), &config);
}

struct rte_mempool *
listen_to(struct rte_mempool *(*make)(void))
{
	FILE *log = tmpfile();
	struct rte_mempool *pool;

	rte_openlog_stream(log);
	rte_log_set_level_pattern("pmd.mempool.skipline", RTE_LOG_NOTICE);
	pool = make();
	rte_log_set_level_pattern("pmd.mempool.skipline", RTE_LOG_CRIT);
	rte_openlog_stream(NULL);
	rewind(log);
	said[fread(said, 1, sizeof(said) - 1, log)] = '\0';
	fclose(log);
	return pool;
}
