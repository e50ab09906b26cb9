/* SPDX-License-Identifier: Apache-2.0 */
/* Does an application whose functions have the names of the driver's get in its way? */
#include "placed_pool.h"

#define OBJECTS 1000

static const char *called;

/* A program's functions come before those of its libraries, where both are visible. */
#define TAKEN(name) \
	int name(void); \
	int name(void) \
	{ \
		called = #name; \
		return -1; \
	}

TAKEN(homes_add)
TAKEN(homes_cover)
TAKEN(homes_free)
TAKEN(homes_free_objects)
TAKEN(homes_get_of_several)
TAKEN(homes_init_one)
TAKEN(homes_init_several)
TAKEN(homes_ring_bytes)
TAKEN(homes_put_to_several)
TAKEN(homes_take_caches)
TAKEN(physical_address)
TAKEN(placement_bytes)
TAKEN(placement_fill)
TAKEN(placement_fill_plain)
TAKEN(placement_start)
TAKEN(plan_close)
TAKEN(plan_nothing_because)
TAKEN(plan_knows_layout)
TAKEN(plan_make)
TAKEN(plan_make_plain)
TAKEN(settings_read)
TAKEN(settings_slices_of)
TAKEN(operations_index)
TAKEN(slice_pool_alloc)
TAKEN(slice_pool_calc_mem_size)
TAKEN(slice_pool_free)
TAKEN(slice_pool_of)
TAKEN(slice_pool_populate)

static void
a_pool_is_made_and_used_without_them(void **state)
{
	struct rte_mempool *pool = configured_pool("plain_names", OBJECTS, 32, 0);
	struct skl_mempool_stats stats;
	void *objects[OBJECTS];

	(void)state;
	if (called != NULL)
		fail_msg("the application's %s() was called", called);
	assert_non_null(pool);
	assert_int_equal(skl_mempool_stats(pool, &stats), 0);
	assert_int_equal(stats.objects, OBJECTS);
	assert_int_equal(rte_mempool_get_bulk(pool, objects, OBJECTS), 0);
	rte_mempool_put_bulk(pool, objects, OBJECTS);
	assert_int_equal(rte_mempool_avail_count(pool), OBJECTS);
	rte_mempool_free(pool);
	assert_null(called);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED_TEST(a_pool_is_made_and_used_without_them),
	};

	emulated_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
