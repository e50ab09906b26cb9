/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reordering array: copies are entered in the order of their packets, end in any order on
 * several queues, and are released in the order in which they were entered.
 *
 * Slots are numbered as dmadev numbers the operations of a device: from 0 to 65535, then from 0
 * again.
 */
#ifndef VHOST_REORDER_H
#define VHOST_REORDER_H

#include <stdbool.h>
#include <stdint.h>

/* At least what three queues of DPDK's default sizes have under way; a power of two. */
#define REORDER_SLOTS 4096

struct reorder {
	uint16_t oldest; /* slot that is not released yet */
	uint16_t next;   /* slot of the next copy */
	bool ended[REORDER_SLOTS];
};

void reorder_clear(struct reorder *order);

/* Number of copies that may be entered now. */
uint16_t reorder_room(const struct reorder *order);

/* Enters a copy and returns its slot. The array has to have room. */
uint16_t reorder_enter(struct reorder *order);

/* Marks the copy of a slot as ended. */
void reorder_end(struct reorder *order, uint16_t slot);

/* Releases the oldest copies, up to the first that has not ended, and returns their number. */
uint16_t reorder_release(struct reorder *order, uint16_t most);

/* The slot that was released last. */
uint16_t reorder_last(const struct reorder *order);

#endif
