/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DMA device that vhost copies with: a reordering array in front of the work queues of a core.
 *
 * vhost identifies a device by its number, and calls the functions that DPDK keeps in a table under
 * that number (rte_dmadev_core.h). A channel takes the number of a dma_skeleton, DPDK's device
 * without hardware, and puts its own functions there: vhost stays unchanged.
 * vhost does not check the status of copies. So the core repeats each copy that failed before the
 * channel reports it, and the channel reports copies in the order of vhost's requests, whichever
 * queue executed them.
 *
 * vhost holds a lock around each call: a channel is for one core, and for the thread that ends the
 * connections of guests.
 */
#ifndef VHOST_CHANNEL_H
#define VHOST_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "device_queue.h"
#include "reorder.h"

#define CHANNEL_QUEUES 16

/* Faults for tests: features that a channel leaves out, so that tests see that they matter. */
struct channel_faults {
	bool passes_failed; /* a failed copy is reported as done */
	bool releases_any;  /* as many copies are released as have ended, whichever they are */
};

struct copy {
	const void *from;
	void *to;
	uint32_t bytes;
};

struct channel_counts {
	uint64_t by_core;   /* copies by the core, after a failure or without a queue */
	uint64_t overtakes; /* copies that ended before an earlier one */
	uint64_t foreign;   /* submissions by a core that is not the channel's */
};

struct channel {
	struct reorder order;
	uint16_t ended; /* copies that have ended and are not released */
	struct copy copies[REORDER_SLOTS];
	struct device_queue queues[CHANNEL_QUEUES];
	unsigned int n_queues;
	unsigned int turn; /* number of the queue whose burst is being written */
	bool is_open;      /* whether that burst has copies */
	int16_t dma;       /* number of the device for vhost */
	unsigned int lcore;
	struct channel_faults faults;
	struct channel_counts counts;
};

/* Makes a channel of a core, without queues; NULL without a dma_skeleton, or without memory. */
struct channel *channel_create(unsigned int lcore, const struct channel_faults *faults);

/* Opens a queue, which no other channel uses; negative errno. */
int channel_add(struct channel *channel, const char *name);

/* Closes all queues. */
void channel_close(struct channel *channel);

#endif
