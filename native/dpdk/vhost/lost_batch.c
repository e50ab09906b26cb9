/* SPDX-License-Identifier: Apache-2.0 */
#include "lost_batch.h"

#include <rte_cycles.h>
#include <rte_dmadev.h>

#define PATIENCE_MS 5
/*
 * Each probe is waited for so many times as long as the one before it: most queues are only late.
 */
#define PATIENCE_GROWS 4
/* Probes without an answer until the state of the device is read. */
#define PROBES_BEFORE_STATE 2
/* A device that reports to be on, but answers no probe for so long, counts as off. */
#define GONE_MS 30000

static bool
is_over(uint64_t since, unsigned int milliseconds)
{
	return rte_rdtsc() - since > rte_get_tsc_hz() / 1000 * milliseconds;
}

/* Adds a copy of one word of a probe to a batch; the flags of the last one submit the batch. */
static bool
copy_word(struct work_queue *queue, struct probe *probe, unsigned int word, uint64_t flags)
{
	probe->source[word] = queue->counts.probes;
	if (rte_dma_copy(queue->dma, 0, (uintptr_t)&probe->source[word],
			(uintptr_t)&probe->target[word], sizeof(probe->source[word]), flags) < 0)
		return false;
	queue->slots[queue->next++ % WORK_QUEUE_SLOTS] = NO_SLOT;
	if (flags & RTE_DMA_OP_FLAG_SUBMIT) {
		queue->submitted = queue->next;
		queue->ends[queue->next_batch++ % RTE_DIM(queue->ends)] = queue->next;
	}
	return true;
}

/* Sends a probe. Each probe under way has its own words, and a number that no earlier one had. */
static void
send_probe(struct work_queue *queue)
{
	struct probe *probe = &queue->probe[queue->probes++];

	queue->counts.probes++;
	queue->answered_at = 0;
	queue->last_progress = rte_rdtsc();
	if (copy_word(queue, probe, 0, RTE_DMA_OP_FLAG_SUBMIT) && copy_word(queue, probe, 1, 0))
		copy_word(queue, probe, 2, RTE_DMA_OP_FLAG_SUBMIT);
}

/* The last probe is the newest descriptor of the queue. A queue that was restarted has none yet. */
static bool
last_probe_is_answered(const struct work_queue *queue)
{
	const struct probe *probe;
	unsigned int word;

	if (queue->probes == 0)
		return false;
	probe = &queue->probe[queue->probes - 1];
	for (word = 0; word < RTE_DIM(probe->target); word++)
		if (__atomic_load_n(&probe->target[word], __ATOMIC_ACQUIRE) != probe->source[word])
			return false;
	return true;
}

/* The time for which the last probe, or the oldest batch, is waited for. */
static unsigned int
patience_ms(const struct work_queue *queue)
{
	unsigned int milliseconds = PATIENCE_MS, i;

	for (i = 0; i < queue->probes; i++)
		milliseconds *= PATIENCE_GROWS;
	return milliseconds;
}

/* Records are written in no order: they get some time after the words of the last probe. */
static bool
had_time_for_records(struct work_queue *queue)
{
	if (queue->answered_at == 0)
		queue->answered_at = rte_rdtsc();
	return is_over(queue->answered_at, PATIENCE_MS) &&
		is_over(queue->last_progress, PATIENCE_MS);
}

enum batch_loss
lost_batch_check(struct work_queue *queue)
{
	if (work_queue_is_idle(queue)) {
		if (queue->state == QUEUE_IS_PROBED) {
			queue->state = QUEUE_WORKS;
			queue->probes = 0;
		}
		return NO_LOSS;
	}
	if (!queue->can_probe)
		return NO_LOSS;
	if (last_probe_is_answered(queue))
		return had_time_for_records(queue) ? BATCH_IS_LOST : NO_LOSS;
	if (!is_over(queue->last_progress, patience_ms(queue)))
		return NO_LOSS;
	if (queue->probes == WORK_QUEUE_PROBES)
		return is_over(queue->last_progress, GONE_MS) ? DEVICE_IS_OFF : NO_LOSS;
	if (queue->probes >= PROBES_BEFORE_STATE && !work_queue_is_enabled(queue))
		return DEVICE_IS_OFF;
	queue->state = QUEUE_IS_PROBED;
	send_probe(queue);
	return NO_LOSS;
}

/* Sends the first batch of a queue that was restarted (work_queue.c says why). */
static void
send_trial(struct work_queue *queue)
{
	queue->counts.probes++;
	queue->last_progress = rte_rdtsc();
	queue->was_restarted = true;
	copy_word(queue, &queue->trial, 0, RTE_DMA_OP_FLAG_SUBMIT);
}

uint16_t
lost_batch_recover(struct work_queue *queue, enum batch_loss loss,
	struct ended_copy *ended)
{
	uint16_t kept = 0;

	for (; queue->oldest != queue->next; queue->oldest++) {
		ended[kept].slot = queue->slots[queue->oldest % WORK_QUEUE_SLOTS];
		ended[kept].failed = true;
		kept += ended[kept].slot != NO_SLOT;
	}
	queue->counts.lost += kept;
	queue->submitted = queue->next;
	queue->oldest_batch = queue->next_batch;
	queue->probes = 0;
	rte_dma_stop(queue->dma);
	queue->state = QUEUE_IS_PROBED;
	/* The driver's rings stay as they are if the device may still write to them. */
	if (loss == DEVICE_IS_OFF || work_queue_set_up(queue) < 0) {
		queue->state = QUEUE_IS_GONE;
	} else {
		queue->counts.restarts++;
		send_trial(queue);
	}
	return kept;
}
