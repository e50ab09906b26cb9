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
	return REORDER_PLACES - under_way(order);
}

uint16_t
reorder_enter(struct reorder *order)
{
	order->ended[order->next % REORDER_PLACES] = false;
	return order->next++;
}

void
reorder_end(struct reorder *order, uint16_t place)
{
	order->ended[place % REORDER_PLACES] = true;
}

uint16_t
reorder_release(struct reorder *order, uint16_t most)
{
	uint16_t released = 0;

	while (released < most && order->oldest != order->next &&
			order->ended[order->oldest % REORDER_PLACES]) {
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
