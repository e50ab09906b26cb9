/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reordering array: copies are entered in the order of their packets, end in any order on
 * several queues, and are released in the order in which they were entered.
 *
 * Places are numbered as dmadev numbers the operations of a device: 0 to 65535, then 0 again.
 */
#ifndef VHOST_REORDER_H
#define VHOST_REORDER_H

#include <stdbool.h>
#include <stdint.h>

/* At least what three queues of DPDK's default sizes have under way; a power of two. */
#define REORDER_PLACES 4096

struct reorder {
	uint16_t oldest; /* that is not released */
	uint16_t next;   /* that will be entered */
	bool ended[REORDER_PLACES];
};

void reorder_clear(struct reorder *order);

/* How many may be entered now. */
uint16_t reorder_room(const struct reorder *order);

/* Enters one and returns its place. There has to be room. */
uint16_t reorder_enter(struct reorder *order);

/* Notes that the one of a place has ended. */
void reorder_end(struct reorder *order, uint16_t place);

/* Releases the oldest ones that have ended, all of which are older than any that has not. */
uint16_t reorder_release(struct reorder *order, uint16_t most);

/* The last place that was released. */
uint16_t reorder_last(const struct reorder *order);

#endif
