/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_dmadev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

static void
copy_by_core(struct channel *channel, uint16_t slot)
{
	const struct copy *copy = &channel->copies[slot % REORDER_SLOTS];

	memcpy(copy->to, copy->from, copy->bytes);
	channel->counts.by_core++;
}

/* The queue of the open burst, or the next one that has room; NULL if none has. */
static struct device_queue *
queue_with_room(struct channel *channel)
{
	unsigned int i;

	for (i = 0; i < channel->n_queues && !channel->is_open; i++) {
		if (device_queue_room(&channel->queues[channel->turn]) > 0)
			break;
		channel->turn = (channel->turn + 1) % channel->n_queues;
	}
	return device_queue_room(&channel->queues[channel->turn]) > 0 ?
		&channel->queues[channel->turn] : NULL;
}

static bool
all_queues_are_gone(const struct channel *channel)
{
	unsigned int i;

	for (i = 0; i < channel->n_queues; i++)
		if (!channel->queues[i].is_gone)
			return false;
	return true;
}

static uint16_t
room(const void *private, uint16_t vchan __rte_unused)
{
	/* DPDK's functions of this type take a constant; callers cannot see the turn. */
	struct channel *channel = (struct channel *)(uintptr_t)private;
	struct device_queue *queue = queue_with_room(channel);
	uint16_t slots = reorder_room(&channel->order);

	if (queue == NULL)
		return all_queues_are_gone(channel) ? slots : 0;
	return RTE_MIN(slots, device_queue_room(queue));
}

static void
mark_ended(struct channel *channel, const skd_ring_end *ended, uint16_t n)
{
	struct reorder *order = &channel->order;
	uint16_t i, slot;

	for (i = 0; i < n; i++) {
		slot = ended[i].tag;
		if (ended[i].has_failed && !channel->faults.passes_failed)
			copy_by_core(channel, slot);
		if (slot != order->oldest && !order->ended[(uint16_t)(slot - 1) % REORDER_SLOTS])
			channel->counts.overtakes++;
		reorder_end(order, slot);
	}
	channel->ended += n;
}

/* vhost calls room() before this function. */
static int
copy(void *private, uint16_t vchan __rte_unused, rte_iova_t from, rte_iova_t to, uint32_t bytes,
	uint64_t flags __rte_unused)
{
	struct channel *channel = private;
	struct device_queue *queue = queue_with_room(channel);
	uint16_t slot = channel->order.next;
	struct copy *copy = &channel->copies[slot % REORDER_SLOTS];

	if (reorder_room(&channel->order) == 0 || (queue == NULL && !all_queues_are_gone(channel)))
		return -ENOSPC;
	/* Virtual addresses: main.c checks that EAL uses them. */
	*copy = (struct copy){ (const void *)(uintptr_t)from, (void *)(uintptr_t)to, bytes };
	if (queue != NULL) {
		device_queue_copy(queue, slot, copy->from, copy->to, bytes);
		channel->is_open = true;
		return reorder_enter(&channel->order);
	}
	reorder_enter(&channel->order);
	copy_by_core(channel, slot);
	mark_ended(channel, &(skd_ring_end){ .tag = slot }, 1);
	return slot;
}

/* The core copies a burst that its queue has not taken. */
static void
copy_burst(struct channel *channel, struct device_queue *queue)
{
	uint32_t i;

	for (i = 0; i < queue->n_copies; i++)
		mark_ended(channel, &(skd_ring_end){ queue->copies[i].tag, true }, 1);
	queue->n_copies = 0;
}

static int
submit(void *private, uint16_t vchan __rte_unused)
{
	struct channel *channel = private;
	struct device_queue *queue = &channel->queues[channel->turn];

	if (!channel->is_open)
		return 0;
	channel->counts.foreign += rte_lcore_id() != channel->lcore;
	if (device_queue_submit(queue) < 0)
		copy_burst(channel, queue);
	channel->is_open = false;
	channel->turn = (channel->turn + 1) % channel->n_queues;
	return 0;
}

static void
collect(struct channel *channel, struct device_queue *queue)
{
	skd_ring_end ended[DEVICE_QUEUE_COPIES];
	uint16_t n;

	do {
		n = device_queue_collect(queue, ended);
		mark_ended(channel, ended, n);
	} while (n > 0);
}

static uint16_t
completed(void *private, uint16_t vchan __rte_unused, const uint16_t most, uint16_t *last,
	bool *has_error)
{
	struct channel *channel = private;
	unsigned int i;
	uint16_t n;

	for (i = 0; i < channel->n_queues; i++)
		collect(channel, &channel->queues[i]);
	if (channel->faults.releases_any) {
		n = RTE_MIN(channel->ended, most);
		channel->order.oldest += n;
	} else {
		n = reorder_release(&channel->order, most);
	}
	channel->ended -= n;
	*last = reorder_last(&channel->order);
	*has_error = false;
	return n;
}

/* Makes a dma_skeleton, DPDK's device without hardware; -1 if that fails. */
static int
create_skeleton(unsigned int lcore)
{
	char name[32];

	snprintf(name, sizeof(name), "dma_skeleton_%u", lcore);
	if (rte_eal_hotplug_add("vdev", name, "") < 0)
		return -1;
	return rte_dma_get_dev_id_by_name(name);
}

struct channel *
channel_create(unsigned int lcore, const struct channel_faults *faults)
{
	struct channel *channel = rte_zmalloc("channel", sizeof(*channel), RTE_CACHE_LINE_SIZE);
	int dma = create_skeleton(lcore);

	if (channel == NULL || dma < 0) {
		rte_free(channel);
		return NULL;
	}
	reorder_clear(&channel->order);
	channel->dma = dma;
	channel->lcore = lcore;
	channel->faults = *faults;
	rte_dma_fp_objs[dma] = (struct rte_dma_fp_object){
		.dev_private = channel,
		.copy = copy,
		.submit = submit,
		.completed = completed,
		.burst_capacity = room,
	};
	return channel;
}

int
channel_add(struct channel *channel, const char *name)
{
	int ret = -ENOSPC;

	if (channel->n_queues < CHANNEL_QUEUES)
		ret = device_queue_open(&channel->queues[channel->n_queues], name);
	channel->n_queues += ret == 0;
	return ret;
}

void
channel_close(struct channel *channel)
{
	unsigned int i;

	for (i = 0; i < channel->n_queues; i++)
		device_queue_close(&channel->queues[i]);
}
