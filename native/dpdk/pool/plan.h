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
	size_t placed_byte;    /* of an object: its line is the one to place */
	bool moves;            /* buffers move inside objects, which are for all cores */
	unsigned int homes;
	struct home home[RTE_MAX_LCORE];
};

/*
 * What the settings mean for this pool; `plan` is to be closed. Negative errno with the reason in
 * `why`; -EINVAL alone is the settings' fault, all else may be answered by plain placement.
 */
int plan_make(const struct settings *settings, const struct rte_mempool *pool, struct plan *plan,
	char *why, size_t why_bytes);

/* One home, nothing to place. */
void plan_make_plain(struct plan *plan);

void plan_close(struct plan *plan);

/* Why there is no packet header in the pool's objects, as a text; NULL if there is. */
const char *plan_nothing_because(const struct rte_mempool *pool);

/* Whether the pool's private data says where packet data begins. */
bool plan_knows_layout(const struct rte_mempool *pool);

#endif
