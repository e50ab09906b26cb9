/* SPDX-License-Identifier: Apache-2.0 */
#include "ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_random.h>

#define DESCRIPTORS 256

/* The forwarder knows no slices: the pool's driver is a name. */
static struct rte_mempool *
make_pool(const struct options *options, uint16_t port, int queue)
{
	const char *ops = port % 2 == 1 && options->other_ops != NULL ?
		options->other_ops : options->pool_ops;
	struct rte_mempool *pool;
	char name[RTE_MEMPOOL_NAMESIZE];

	if (queue < 0)
		snprintf(name, sizeof(name), "pool_%u", port);
	else
		snprintf(name, sizeof(name), "pool_%u_%d", port, queue);
	pool = rte_pktmbuf_pool_create_by_ops(name, options->objects, options->cache, 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, rte_socket_id(), ops);
	if (pool == NULL)
		fprintf(stderr, "error: %s: no pool by %s: %s\n", name,
			ops == NULL ? "the default driver" : ops,
			rte_strerror(rte_errno));
	return pool;
}

/*
 * Shuffles a pool's buffers, as use does. A new pool hands them out by rising address: with equal
 * strides between them, prefetchers run ahead in the first rounds.
 */
static int
shuffle(struct rte_mempool *pool, unsigned int objects)
{
	void **all = malloc(objects * sizeof(*all)), *object;
	unsigned int i, other, got = 0;

	if (all == NULL)
		return -ENOMEM;
	while (got < objects && rte_mempool_get(pool, &all[got]) == 0)
		got++;
	for (i = got; i > 1; i--) {
		other = rte_rand_max(i);
		object = all[i - 1];
		all[i - 1] = all[other];
		all[other] = object;
	}
	rte_mempool_put_bulk(pool, all, got);
	free(all);
	return 0;
}

static int
start_port(const struct options *options, uint16_t port, unsigned int queues)
{
	const struct rte_eth_conf configuration = { 0 };
	struct rte_mempool *pool = NULL;
	unsigned int queue;
	int ret;

	ret = rte_eth_dev_configure(port, queues, queues, &configuration);
	for (queue = 0; ret == 0 && queue < queues; queue++) {
		if (pool == NULL || options->pool_per_queue)
			pool = make_pool(options, port, options->pool_per_queue ? (int)queue : -1);
		if (pool == NULL)
			return -rte_errno;
		if (options->pairs > 0 && !options->new_order && shuffle(pool, options->objects) < 0)
			return -ENOMEM;
		ret = rte_eth_rx_queue_setup(port, queue, DESCRIPTORS, rte_eth_dev_socket_id(port), NULL,
			pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(port, queue, DESCRIPTORS,
				rte_eth_dev_socket_id(port), NULL);
	}
	if (ret == 0)
		ret = rte_eth_dev_start(port);
	if (ret < 0) {
		fprintf(stderr, "error: port %u does not start with %u queues: %s\n", port, queues,
			rte_strerror(-ret));
		return ret;
	}
	/* Not every virtual device can; those that cannot see all packets anyway. */
	rte_eth_promiscuous_enable(port);
	return 0;
}

int
ports_start(const struct options *options, unsigned int queues)
{
	uint16_t port;
	int ret;

	if (options->pairs > 0 && rte_eth_dev_count_avail() != 2) {
		fprintf(stderr, "--pairs compares two ports; there are %u\n",
			rte_eth_dev_count_avail());
		return -EINVAL;
	}
	if (rte_eth_dev_count_avail() == 0) {
		fprintf(stderr, "error: no ports; give EAL some, such as --vdev net_tap0\n");
		return -ENODEV;
	}
	RTE_ETH_FOREACH_DEV(port) {
		ret = start_port(options, port, queues);
		if (ret < 0)
			return ret;
	}
	return 0;
}

void
ports_stop(void)
{
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port) {
		rte_eth_dev_stop(port);
		rte_eth_dev_close(port);
	}
}
