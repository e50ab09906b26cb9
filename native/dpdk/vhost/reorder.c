/* SPDX-License-Identifier: Apache-2.0 */
#include "reorder.h"

#include <string.h>

static uint16_t
under_way(const struct reorder *order)
{
	return order->next - order->oldest;
}

void
reorder_clear(struct reorder *order)
{
	memset(order, 0, sizeof(*order));
}

uint16_t
reorder_room(const struct reorder *order)
{
	return REORDER_SLOTS - under_way(order);
}

uint16_t
reorder_enter(struct reorder *order)
{
	order->ended[order->next % REORDER_SLOTS] = false;
	return order->next++;
}

void
reorder_end(struct reorder *order, uint16_t slot)
{
	order->ended[slot % REORDER_SLOTS] = true;
}

uint16_t
reorder_release(struct reorder *order, uint16_t most)
{
	uint16_t released = 0;

	while (released < most && order->oldest != order->next &&
			order->ended[order->oldest % REORDER_SLOTS]) {
		order->oldest++;
		released++;
	}
	return released;
}

uint16_t
reorder_last(const struct reorder *order)
{
	return order->oldest - 1;
}
