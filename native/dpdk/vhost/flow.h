/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of one pair of virtqueues in one direction, in three stages: a burst is received from a
 * guest, copies to the other guest are submitted, and those that have ended are freed. No stage
 * waits for another one. Packets for which the receiving guest has no room wait here; none is
 * dropped.
 */
#ifndef VHOST_FLOW_H
#define VHOST_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "link.h"

#define MOST_BURST 32 /* of vhost's asynchronous calls */

struct flow_counts {
	uint64_t received;
	uint64_t delivered; /* all others were for a guest that has disconnected */
};

struct flow {
	struct link *from, *to;
	unsigned int pair;
	unsigned int burst;
	int16_t dma; /* device of the core's channel; -1: the core copies */
	struct rte_mempool *pool;
	struct rte_mbuf *waiting[MOST_BURST];
	unsigned int first, n;
	struct flow_counts counts;
};

/* Moves all packets that can move now; false if none could. */
bool flow_turn(struct flow *flow);

#endif
