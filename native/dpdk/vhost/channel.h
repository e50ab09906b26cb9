/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DMA device that vhost copies with: a reordering array in front of the work queues of a core.
 *
 * vhost tells a device by its number and calls the functions that DPDK has in a table under that
 * number (rte_dmadev_core.h). A channel takes the number of a dma_skeleton, DPDK's device without
 * hardware, and puts its own functions there: vhost and the idxd driver stay as they are. vhost
 * does not look at how a copy ended, so a channel redoes by the core what has failed before it
 * reports it, and it reports copies in the order in which vhost has asked for them, whichever queue
 * they went to.
 *
 * vhost holds a lock around each call: a channel is for one core, and for the thread that ends
 * the connections of guests.
 */
#ifndef VHOST_CHANNEL_H
#define VHOST_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "reorder.h"
#include "work_queue.h"

#define CHANNEL_QUEUES 16

/* What the tests leave out, to see that it matters. */
struct channel_faults {
	bool passes_failed; /* a failed copy passes for done */
	bool releases_any;  /* as many copies are released as have ended, whichever they are */
};

struct copy {
	const void *from;
	void *to;
	uint32_t bytes;
};

struct channel_counts {
	uint64_t by_core;   /* copies redone after a failure, or done for want of a queue */
	uint64_t overtakes; /* copies that ended before the one ahead of them */
	uint64_t foreign;   /* submissions by another core than the channel's */
};

struct channel {
	struct reorder order;
	uint16_t ended; /* and are not released */
	struct copy copies[REORDER_PLACES];
	struct work_queue queues[CHANNEL_QUEUES];
	unsigned int n_queues;
	unsigned int turn; /* the queue that gets the batch which is written */
	bool is_open;      /* that batch has copies */
	int16_t dma;       /* the number that vhost knows */
	unsigned int lcore;
	struct channel_faults faults;
	struct channel_counts counts;
};

/* A channel of a core, without queues yet; NULL if there is no dma_skeleton or no memory. */
struct channel *channel_create(unsigned int lcore, const struct channel_faults *faults);

/* Gives it a queue of its own; NULL and a negative errno if that cannot be. */
const struct work_queue *channel_add(struct channel *channel, int16_t dma, int *error);

/* Ends the queue's device: the driver of the kernel waits for what is under way. */
void channel_stop(struct channel *channel);

#endif
