/* SPDX-License-Identifier: Apache-2.0 */
#include "emulated.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#define SKIPPED 77
#define LOW_BITS 12
#define POSITIONS (1 << (LOW_BITS - 6))

/* EuroSys'19: bit i of the slice is the parity of the address under mask i. */
static const uint64_t masks[] = { 0x1B5F575440, 0x2EB5FAA880, 0x3CCCC93100 };

static unsigned int
slice_of(uint64_t address)
{
	unsigned int slice = 0, bit;

	for (bit = 0; bit < RTE_DIM(masks); bit++)
		slice |= __builtin_parityll(address & masks[bit]) << bit;
	return slice;
}

void
emulated_start(void)
{
	/* Where there is one CPU, the two workers share it. */
	const char *lcores = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? "0@0,1@0,2@1" : "0@0,1@0,2@0";
	/* IO addresses differ from physical ones, so that a mix-up of the two is found. */
	const char *arguments[] = { "test", "--no-pci", "--in-memory", "-m", "192", "--socket-limit", "192", "--lcores", lcores,
		"--log-level=*:error", "--log-level=pmd.mempool.skipline:critical", "--no-telemetry",
		"--iova-mode=va" };

	if (rte_eal_init(RTE_DIM(arguments), (char **)(uintptr_t)arguments) >= 0)
		return;
	fprintf(stderr, "skipped: EAL does not start with 192 MiB of huge pages: %s\n",
		rte_strerror(rte_errno));
	exit(SKIPPED);
}

/* The position in the table's sequence that changes the slice as `change` says. */
static unsigned int
move_for(unsigned int change)
{
	unsigned int position;

	for (position = 0; slice_of((uint64_t)position * RTE_CACHE_LINE_SIZE) != change; position++)
		;
	return position;
}

/* Positions are moved by sums of these three, so that moving is linear as the masks are. */
static unsigned int
linear_move_for(unsigned int change)
{
	unsigned int bit, move = 0;

	for (bit = 0; bit < RTE_DIM(masks); bit++)
		move ^= (change >> bit & 1) ? move_for(1U << bit) : 0;
	return move;
}

static char path[] = "/tmp/skipline-table-XXXXXX";

static void
remove_table(void)
{
	remove(path);
}

const char *
emulated_table(unsigned int covered_bits)
{
	uint64_t moves[LOW_BITS - 6] = { 0 };
	static bool named;
	unsigned int bit, mask, position;
	FILE *file;

	if (!named) {
		close(mkstemp(path));
		atexit(remove_table);
		named = true;
	}
	for (bit = LOW_BITS; bit < covered_bits; bit++)
		for (mask = 0; mask < RTE_DIM(moves); mask++)
			moves[mask] |= (uint64_t)(linear_move_for(slice_of(1ULL << bit)) >> mask & 1) << bit;
	file = fopen(path, "w");
	fprintf(file, "part = \"E5-2667 v3\"\nsource = \"published masks\"\nslices = %d\n"
		"valid_bits = [6, %u]\nperm_masks = [", EMULATED_SLICES, covered_bits - 1);
	for (mask = 0; mask < RTE_DIM(moves); mask++)
		fprintf(file, "%lu, ", moves[mask]);
	fprintf(file, "]\nbase = [");
	for (position = 0; position < POSITIONS; position++)
		fprintf(file, "%u, ", slice_of((uint64_t)position * RTE_CACHE_LINE_SIZE));
	fprintf(file, "]\n");
	fclose(file);
	return path;
}

int
emulated_slice(const void *address)
{
	rte_iova_t physical = rte_mem_virt2phy(address);

	return physical == RTE_BAD_IOVA ? -1 : (int)slice_of(physical);
}

int
emulated_slice_of(uint64_t physical)
{
	return slice_of(physical);
}

const void *
emulated_header(const struct rte_mempool *pool, const void *mbuf, unsigned int line)
{
	const struct rte_pktmbuf_pool_private *packets =
		rte_mempool_get_priv((struct rte_mempool *)(uintptr_t)pool);

	return (const char *)mbuf + sizeof(struct rte_mbuf) + packets->mbuf_priv_size +
		RTE_PKTMBUF_HEADROOM + line * RTE_CACHE_LINE_SIZE;
}

size_t
emulated_heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;

	rte_malloc_get_socket_stats(rte_socket_id(), &stats);
	return stats.heap_allocsz_bytes;
}
