/* SPDX-License-Identifier: Apache-2.0 */
/* The user's settings, read from a configuration or the environment into plain values. */
#ifndef SKL_SETTINGS_H
#define SKL_SETTINGS_H

#include <stdbool.h>

#include <rte_config.h>

#include "skipline_mempool.h"

struct slice_set {
	bool has[SKL_MEMPOOL_MOST_SLICES];
};

struct lcore_set {
	bool has[RTE_MAX_LCORE];
};

struct settings {
	const char *table;     /* never NULL */
	const char *latencies; /* NULL: `slices` has them, or objects are chosen by set */
	const char *slices;    /* NULL: the nearest by `latencies` */
	unsigned int nearest;
	unsigned int line;
	struct lcore_set pollers;
	enum skl_mempool_unplaced unplaced;
	enum skl_mempool_exhausted exhausted;
	enum skl_mempool_cache cache;
	enum skl_mempool_placing placing;
	unsigned int sets; /* 0: objects are not chosen by set */
};

/*
 * Reads `config`, or the environment if it is NULL, for the pool of this name. Texts are borrowed.
 * -EINVAL if a value is missing or wrong; `why` has the value, and what is allowed.
 */
int settings_read(const struct skl_mempool_config *config, const char *pool_name,
	struct settings *settings, char *why, size_t why_bytes);

/* Reads the slices of an lcore from "1=0,2;2=4". -ENOENT if it has none; -EINVAL if not valid. */
int settings_slices_of(const char *text, unsigned int lcore, struct slice_set *slices);

#endif
