/* SPDX-License-Identifier: Apache-2.0 */
#include "work_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dmadev.h>

/* Opens an attribute in sysfs, in the directory that DPDK's driver uses. */
static FILE *
open_attribute(const char *object, const char *name)
{
	const char *folder = getenv("DSA_SYSFS_PATH");
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/%s",
		folder == NULL ? "/sys/bus/dsa/devices" : folder, object, name);
	return fopen(path, "r");
}

/* Reads a number from an attribute; -1 if that fails. */
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

/* Number of engines in the group of a queue; 0 if it cannot be read. */
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

	queue->can_probe = engines_of(queue->name) == 1 && size > probes;
	queue->most_batches = WORK_QUEUE_BATCHES;
	if (queue->can_probe && size - probes < WORK_QUEUE_BATCHES)
		queue->most_batches = size - probes;
}

int
work_queue_set_up(struct work_queue *queue)
{
	const struct rte_dma_vchan_conf rings = {
		.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = WORK_QUEUE_SLOTS,
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
work_queue_copy(struct work_queue *queue, uint32_t slot, const void *from, void *to,
	uint32_t bytes)
{
	int ret = rte_dma_copy(queue->dma, 0, (uintptr_t)from, (uintptr_t)to, bytes, 0);

	if (ret < 0)
		return ret;
	queue->slots[queue->next++ % WORK_QUEUE_SLOTS] = slot;
	return 0;
}

void
work_queue_submit(struct work_queue *queue)
{
	if (queue->next == queue->submitted)
		return;
	if (work_queue_is_idle(queue))
		queue->last_progress = rte_rdtsc();
	queue->submitted = queue->next;
	queue->ends[queue->next_batch++ % RTE_DIM(queue->ends)] = queue->next;
	rte_dma_submit(queue->dma, 0);
}

bool
work_queue_is_idle(const struct work_queue *queue)
{
	return queue->oldest_batch == queue->next_batch;
}

/* Removes the oldest copy; false if it belongs to a probe. */
static bool
take_out(struct work_queue *queue, bool failed, struct ended_copy *ended)
{
	*ended = (struct ended_copy){ queue->slots[queue->oldest++ % WORK_QUEUE_SLOTS], failed };
	return ended->slot != NO_SLOT;
}

/*
 * After a restart the driver still has the first batch of before: if the first new batch fails, it
 * reports as many copies as lie between the two. So the first new batch copies one word, and its
 * status is read only after the word has been written.
 */
static bool
trial_has_ended(const struct work_queue *queue)
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
work_queue_collect(struct work_queue *queue, struct ended_copy *ended)
{
	enum rte_dma_status_code statuses[WORK_QUEUE_SLOTS];
	uint16_t i, n, last, kept = 0;

	if (work_queue_is_idle(queue) || (queue->was_restarted && !trial_has_ended(queue)))
		return 0;
	n = rte_dma_completed_status(queue->dma, 0, WORK_QUEUE_SLOTS, &last, statuses);
	if (n == 0)
		return 0;
	queue->was_restarted = false;
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
	queue->last_progress = rte_rdtsc();
	return kept;
}
