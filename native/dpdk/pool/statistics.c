/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a pool: for programs that link the driver, and by telemetry. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_telemetry.h>

#include "physical.h"
#include "slice_pool.h"

const struct rte_mempool *
skl_mempool_whole(const struct rte_mempool *mempool)
{
	const struct slice_pool *pool = slice_pool_of(mempool);

	return pool == NULL ? mempool : pool->whole;
}

int
skl_mempool_stats(const struct rte_mempool *mempool, struct skl_mempool_stats *stats)
{
	const struct slice_pool *pool = slice_pool_of(mempool);
	const struct home_counts *counts;
	unsigned int lcore;

	if (pool == NULL)
		return -EINVAL;
	*stats = (struct skl_mempool_stats){
		.objects = pool->placement.objects,
		.unplaced = pool->placement.unplaced,
		.pollers = pool->plan.homes,
		.memory_bytes = pool->placement.memory_bytes,
		.object_bytes = (uint64_t)pool->placement.objects *
			(mempool->header_size + mempool->elt_size + mempool->trailer_size),
		.gaps_bytes = pool->placement.gaps_bytes,
	};
	for (lcore = 0; lcore <= RTE_MAX_LCORE; lcore++) {
		counts = &pool->homes.counts[lcore];
		stats->gets_by_others += counts->gets_by_others;
		stats->gets_borrowed += counts->gets_borrowed;
		stats->puts_from_afar += counts->puts_from_afar;
		stats->puts_refused += counts->puts_refused;
	}
	return 0;
}

int
skl_mempool_poller_of(const struct rte_mempool *mempool, const void *object)
{
	const struct slice_pool *pool = slice_pool_of(mempool);
	unsigned int home, lcore;

	if (pool == NULL)
		return -EINVAL;
	home = homes_of(&pool->homes, object);
	if (home == pool->homes.count)
		return -EINVAL;
	lcore = pool->homes.list[home].lcore;
	return lcore == LCORE_ID_ANY ? -ENOENT : (int)lcore;
}

int
skl_mempool_wants(const struct rte_mempool *mempool, unsigned int lcore, uint16_t slice)
{
	const struct slice_pool *pool = slice_pool_of(mempool);
	unsigned int home;

	if (pool == NULL || slice >= SKL_MEMPOOL_MOST_SLICES)
		return -EINVAL;
	for (home = 0; home < pool->plan.homes; home++)
		if (pool->plan.home[home].lcore == lcore)
			return pool->plan.home[home].slices.has[slice];
	return 0;
}

int
skl_mempool_slice_at(const struct rte_mempool *mempool, const void *address)
{
	const struct slice_pool *pool = slice_pool_of(mempool);
	struct page page = { 0 };
	uint64_t physical;
	int ret;

	if (pool == NULL || pool->plan.map == NULL || pool->maker != getpid())
		return -EINVAL;
	ret = physical_address(&page, address, &physical);
	return ret < 0 ? -ENOTSUP : skl_slice_of(pool->plan.map, physical);
}

struct rte_mempool *
skl_pktmbuf_pool_create(const char *name, unsigned int objects, unsigned int cache_size,
	uint16_t priv_size, uint16_t data_room_size, int socket_id,
	const struct skl_mempool_config *config)
{
	struct rte_pktmbuf_pool_private packets = {
		.mbuf_data_room_size = data_room_size,
		.mbuf_priv_size = priv_size,
	};
	struct rte_mempool *pool;
	int ret;

	if (priv_size % RTE_MBUF_PRIV_ALIGN != 0) {
		rte_errno = EINVAL;
		return NULL;
	}
	pool = rte_mempool_create_empty(name, objects,
		sizeof(struct rte_mbuf) + priv_size + data_room_size, cache_size, sizeof(packets),
		socket_id, 0);
	if (pool == NULL)
		return NULL;
	ret = rte_mempool_set_ops_byname(pool, SKL_MEMPOOL_OPS,
		(void *)(uintptr_t)config);
	if (ret == 0) {
		rte_pktmbuf_pool_init(pool, &packets);
		ret = rte_mempool_populate_default(pool);
	}
	if (ret < 0) {
		rte_mempool_free(pool);
		rte_errno = -ret;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

static void
add_home(struct rte_tel_data *homes, const struct home *home)
{
	struct rte_tel_data *slices = rte_tel_data_alloc();
	char name[16];
	unsigned int slice;

	rte_tel_data_start_array(slices, RTE_TEL_INT_VAL);
	for (slice = 0; slice < SKL_MEMPOOL_MOST_SLICES; slice++)
		if (home->slices.has[slice])
			rte_tel_data_add_array_int(slices, slice);
	snprintf(name, sizeof(name), "lcore_%u", home->lcore);
	rte_tel_data_add_dict_container(homes, name, slices, 0);
}

static int
answer_pool(const char *command __rte_unused, const char *name, struct rte_tel_data *answer)
{
	struct rte_mempool *mempool = name == NULL ? NULL : rte_mempool_lookup(name);
	struct slice_pool *pool = mempool == NULL ? NULL : slice_pool_of(mempool);
	struct rte_tel_data *homes;
	struct skl_mempool_stats stats;
	unsigned int home;

	if (pool == NULL || skl_mempool_stats(mempool, &stats) < 0)
		return -EINVAL;
	homes = rte_tel_data_alloc();
	rte_tel_data_start_dict(homes);
	for (home = 0; pool->plan.map != NULL && home < pool->plan.homes; home++)
		add_home(homes, &pool->plan.home[home]);
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_container(answer, "slices_of", homes, 0);
	rte_tel_data_add_dict_u64(answer, "placed_byte", pool->plan.placed_byte);
	rte_tel_data_add_dict_u64(answer, "objects", stats.objects);
	rte_tel_data_add_dict_u64(answer, "unplaced", stats.unplaced);
	rte_tel_data_add_dict_u64(answer, "memory_bytes", stats.memory_bytes);
	rte_tel_data_add_dict_u64(answer, "object_bytes", stats.object_bytes);
	rte_tel_data_add_dict_u64(answer, "gaps_bytes", stats.gaps_bytes);
	rte_tel_data_add_dict_u64(answer, "gets_by_others", stats.gets_by_others);
	rte_tel_data_add_dict_u64(answer, "gets_borrowed", stats.gets_borrowed);
	rte_tel_data_add_dict_u64(answer, "puts_from_afar", stats.puts_from_afar);
	rte_tel_data_add_dict_u64(answer, "puts_refused", stats.puts_refused);
	return 0;
}

RTE_INIT(skl_mempool_telemetry)
{
	rte_telemetry_register_cmd("/skipline/pool", answer_pool,
		"Placement of a skipline_slice pool. Takes its name");
}
