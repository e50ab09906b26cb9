/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets whose buffers move: any object is for any core, and when a core gets it, its buffer is
 * shifted by whole lines until the placed line is in a slice of that core, as CacheDirector does
 * for each packet. The objects lie so far apart that a buffer has room wherever it is. A core may
 * get an object again that it freed, with the buffer where another core wanted it, so that each get
 * checks the address of each buffer. The private area before a buffer grows with the shift: the
 * library finds a packet by its buffer's address and this size when clones of it are freed.
 */
#ifndef SKL_MOVABLE_H
#define SKL_MOVABLE_H

#include "homes.h"
#include "plan.h"

/* Most lines by which a buffer may be shifted. */
#define MOVABLE_MOST_LINES 254

struct movable {
	unsigned int pollers;   /* number of pollers; 0: buffers do not move */
	uint32_t buffer_offset; /* offset of a buffer that is not shifted, in its object */
	/* Lines by which a buffer is shifted, by window of the homes' table, and by poller. */
	uint8_t *lines;
	uintptr_t base;
	uint32_t windows;
	/* number of the poller; `pollers` if the lcore does not poll */
	uint8_t poller_of[RTE_MAX_LCORE + 1];
};

void movable_init(struct movable *movable, const struct plan *plan,
	const struct rte_mempool *pool);
void movable_free(struct movable *movable);

/* Makes room for all objects that the homes' table covers. -ENOMEM. */
int movable_cover(struct movable *movable, const struct homes *homes,
	const struct rte_mempool *pool);

/* Sets the lines by which the buffer of an object is shifted for each poller. */
void movable_note(struct movable *movable, const struct homes *homes, const void *object,
	const uint8_t *lines);

/* For struct rte_mempool_ops, as the functions of homes. */
int movable_get(const struct movable *movable, struct homes *homes, void **objects,
	unsigned int n);
int movable_put(struct rte_mempool *pool, struct homes *homes, void * const *objects,
	unsigned int n);
unsigned int movable_count(const struct homes *homes);

#endif
