/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a pool's layout: table, slices near each poller, the byte that is placed. */
#ifndef SKL_PLAN_H
#define SKL_PLAN_H

#include <skipline_slices.h>

#include "settings.h"

/* A core that polls, and the slices that its header lines are to lie in. */
struct home {
	unsigned int lcore;
	struct slice_set slices;
};

struct plan {
	skl_slice_map *map;    /* NULL: objects lie anywhere */
	size_t placed_byte;    /* byte of an object whose line is placed */
	bool moves;            /* whether buffers move inside objects, which are for all cores */
	unsigned int sets;     /* sets of a slice, if objects are chosen by set; else 0 */
	size_t buffer_bytes;   /* then: the size to which packet data are aligned */
	unsigned int homes;
	struct home home[RTE_MAX_LCORE];
};

/*
 * Makes the plan of a pool from the settings. The caller has to close it. Negative errno, with the
 * reason in `why`: only -EINVAL is a fault of the settings; after any other error plain placement
 * is possible.
 */
int plan_make(const struct settings *settings, const struct rte_mempool *pool, struct plan *plan,
	char *why, size_t why_bytes);

/* Makes a plan of one home, in which nothing is placed. */
void plan_make_plain(struct plan *plan);

void plan_close(struct plan *plan);

/* Why the objects of a pool have no packet headers, as a text; NULL if they have. */
const char *plan_nothing_because(const struct rte_mempool *pool);

/* Whether the private data of the pool has the offset of packet data. */
bool plan_knows_layout(const struct rte_mempool *pool);

#endif
