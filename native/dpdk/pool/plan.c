/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "log.h"
#include "movable.h"

/*
 * Pools of rte_pktmbuf_pool_create() and its like know their mbufs' sizes before objects are
 * placed.
 */
static const struct rte_pktmbuf_pool_private *
as_packet_pool(const struct rte_mempool *pool)
{
	const struct rte_pktmbuf_pool_private *packets;

	if (pool->private_data_size < sizeof(*packets))
		return NULL;
	packets = rte_mempool_get_priv((struct rte_mempool *)(uintptr_t)pool);
	if (pool->elt_size < sizeof(struct rte_mbuf) + packets->mbuf_priv_size)
		return NULL;
	return packets;
}

const char *
plan_nothing_because(const struct rte_mempool *pool)
{
	const struct rte_pktmbuf_pool_private *packets = as_packet_pool(pool);

	if (packets == NULL)
		return NULL;
	if (packets->flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF)
		return "its packets lie in memory of the application";
	if (packets->mbuf_data_room_size == 0 && plan_knows_layout(pool))
		return "its objects have no packet data";
	return NULL;
}

/* A private area that was not filled in: it states no room for data, but the objects have it. */
bool
plan_knows_layout(const struct rte_mempool *pool)
{
	const struct rte_pktmbuf_pool_private *packets = as_packet_pool(pool);

	return packets == NULL || packets->mbuf_data_room_size > 0 ||
		pool->elt_size == sizeof(struct rte_mbuf) + packets->mbuf_priv_size;
}

/* The byte of an object where header line `line` begins, as drivers receive into it. */
static int
find_placed_byte(const struct rte_mempool *pool, unsigned int line, size_t *byte, char *why,
	size_t why_bytes)
{
	const struct rte_pktmbuf_pool_private *packets = as_packet_pool(pool);
	size_t first = 0;

	if (packets != NULL)
		first = sizeof(struct rte_mbuf) + packets->mbuf_priv_size + RTE_PKTMBUF_HEADROOM;
	*byte = first + (size_t)line * RTE_CACHE_LINE_SIZE;
	if (*byte < pool->elt_size)
		return 0;
	if (first < pool->elt_size)
		snprintf(why, why_bytes, "header line %u is beyond the buffer; allowed: 0 to %zu", line,
			(pool->elt_size - first - 1) / RTE_CACHE_LINE_SIZE);
	else
		snprintf(why, why_bytes, "the buffer ends before the headroom of %d bytes does",
			RTE_PKTMBUF_HEADROOM);
	return -EINVAL;
}

static int
find_listed(const struct settings *settings, struct home *home, unsigned int slices, char *why,
	size_t why_bytes)
{
	unsigned int slice;
	int ret = settings_slices_of(settings->slices, home->lcore, &home->slices);

	if (ret == -ENOENT) {
		snprintf(why, why_bytes, "SKIPLINE_SLICE_SLICES=%s lists no slices for lcore %u, which "
			"polls this pool", settings->slices, home->lcore);
		return -EINVAL;
	}
	if (ret < 0) {
		snprintf(why, why_bytes, "SKIPLINE_SLICE_SLICES=%s; allowed: slices by lcore, such as "
			"1=0,2;2=4", settings->slices);
		return ret;
	}
	for (slice = slices; slice < SKL_MEMPOOL_MOST_SLICES; slice++)
		if (home->slices.has[slice]) {
			snprintf(why, why_bytes, "slice %u for lcore %u: the table %s has slices 0 to %u",
				slice, home->lcore, settings->table, slices - 1);
			return -EINVAL;
		}
	return 0;
}

/* Latencies are by CPU, as the system counts them; an lcore may run on one of another number. */
static int
cpu_of(unsigned int lcore)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(lcore);
	int cpu = 0;

	if (CPU_COUNT(&cpus) != 1)
		return -EINVAL;
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	return cpu;
}

static int
find_nearest(const struct settings *settings, const skl_latencies *latencies, struct home *home,
	char *why, size_t why_bytes)
{
	uint16_t nearest[SKL_MEMPOOL_MOST_SLICES];
	int cpu = cpu_of(home->lcore), ret;
	unsigned int i;

	if (cpu < 0) {
		snprintf(why, why_bytes, "lcore %u may run on several CPUs, none of which is the one to "
			"be near to; bind it to one, or set SKIPLINE_SLICE_SLICES", home->lcore);
		return cpu;
	}
	ret = skl_nearest_slices(latencies, cpu, nearest, settings->nearest);
	if (ret < 0) {
		snprintf(why, why_bytes, "%s has latencies of CPUs 0 to %d, and lcore %u runs on CPU %d",
			settings->latencies, skl_latencies_cores(latencies) - 1, home->lcore, cpu);
		return ret;
	}
	for (i = 0; i < settings->nearest; i++)
		home->slices.has[nearest[i]] = true;
	return 0;
}

/* Numbers of slices are those of one socket: cores of others are far from all of them. */
static int
check_node(const struct rte_mempool *pool, const struct plan *plan, unsigned int lcore, char *why,
	size_t why_bytes)
{
	unsigned int node = rte_lcore_to_socket_id(lcore), first = plan->home[0].lcore;

	if (pool->socket_id == SOCKET_ID_ANY && plan->homes > 0 &&
			node != rte_lcore_to_socket_id(first)) {
		snprintf(why, why_bytes, "lcores %u and %u, which poll this pool, are on NUMA nodes %u and "
			"%u: slices are near to cores of their own socket; make a pool for each node, or name "
			"its pollers in SKIPLINE_SLICE_POLLERS", first, lcore,
			rte_lcore_to_socket_id(first), node);
		return -EINVAL;
	}
	/* Heaps that the application brings have numbers beyond those of nodes. */
	if (pool->socket_id == SOCKET_ID_ANY || node == (unsigned int)pool->socket_id ||
			rte_malloc_heap_socket_is_external(pool->socket_id) == 1)
		return 0;
	snprintf(why, why_bytes, "lcore %u, which polls this pool, is on NUMA node %u, and the pool's "
		"memory on node %d: slices are near to cores of their own socket; make a pool for each "
		"node, or name its pollers in SKIPLINE_SLICE_POLLERS", lcore, node, pool->socket_id);
	return -EINVAL;
}

static int
find_homes(const struct settings *settings, const skl_latencies *latencies,
	const struct rte_mempool *pool, struct plan *plan, char *why, size_t why_bytes)
{
	unsigned int slices = skl_slice_map_slices(plan->map), lcore;
	struct home *home;
	int ret;

	for (lcore = 0; lcore < RTE_MAX_LCORE; lcore++) {
		if (!settings->pollers.has[lcore])
			continue;
		if (!rte_lcore_is_enabled(lcore)) {
			snprintf(why, why_bytes, "lcore %u is to poll this pool, but EAL was not given it",
				lcore);
			return -EINVAL;
		}
		if (check_node(pool, plan, lcore, why, why_bytes) < 0)
			return -EINVAL;
		home = &plan->home[plan->homes++];
		*home = (struct home){ .lcore = lcore };
		ret = settings->slices != NULL ?
			find_listed(settings, home, slices, why, why_bytes) :
			find_nearest(settings, latencies, home, why, why_bytes);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * Opens the latencies: those of another CPU model than that of the table would choose wrong slices.
 */
static int
open_latencies(const struct settings *settings, const struct plan *plan,
	skl_latencies **latencies, char *why, size_t why_bytes)
{
	unsigned int slices = skl_slice_map_slices(plan->map), of;
	int ret;

	*latencies = NULL;
	if (settings->latencies == NULL)
		return 0;
	ret = skl_latencies_open(settings->latencies, latencies, why, why_bytes);
	if (ret < 0)
		return ret;
	of = skl_latencies_slices(*latencies);
	if (of == slices && settings->nearest <= slices)
		return 0;
	snprintf(why, why_bytes, "%s has %u slices, the table %s %u, and the nearest %u are wanted",
		settings->latencies, of, settings->table, slices, settings->nearest);
	return -EINVAL;
}

/* Objects of one home whose packet data are aligned to their size, a power of two. */
static int
plan_sets(const struct settings *settings, const struct rte_mempool *pool, struct plan *plan,
	char *why, size_t why_bytes)
{
	const struct rte_pktmbuf_pool_private *packets = as_packet_pool(pool);
	size_t way_bytes = (size_t)settings->sets * RTE_CACHE_LINE_SIZE;

	if (packets == NULL) {
		snprintf(why, why_bytes, "SKIPLINE_SLICE_PLACING=sets, but the pool's objects are no "
			"packets, which have data that a device writes");
		return -EINVAL;
	}
	plan->sets = settings->sets;
	plan->buffer_bytes = rte_align64pow2(RTE_MAX(pool->elt_size - plan->placed_byte,
		(size_t)RTE_CACHE_LINE_SIZE));
	if (plan->buffer_bytes > way_bytes) {
		snprintf(why, why_bytes, "SKIPLINE_SLICE_PLACING=sets, but packet data of %zu bytes are "
			"in all sets of a slice: %zu at most", plan->buffer_bytes, way_bytes);
		return -EINVAL;
	}
	plan->homes = 1;
	plan->home[0].lcore = LCORE_ID_ANY;
	return 0;
}

int
plan_make(const struct settings *settings, const struct rte_mempool *pool, struct plan *plan,
	char *why, size_t why_bytes)
{
	skl_latencies *latencies = NULL;
	int ret;

	memset(plan, 0, sizeof(*plan));
	ret = find_placed_byte(pool, settings->line, &plan->placed_byte, why, why_bytes);
	if (ret < 0)
		return ret;
	plan->moves = settings->placing == SKL_MEMPOOL_PLACE_PACKETS;
	if (plan->moves && as_packet_pool(pool) == NULL) {
		snprintf(why, why_bytes, "SKIPLINE_SLICE_PLACING=packets, but the pool's objects are no "
			"packets, which have a buffer that can move");
		return -EINVAL;
	}
	if (plan->moves && as_packet_pool(pool)->mbuf_priv_size +
			MOVABLE_MOST_LINES * RTE_CACHE_LINE_SIZE > UINT16_MAX) {
		snprintf(why, why_bytes, "SKIPLINE_SLICE_PLACING=packets, but private data of %u bytes "
			"leave no room in 16 bits for the lines that a buffer moves: %u at most",
			as_packet_pool(pool)->mbuf_priv_size,
			UINT16_MAX - MOVABLE_MOST_LINES * RTE_CACHE_LINE_SIZE);
		return -EINVAL;
	}
	if (settings->sets > 0) {
		ret = plan_sets(settings, pool, plan, why, why_bytes);
		if (ret < 0)
			return ret;
	}
	if (!rte_eal_has_hugepages()) {
		snprintf(why, why_bytes, "EAL runs without huge pages; the kernel may move small ones "
			"at any time, and with them every line");
		return -ENOTSUP;
	}
	ret = skl_slice_map_open(settings->table, &plan->map, why, why_bytes);
	if (plan->sets > 0)
		return ret;
	if (ret == 0)
		ret = open_latencies(settings, plan, &latencies, why, why_bytes);
	if (ret == 0)
		ret = find_homes(settings, latencies, pool, plan, why, why_bytes);
	if (latencies != NULL)
		skl_latencies_close(latencies);
	if (ret < 0)
		plan_close(plan);
	return ret;
}

void
plan_make_plain(struct plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->homes = 1;
	plan->home[0].lcore = LCORE_ID_ANY;
}

void
plan_close(struct plan *plan)
{
	if (plan->map != NULL)
		skl_slice_map_close(plan->map);
	plan->map = NULL;
}
