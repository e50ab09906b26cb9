/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A work queue of a DSA, by libskipline_dsa: the burst of copies that is being written, and those
 * that the library has submitted. The library finds out which bursts were lost.
 */
#ifndef VHOST_DEVICE_QUEUE_H
#define VHOST_DEVICE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <skipline_dsa.h>

/* Most copies of a burst, and most bursts under way. */
#define DEVICE_QUEUE_COPIES 64
#define DEVICE_QUEUE_BURSTS 8

struct device_queue {
	char name[24];
	skd_ring *ring;
	skd_ring_copy copies[DEVICE_QUEUE_COPIES]; /* the burst that is being written */
	uint32_t n_copies;
	uint32_t most_copies;
	int most_bursts;
	int room; /* bursts that may be submitted, as of the last call */
	bool is_gone;
};

/*
 * Finds the next dedicated queue whose label begins with `dpdk_`, from a number of the system's
 * queues on; false after the last one.
 */
bool device_queue_find(uint32_t *number, skd_queue *found);

/* Opens a queue; negative errno, with a line on stderr. */
int device_queue_open(struct device_queue *queue, const char *name);

void device_queue_close(struct device_queue *queue);

/* Number of copies that fit into the burst that is being written. */
uint16_t device_queue_room(const struct device_queue *queue);

/* Adds a copy to the burst that is being written, which has to have room. */
void device_queue_copy(struct device_queue *queue, uint32_t slot, const void *from, void *to,
	uint32_t bytes);

/* Submits the burst that is being written. Negative errno if the queue has not taken it. */
int device_queue_submit(struct device_queue *queue);

/* Collects copies that have ended, at most DEVICE_QUEUE_COPIES. */
uint16_t device_queue_collect(struct device_queue *queue, skd_ring_end *ended);

#endif
