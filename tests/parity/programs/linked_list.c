/* Follows a list whose nodes are in random order: each load depends on the one before. */
#include "freestanding.h"

enum { NODES = 300, ROUNDS = 12 };

static struct node {
	struct node *next;
	u64 visits;
	u64 payload[6];
} nodes[NODES] __attribute__((aligned(64)));

static long order[NODES];

static int run(void)
{
	struct node *at = nodes;

	for (long i = 0; i < NODES; i++)
		order[i] = i;
	for (long i = NODES - 1; i > 0; i--) {
		long j = random_number() % (i + 1), swapped = order[i];

		order[i] = order[j];
		order[j] = swapped;
	}
	for (long i = 0; i < NODES; i++)
		nodes[order[i]].next = &nodes[order[(i + 1) % NODES]];
	for (long i = 0; i < (long)NODES * ROUNDS; i++) {
		at->visits++;
		at = at->next;
	}
	for (long i = 0; i < NODES; i++)
		if (nodes[i].visits != ROUNDS)
			return 1;
	return 0;
}
