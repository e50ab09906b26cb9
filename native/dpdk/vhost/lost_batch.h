/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection of lost batches: a batch that does not end is late, or the device has never taken it.
 *
 * Only a later descriptor can show which: in a group of one engine, writes of descriptors of the
 * same queue and of the same kind, single or batch, are in order (specification 341204, section
 * 3.9). A queue without progress therefore gets no more copies but a probe: a single copy, and a
 * batch of two. Once the device has written the words of the last probe, no older descriptor writes
 * any more; a batch without a status a moment later was lost.
 */
#ifndef VHOST_LOST_BATCH_H
#define VHOST_LOST_BATCH_H

#include "work_queue.h"

enum batch_loss {
	NO_LOSS,
	BATCH_IS_LOST, /* and no copy that is under way will ever be done */
	DEVICE_IS_OFF,
};

/* Checks a queue in which no copy has ended since the last check. */
enum batch_loss lost_batch_check(struct work_queue *queue);

/*
 * Ends all copies under way as failed, and restarts the queue; a device that is off gets no copies
 * any more. Returns the number of ended copies.
 */
uint16_t lost_batch_recover(struct work_queue *queue, enum batch_loss loss,
	struct ended_copy *ended);

#endif
