/* SPDX-License-Identifier: Apache-2.0 */
#include "placed_pool.h"

struct skl_mempool_config config;

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
