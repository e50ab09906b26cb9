/* SPDX-License-Identifier: Apache-2.0 */
#include "flow.h"

#include <rte_mbuf.h>
#include <rte_vhost.h>
#include <rte_vhost_async.h>

static void
receive(struct flow *flow)
{
	uint16_t queue = sending_queue(flow->pair);
	int under_way, vid = link_guest(flow->from, queue, flow->dma);

	if (vid == NO_GUEST)
		return;
	flow->first = 0;
	if (flow->dma < 0)
		flow->n = rte_vhost_dequeue_burst(vid, queue, flow->pool, flow->waiting,
			flow->burst);
	else
		flow->n = rte_vhost_async_try_dequeue_burst(vid, queue, flow->pool, flow->waiting,
			flow->burst, &under_way, flow->dma, 0);
	flow->counts.received += flow->n;
}

static unsigned int
deliver(struct flow *flow, int vid)
{
	uint16_t queue = receiving_queue(flow->pair), sent;
	struct rte_mbuf **packets = flow->waiting + flow->first;

	if (flow->dma < 0) {
		sent = rte_vhost_enqueue_burst(vid, queue, packets, flow->n);
		rte_pktmbuf_free_bulk(packets, sent);
		flow->counts.delivered += sent;
	} else {
		sent = rte_vhost_submit_enqueue_burst(vid, queue, packets, flow->n, flow->dma, 0);
	}
	flow->first += sent;
	flow->n -= sent;
	return sent;
}

static unsigned int
free_delivered(struct flow *flow, int vid)
{
	struct rte_mbuf *packets[MOST_BURST];
	uint16_t n = rte_vhost_poll_enqueue_completed(vid, receiving_queue(flow->pair), packets,
		MOST_BURST, flow->dma, 0);

	rte_pktmbuf_free_bulk(packets, n);
	flow->counts.delivered += n;
	return n;
}

bool
flow_turn(struct flow *flow)
{
	unsigned int moved = 0;
	int vid;

	if (flow->n == 0) {
		receive(flow);
		moved = flow->n;
	}
	vid = link_guest(flow->to, receiving_queue(flow->pair), flow->dma);
	if (vid != NO_GUEST) {
		if (flow->n > 0)
			moved += deliver(flow, vid);
		if (flow->dma >= 0)
			moved += free_delivered(flow, vid);
	} else if (flow->n > 0 && __atomic_load_n(&flow->to->has_left, __ATOMIC_ACQUIRE)) {
		rte_pktmbuf_free_bulk(flow->waiting + flow->first, flow->n);
		flow->n = 0;
	}
	return moved > 0;
}
