/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A work queue of a DSA, by DPDK's idxd driver: batches of copies, and how each copy ended.
 *
 * The driver keeps its batches in the order of submission and shows none before the one ahead of it
 * has ended. A batch that the device never took (a posted write that was lost) therefore hides all
 * behind it: silence.h finds out, and starts the queue again.
 */
#ifndef VHOST_WORK_QUEUE_H
#define VHOST_WORK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptors of the driver's ring. */
#define WORK_QUEUE_PLACES 1024
/* Batches under way, of the 16 that a queue of the usual size takes; the rest is for probes. */
#define WORK_QUEUE_BATCHES 8
#define WORK_QUEUE_PROBES 4
#define BATCHES_OF_A_PROBE 2

/* What a copy's place is if it is none of the switch: a probe. */
#define NO_PLACE UINT32_MAX

enum work_queue_state {
	QUEUE_WORKS,
	QUEUE_IS_PROBED, /* takes no copies until it is known what became of the oldest batch */
	QUEUE_IS_GONE,   /* for good: the device takes nothing */
};

/* A copy that has ended. */
struct ended {
	uint32_t place;
	bool failed;
};

struct work_queue_counts {
	uint64_t batches;
	uint64_t copies;
	uint64_t failed;   /* copies that the device reported as such, or did not attempt */
	uint64_t lost;     /* copies in and behind batches that the device never took */
	uint64_t restarts; /* after such batches */
	uint64_t probes;
};

struct probe {
	uint64_t source[3];
	uint64_t target[3]; /* the device makes it the source */
};

struct work_queue {
	int16_t dma;
	char name[32];
	unsigned int most_batches;
	bool is_probed;   /* its group has one engine, and it has entries for probes */
	enum work_queue_state state;
	uint32_t places[WORK_QUEUE_PLACES]; /* of the copies under way, in order of submission */
	uint32_t oldest, next;              /* in `places`, counted without end */
	uint32_t submitted;                 /* `next` at the last submission */
	uint32_t ends[16];                  /* of the batches under way, in `places` */
	uint32_t oldest_batch, next_batch;
	uint64_t looked;                    /* TSC when one had ended, or the last probe left */
	unsigned int probes;                /* under way */
	struct probe probe[WORK_QUEUE_PROBES];
	uint64_t answered;                  /* TSC when the last one was seen to be; 0: not yet */
	bool is_fresh;                      /* started again; its first batch was not read yet */
	struct probe trial;                 /* that batch */
	struct work_queue_counts counts;
};

/* Configures and starts the queue of a DMA device; negative errno. */
int work_queue_start(struct work_queue *queue, int16_t dma);

/* Copies that fit into the batch that is being written. */
uint16_t work_queue_room(const struct work_queue *queue);

/* Adds a copy to the batch that is being written; there has to be room. */
int work_queue_copy(struct work_queue *queue, uint32_t place, const void *from, void *to,
	uint32_t bytes);

void work_queue_submit(struct work_queue *queue);

/* Whether the kernel's driver has its device on; a device that halts is off. */
bool work_queue_is_enabled(const struct work_queue *queue);

bool work_queue_is_idle(const struct work_queue *queue);

/* What has ended since, at most WORK_QUEUE_PLACES; probes are left out. */
uint16_t work_queue_collect(struct work_queue *queue, struct ended *ended);

/* Sets the driver's rings up and starts the device; negative errno. */
int work_queue_set_up(struct work_queue *queue);

#endif
