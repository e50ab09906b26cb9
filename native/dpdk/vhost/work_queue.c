/* SPDX-License-Identifier: Apache-2.0 */
#include "work_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dmadev.h>

/* Opens a file of the device's driver, where DPDK's driver finds it. */
static FILE *
open_attribute(const char *object, const char *name)
{
	const char *folder = getenv("DSA_SYSFS_PATH");
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/%s",
		folder == NULL ? "/sys/bus/dsa/devices" : folder, object, name);
	return fopen(path, "r");
}

/* A number, or -1 if there is none. */
static int
read_number(const char *object, const char *name)
{
	FILE *file = open_attribute(object, name);
	int number = -1;

	if (file == NULL)
		return -1;
	if (fscanf(file, "%d", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

bool
work_queue_is_enabled(const struct work_queue *queue)
{
	unsigned int device, number;
	char object[32], state[32] = "";
	FILE *file;

	if (sscanf(queue->name, "wq%u.%u", &device, &number) != 2)
		return false;
	snprintf(object, sizeof(object), "dsa%u", device);
	file = open_attribute(object, "state");
	if (file == NULL)
		return false;
	if (fscanf(file, "%31s", state) != 1)
		state[0] = '\0';
	fclose(file);
	return strcmp(state, "enabled") == 0;
}

/* Engines of the group that a queue is in; 0 if the files do not say. */
static unsigned int
engines_of(const char *name)
{
	unsigned int device, queue, engines = 0;
	char group[64], word[64];
	FILE *file;

	if (sscanf(name, "wq%u.%u", &device, &queue) != 2)
		return 0;
	snprintf(group, sizeof(group), "group%u.%d", device, read_number(name, "group_id"));
	file = open_attribute(group, "engines");
	if (file == NULL)
		return 0;
	while (fscanf(file, "%63s", word) == 1)
		engines++;
	fclose(file);
	return engines;
}

/* Shares the entries of a queue between copies and probes. */
static void
share_entries(struct work_queue *queue)
{
	const int probes = WORK_QUEUE_PROBES * BATCHES_OF_A_PROBE;
	int size = read_number(queue->name, "size");

	queue->is_probed = engines_of(queue->name) == 1 && size > probes;
	queue->most_batches = WORK_QUEUE_BATCHES;
	if (queue->is_probed && size - probes < WORK_QUEUE_BATCHES)
		queue->most_batches = size - probes;
}

int
work_queue_set_up(struct work_queue *queue)
{
	const struct rte_dma_vchan_conf rings = {
		.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = WORK_QUEUE_PLACES,
	};
	int ret = rte_dma_vchan_setup(queue->dma, 0, &rings);

	return ret < 0 ? ret : rte_dma_start(queue->dma);
}

int
work_queue_start(struct work_queue *queue, int16_t dma)
{
	const struct rte_dma_conf device = { .nb_vchans = 1 };
	struct rte_dma_info info;
	int ret = rte_dma_info_get(dma, &info);

	if (ret < 0)
		return ret;
	memset(queue, 0, sizeof(*queue));
	queue->dma = dma;
	snprintf(queue->name, sizeof(queue->name), "%s", info.dev_name);
	share_entries(queue);
	ret = rte_dma_configure(dma, &device);
	return ret < 0 ? ret : work_queue_set_up(queue);
}

uint16_t
work_queue_room(const struct work_queue *queue)
{
	if (queue->state != QUEUE_WORKS ||
			queue->next_batch - queue->oldest_batch >= queue->most_batches)
		return 0;
	return rte_dma_burst_capacity(queue->dma, 0);
}

int
work_queue_copy(struct work_queue *queue, uint32_t place, const void *from, void *to,
	uint32_t bytes)
{
	int ret = rte_dma_copy(queue->dma, 0, (uintptr_t)from, (uintptr_t)to, bytes, 0);

	if (ret < 0)
		return ret;
	queue->places[queue->next++ % WORK_QUEUE_PLACES] = place;
	return 0;
}

void
work_queue_submit(struct work_queue *queue)
{
	if (queue->next == queue->submitted)
		return;
	if (work_queue_is_idle(queue))
		queue->looked = rte_rdtsc();
	queue->submitted = queue->next;
	queue->ends[queue->next_batch++ % RTE_DIM(queue->ends)] = queue->next;
	rte_dma_submit(queue->dma, 0);
}

bool
work_queue_is_idle(const struct work_queue *queue)
{
	return queue->oldest_batch == queue->next_batch;
}

/* Takes the oldest copy out; false if it was a probe. */
static bool
take_out(struct work_queue *queue, bool failed, struct ended *ended)
{
	*ended = (struct ended){ queue->places[queue->oldest++ % WORK_QUEUE_PLACES], failed };
	return ended->place != NO_PLACE;
}

/*
 * Setting it up again leaves the driver with the first batch of before: if the first one of now
 * fails, it reports as many copies as lie between the two. So that one copies a word, and its
 * status is read only when the word is there.
 */
static bool
was_tried(const struct work_queue *queue)
{
	return __atomic_load_n(&queue->trial.target[0], __ATOMIC_ACQUIRE) ==
		queue->trial.source[0];
}

/*
 * rte_dma_completed() would do without statuses only until a copy fails: it never passes a batch
 * whose statuses were not read. All of them are asked for at once, since the driver loses count in
 * a failed batch of which a part is read.
 */
uint16_t
work_queue_collect(struct work_queue *queue, struct ended *ended)
{
	enum rte_dma_status_code statuses[WORK_QUEUE_PLACES];
	uint16_t i, n, last, kept = 0;

	if (work_queue_is_idle(queue) || (queue->is_fresh && !was_tried(queue)))
		return 0;
	n = rte_dma_completed_status(queue->dma, 0, WORK_QUEUE_PLACES, &last, statuses);
	if (n == 0)
		return 0;
	queue->is_fresh = false;
	for (i = 0; i < n; i++) {
		bool failed = statuses[i] != RTE_DMA_STATUS_SUCCESSFUL;

		if (take_out(queue, failed, &ended[kept])) {
			queue->counts.failed += failed;
			kept++;
		}
	}
	while (!work_queue_is_idle(queue) && (int32_t)(queue->oldest -
			queue->ends[queue->oldest_batch % RTE_DIM(queue->ends)]) >= 0)
		queue->oldest_batch++;
	queue->looked = rte_rdtsc();
	return kept;
}
