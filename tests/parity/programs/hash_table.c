/* Counts keys in a table with open addressing: random loads, and modifications in place. */
#include "freestanding.h"

enum { SLOTS = 1 << 10, KEYS = 700, OPERATIONS = 4000 };

static struct {
	u64 key, count;
} slots[SLOTS];

static u64 find(u64 key)
{
	u64 slot = key * 0x9E3779B97F4A7C15UL >> 54;

	while (slots[slot].key != key && slots[slot].key)
		slot = (slot + 1) % SLOTS;
	return slot;
}

static int run(void)
{
	u64 counted = 0;

	for (int i = 0; i < OPERATIONS; i++) {
		u64 key = random_number() % KEYS + 1, slot = find(key);

		if (!slots[slot].key)
			slots[slot].key = key;
		slots[slot].count++;
	}
	for (int i = 0; i < SLOTS; i++)
		counted += slots[i].count;
	return counted != OPERATIONS;
}
