/* SPDX-License-Identifier: Apache-2.0 */
#include "device_queue.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
fail(const char *name, int error)
{
	fprintf(stderr, "error: %s: %s\n", name, skd_error_text());
	return error;
}

bool
device_queue_find(uint32_t *number, skd_queue *found)
{
	*found = skd_queue_new();
	for (; skd_queue_of_system(*number, found) == 0; ++*number)
		if (found->mode == SKD_DEDICATED && strncmp(found->label, "dpdk_", 5) == 0)
			return true;
	return false;
}

static void
look(struct device_queue *queue)
{
	skd_ring_status status = skd_ring_status_new();

	queue->room = skd_ring_room(queue->ring);
	if (queue->room == 0 && skd_ring_get_status(queue->ring, &status) == 0)
		queue->is_gone = status.is_gone;
}

int
device_queue_open(struct device_queue *queue, const char *name)
{
	skd_ring_status status = skd_ring_status_new();
	int ret;

	memset(queue, 0, sizeof(*queue));
	snprintf(queue->name, sizeof(queue->name), "%s", name);
	ret = skd_ring_open(name, DEVICE_QUEUE_BURSTS, DEVICE_QUEUE_COPIES, &queue->ring);
	if (ret < 0)
		return fail(name, ret);
	ret = skd_ring_get_status(queue->ring, &status);
	if (ret < 0) {
		skd_ring_close(queue->ring);
		return fail(name, ret);
	}
	queue->most_copies = status.most_copies;
	look(queue);
	queue->most_bursts = queue->room;
	return 0;
}

void
device_queue_close(struct device_queue *queue)
{
	skd_ring_close(queue->ring);
}

uint16_t
device_queue_room(const struct device_queue *queue)
{
	return queue->room > 0 ? queue->most_copies - queue->n_copies : 0;
}

void
device_queue_copy(struct device_queue *queue, uint32_t slot, const void *from, void *to,
	uint32_t bytes)
{
	queue->copies[queue->n_copies++] = (skd_ring_copy){
		.source = from, .destination = to, .bytes = bytes, .tag = slot };
}

int
device_queue_submit(struct device_queue *queue)
{
	int ret = skd_ring_submit(queue->ring, queue->copies, queue->n_copies);

	if (ret == 0)
		queue->n_copies = 0;
	look(queue);
	return ret;
}

uint16_t
device_queue_collect(struct device_queue *queue, skd_ring_end *ended)
{
	int n;

	if (queue->room == queue->most_bursts)
		return 0;
	n = skd_ring_poll(queue->ring, ended, DEVICE_QUEUE_COPIES);
	if (n != 0 || queue->room == 0)
		look(queue);
	return n > 0 ? n : 0;
}
