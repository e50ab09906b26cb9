/* SPDX-License-Identifier: Apache-2.0 */
/* Which pools have nothing to place, or lie where nothing can be placed, and are made all the same? */
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf_pool_ops.h>

#include "placed_pool.h"

#define OBJECTS 1000

static void
assert_made(struct rte_mempool *(*make)(void), const char *because, unsigned int objects,
	unsigned int unplaced)
{
	struct rte_mempool *pool = listen_to(make);
	struct skl_mempool_stats stats;
	void *all[OBJECTS];

	assert_non_null(pool);
	if (strstr(said, because) == NULL)
		fail_msg("said: %s", said);
	assert_null(strstr(strstr(said, because) + 1, because));
	assert_int_equal(skl_mempool_stats(pool, &stats), 0);
	assert_int_equal(stats.objects, objects);
	assert_int_equal(stats.unplaced, unplaced);
	assert_int_equal(rte_mempool_get_bulk(pool, all, objects), 0);
	rte_mempool_put_bulk(pool, all, objects);
	assert_int_equal(rte_mempool_avail_count(pool), objects);
	rte_mempool_free(pool);
}

static struct rte_mempool *
make_indirect(void)
{
	return rte_pktmbuf_pool_create_by_ops("indirect", OBJECTS, 32, 0, 0, rte_socket_id(),
		SKL_MEMPOOL_OPS);
}

static void
mbufs_without_a_buffer_need_no_table(void **state)
{
	(void)state;
	assert_made(make_indirect, "no packet data", OBJECTS, OBJECTS);
}

#define BUFFERS 64
#define BUFFER_BYTES 4096

static struct rte_pktmbuf_extmem memory;

static struct rte_mempool *
make_of_external_buffers(void)
{
	return rte_pktmbuf_pool_create_extbuf("external", BUFFERS, 0, 0, 2048, rte_socket_id(),
		&memory, 1);
}

static void
packets_in_memory_of_the_application_need_no_table(void **state)
{
	(void)state;
	memory = (struct rte_pktmbuf_extmem){
		.buf_ptr = rte_malloc("external", BUFFERS * BUFFER_BYTES, BUFFER_BYTES),
		.buf_len = BUFFERS * BUFFER_BYTES,
		.elt_size = BUFFER_BYTES,
	};
	rte_mbuf_set_user_mempool_ops(SKL_MEMPOOL_OPS);
	assert_made(make_of_external_buffers, "memory of the application", BUFFERS, BUFFERS);
	rte_free(memory.buf_ptr);
}

static struct rte_mempool *
make_anonymous(void)
{
	struct rte_mempool *pool = rte_mempool_create_empty("anonymous", OBJECTS, 2048, 32, 0,
		rte_socket_id(), 0);

	assert_non_null(pool);
	assert_int_equal(rte_mempool_set_ops_byname(pool, SKL_MEMPOOL_OPS, &config), 0);
	assert_int_equal(rte_mempool_populate_anon(pool), OBJECTS);
	return pool;
}

static void
anonymous_memory_is_laid_out_plainly_for_one_core_and_for_several(void **state)
{
	(void)state;
	assert_made(make_anonymous, "kernel may move it", OBJECTS, OBJECTS);
	config.pollers = "1";
	assert_made(make_anonymous, "kernel may move it", OBJECTS, OBJECTS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED_TEST(mbufs_without_a_buffer_need_no_table),
		PLACED_TEST(packets_in_memory_of_the_application_need_no_table),
		PLACED_TEST(anonymous_memory_is_laid_out_plainly_for_one_core_and_for_several),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
