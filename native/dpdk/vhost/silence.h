/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of a batch that does not end.
 *
 * It is late, or the device has never taken it. Only a later descriptor tells: in a group of one
 * engine, writes of descriptors of the same queue and of the same kind, single or batch, are in
 * order (specification 341204, section 3.9). A silent queue therefore gets no more copies but a
 * probe, a single copy and a batch of two. Once the device has written what the last probe says,
 * nothing that is older writes any more; what has no status a moment later was lost.
 */
#ifndef VHOST_SILENCE_H
#define VHOST_SILENCE_H

#include "work_queue.h"

enum silence {
	NOT_SILENT,
	BATCH_WAS_LOST, /* and nothing that is under way will be done any more */
	DEVICE_TAKES_NOTHING,
};

/* Looks at a queue of which nothing has ended just now. */
enum silence silence_look(struct work_queue *queue);

/*
 * Gives up all copies under way, as failed, and starts the queue again; a device that takes nothing
 * gets nothing any more.
 */
uint16_t silence_end(struct work_queue *queue, enum silence silence, struct ended *ended);

#endif
