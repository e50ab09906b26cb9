/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of this driver: what rte_mempool.pool_data points to, in memory that processes share. */
#ifndef SKL_SLICE_POOL_H
#define SKL_SLICE_POOL_H

#include "homes.h"
#include "placement.h"
#include "plan.h"

struct slice_pool {
	struct homes homes;
	struct placement placement;
	enum skl_mempool_unplaced unplaced;
	bool foreign_said;
	struct plan plan; /* its map is the primary process's */
};

/* NULL if the pool is of another driver, or not populated. */
struct slice_pool *slice_pool_of(const struct rte_mempool *pool);

#endif
