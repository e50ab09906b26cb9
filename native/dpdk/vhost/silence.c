/* SPDX-License-Identifier: Apache-2.0 */
#include "silence.h"

#include <rte_cycles.h>
#include <rte_dmadev.h>

#define PATIENCE_MS 5
/* Each probe is waited for so many times as long as the one before it: most are only late. */
#define PATIENCE_GROWS 4
/* Probes until it is asked whether the device is on at all. */
#define PROBES_OF_A_DEVICE 2
/* Without an answer to any probe of a device that is said to be on. */
#define GONE_MS 30000

static bool
is_over(uint64_t since, unsigned int milliseconds)
{
	return rte_rdtsc() - since > rte_get_tsc_hz() / 1000 * milliseconds;
}

/* A copy of one word of a probe; the last one of a batch submits it. */
static bool
copy_word(struct work_queue *queue, struct probe *probe, unsigned int word, uint64_t flags)
{
	probe->source[word] = queue->counts.probes;
	if (rte_dma_copy(queue->dma, 0, (uintptr_t)&probe->source[word],
			(uintptr_t)&probe->target[word], sizeof(probe->source[word]), flags) < 0)
		return false;
	queue->places[queue->next++ % WORK_QUEUE_PLACES] = NO_PLACE;
	if (flags & RTE_DMA_OP_FLAG_SUBMIT) {
		queue->submitted = queue->next;
		queue->ends[queue->next_batch++ % RTE_DIM(queue->ends)] = queue->next;
	}
	return true;
}

/* Each probe under way has words of its own, and a number that no other had. */
static void
send_probe(struct work_queue *queue)
{
	struct probe *probe = &queue->probe[queue->probes++];

	queue->counts.probes++;
	queue->answered = 0;
	queue->looked = rte_rdtsc();
	if (copy_word(queue, probe, 0, RTE_DMA_OP_FLAG_SUBMIT) && copy_word(queue, probe, 1, 0))
		copy_word(queue, probe, 2, RTE_DMA_OP_FLAG_SUBMIT);
}

/* The last one is the newest descriptor of the queue; one that was started again has none yet. */
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

/* How long the last probe, or the oldest batch, is waited for. */
static unsigned int
patience_ms(const struct work_queue *queue)
{
	unsigned int milliseconds = PATIENCE_MS, i;

	for (i = 0; i < queue->probes; i++)
		milliseconds *= PATIENCE_GROWS;
	return milliseconds;
}

/* Records are in no order: they get some time after the words of the last probe are there. */
static bool
had_time_for_records(struct work_queue *queue)
{
	if (queue->answered == 0)
		queue->answered = rte_rdtsc();
	return is_over(queue->answered, PATIENCE_MS) && is_over(queue->looked, PATIENCE_MS);
}

enum silence
silence_look(struct work_queue *queue)
{
	if (work_queue_is_idle(queue)) {
		if (queue->state == QUEUE_IS_PROBED) {
			queue->state = QUEUE_WORKS;
			queue->probes = 0;
		}
		return NOT_SILENT;
	}
	if (!queue->is_probed)
		return NOT_SILENT;
	if (last_probe_is_answered(queue))
		return had_time_for_records(queue) ? BATCH_WAS_LOST : NOT_SILENT;
	if (!is_over(queue->looked, patience_ms(queue)))
		return NOT_SILENT;
	if (queue->probes == WORK_QUEUE_PROBES)
		return is_over(queue->looked, GONE_MS) ? DEVICE_TAKES_NOTHING : NOT_SILENT;
	if (queue->probes >= PROBES_OF_A_DEVICE && !work_queue_is_enabled(queue))
		return DEVICE_TAKES_NOTHING;
	queue->state = QUEUE_IS_PROBED;
	send_probe(queue);
	return NOT_SILENT;
}

/* The first batch of a queue that was started again (work_queue.c). */
static void
try(struct work_queue *queue)
{
	queue->counts.probes++;
	queue->looked = rte_rdtsc();
	queue->is_fresh = true;
	copy_word(queue, &queue->trial, 0, RTE_DMA_OP_FLAG_SUBMIT);
}

uint16_t
silence_end(struct work_queue *queue, enum silence silence, struct ended *ended)
{
	uint16_t kept = 0;

	for (; queue->oldest != queue->next; queue->oldest++) {
		ended[kept].place = queue->places[queue->oldest % WORK_QUEUE_PLACES];
		ended[kept].failed = true;
		kept += ended[kept].place != NO_PLACE;
	}
	queue->counts.lost += kept;
	queue->submitted = queue->next;
	queue->oldest_batch = queue->next_batch;
	queue->probes = 0;
	rte_dma_stop(queue->dma);
	queue->state = QUEUE_IS_PROBED;
	/* The driver's rings stay as they are if the device may still write to them. */
	if (silence == DEVICE_TAKES_NOTHING || work_queue_set_up(queue) < 0) {
		queue->state = QUEUE_IS_GONE;
	} else {
		queue->counts.restarts++;
		try(queue);
	}
	return kept;
}
