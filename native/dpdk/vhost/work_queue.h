/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A work queue of a DSA, by DPDK's idxd driver: batches of copies, and the status of each copy.
 *
 * The driver keeps its batches in the order of submission, and reports none before the earlier ones
 * have ended. A batch that the device never took (a posted write that was lost) therefore hides all
 * later ones: lost_batch.h detects it, and restarts the queue.
 */
#ifndef VHOST_WORK_QUEUE_H
#define VHOST_WORK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptors of the driver's ring. */
#define WORK_QUEUE_SLOTS 1024
/*
 * Most batches under way, of the 16 that a queue of the usual size takes; the rest is for probes.
 */
#define WORK_QUEUE_BATCHES 8
#define WORK_QUEUE_PROBES 4
#define BATCHES_OF_A_PROBE 2

/* The slot of a copy that belongs to a probe, and not to the switch. */
#define NO_SLOT UINT32_MAX

enum work_queue_state {
	QUEUE_WORKS,
	/* takes no copies until the oldest batch has ended, or is known to be lost */
	QUEUE_IS_PROBED,
	QUEUE_IS_GONE,   /* for good: the device is off */
};

/* A copy that has ended. */
struct ended_copy {
	uint32_t slot;
	bool failed;
};

struct work_queue_counts {
	uint64_t batches;
	uint64_t copies;
	uint64_t failed;   /* copies that the device reported as failed, or did not attempt */
	uint64_t lost;     /* copies in batches that the device never took, and in later ones */
	uint64_t restarts; /* of the queue, after such batches */
	uint64_t probes;
};

struct probe {
	uint64_t source[3];
	uint64_t target[3]; /* the device copies the source to it */
};

struct work_queue {
	int16_t dma;
	char name[32];
	unsigned int most_batches;
	bool can_probe;   /* whether its group has one engine, and it has entries for probes */
	enum work_queue_state state;
	/* slots of the copies under way, in order of submission */
	uint32_t slots[WORK_QUEUE_SLOTS];
	uint32_t oldest, next;              /* indices in `slots`, which only grow */
	uint32_t submitted;                 /* `next` at the last submission */
	/* ends of the batches under way, as indices in `slots` */
	uint32_t ends[16];
	uint32_t oldest_batch, next_batch;
	/* TSC of the last end of a copy, or of the last probe */
	uint64_t last_progress;
	unsigned int probes;                /* probes under way */
	struct probe probe[WORK_QUEUE_PROBES];
	/* TSC when the answer to the last probe was seen; 0: not yet */
	uint64_t answered_at;
	/* whether the first batch after a restart was not read yet */
	bool was_restarted;
	struct probe trial;                 /* the first batch after a restart */
	struct work_queue_counts counts;
};

/* Configures and starts the queue of a DMA device; negative errno. */
int work_queue_start(struct work_queue *queue, int16_t dma);

/* Number of copies that fit into the batch that is being written. */
uint16_t work_queue_room(const struct work_queue *queue);

/* Adds a copy to the batch that is being written, which has to have room. Negative errno. */
int work_queue_copy(struct work_queue *queue, uint32_t slot, const void *from, void *to,
	uint32_t bytes);

/* Submits the batch that is being written. */
void work_queue_submit(struct work_queue *queue);

/* Whether the kernel's driver reports the device as enabled; a device that halts is not. */
bool work_queue_is_enabled(const struct work_queue *queue);

/* Whether no batch is under way. */
bool work_queue_is_idle(const struct work_queue *queue);

/* Collects the copies that have ended, at most WORK_QUEUE_SLOTS, without those of probes. */
uint16_t work_queue_collect(struct work_queue *queue, struct ended_copy *ended);

/* Sets up the rings of the driver, and starts the device. Negative errno. */
int work_queue_set_up(struct work_queue *queue);

#endif
