/* SPDX-License-Identifier: Apache-2.0 */
#include "movable.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "home_pool.h"

void
movable_init(struct movable *movable, const struct plan *plan, const struct rte_mempool *pool)
{
	unsigned int poller;

	memset(movable, 0, sizeof(*movable));
	movable->pollers = plan->homes;
	movable->buffer_offset = sizeof(struct rte_mbuf) +
		rte_pktmbuf_priv_size((struct rte_mempool *)(uintptr_t)pool);
	memset(movable->poller_of, plan->homes, sizeof(movable->poller_of));
	for (poller = 0; poller < plan->homes; poller++)
		movable->poller_of[plan->home[poller].lcore] = poller;
}

void
movable_free(struct movable *movable)
{
	rte_free(movable->lines);
	movable->lines = NULL;
}

int
movable_cover(struct movable *movable, const struct homes *homes, const struct rte_mempool *pool)
{
	const struct home_table *table = &homes->table;
	size_t before = (movable->base - table->base) >> table->shift;
	uint8_t *lines;

	if (movable->lines != NULL && movable->base == table->base &&
			movable->windows == table->windows)
		return 0;
	lines = rte_zmalloc_socket("skipline_movable", (size_t)table->windows * movable->pollers, 0,
		pool->socket_id);
	if (lines == NULL)
		return -ENOMEM;
	if (movable->lines != NULL)
		memcpy(lines + before * movable->pollers, movable->lines,
			(size_t)movable->windows * movable->pollers);
	rte_free(movable->lines);
	movable->lines = lines;
	movable->base = table->base;
	movable->windows = table->windows;
	return 0;
}

static uint8_t *
lines_of(const struct movable *movable, const struct homes *homes, const void *object)
{
	size_t window = ((uintptr_t)object - movable->base) >> homes->table.shift;

	return movable->lines + window * movable->pollers;
}

void
movable_note(struct movable *movable, const struct homes *homes, const void *object,
	const uint8_t *lines)
{
	memcpy(lines_of(movable, homes, object), lines, movable->pollers);
}

/* Shifts buffers that are not where the poller wants them. */
static void
move_to(const struct movable *movable, const struct homes *homes, unsigned int poller,
	void **objects, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *packet = objects[i];
		uint32_t offset = movable->buffer_offset +
			lines_of(movable, homes, packet)[poller] * RTE_CACHE_LINE_SIZE;
		char *wanted = (char *)packet + offset;

		if (packet->buf_addr != wanted) {
			packet->buf_iova += wanted - (char *)packet->buf_addr;
			packet->buf_addr = wanted;
			packet->priv_size = offset - sizeof(*packet);
		}
	}
}

static struct rte_mempool_cache *
kept_by(const struct homes *homes, unsigned int lcore)
{
	struct rte_mempool *pool = homes->list[0].pool;

	return pool == NULL || lcore >= RTE_MAX_LCORE ? NULL : &pool->local_cache[lcore];
}

int
movable_get(const struct movable *movable, struct homes *homes, void **objects, unsigned int n)
{
	unsigned int lcore = homes_this_lcore(), poller = movable->poller_of[lcore];

	if (homes_take(homes->list[0].ring, kept_by(homes, lcore), objects, n) < 0)
		return -ENOBUFS;
	if (poller < movable->pollers)
		move_to(movable, homes, poller, objects, n);
	else
		homes->counts[lcore].gets_by_others += n;
	return 0;
}

/* Packets do not pass here: they are freed into the pool that they name. */
int
movable_put(struct rte_mempool *pool, struct homes *homes, void * const *objects, unsigned int n)
{
	unsigned int lcore = homes_this_lcore();
	struct rte_mempool_cache *kept = kept_by(homes, lcore), *front;
	int ret = 0, failed;

	if (kept != NULL) {
		front = &pool->local_cache[lcore];
		if ((uintptr_t)objects - (uintptr_t)front->objs < sizeof(front->objs)) {
			ret = homes_put_into_rings(homes, kept->objs, kept->len);
			kept->len = 0;
		} else if (n == 1 && kept->len < kept->flushthresh &&
				homes_of_several(homes, *objects) == 0) {
			kept->objs[kept->len++] = *objects;
			return 0;
		}
	}
	failed = homes_put_into_rings(homes, objects, n);
	return failed < 0 ? failed : ret;
}

unsigned int
movable_count(const struct homes *homes)
{
	unsigned int lcore, objects = rte_ring_count(homes->list[0].ring);

	for (lcore = 0; homes->list[0].pool != NULL && lcore < RTE_MAX_LCORE; lcore++)
		objects += homes->list[0].pool->local_cache[lcore].len;
	return objects;
}
