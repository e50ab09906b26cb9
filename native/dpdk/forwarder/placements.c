/* SPDX-License-Identifier: Apache-2.0 */
#include "placements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>
#include <rte_memory.h>

struct placements {
	unsigned int lcore;
	struct rte_hash *lines; /* by virtual address */
	uint64_t *packets;      /* by position in `lines` */
};

struct placements *
placements_create(const char *name, unsigned int lines)
{
	const struct rte_hash_parameters parameters = {
		.name = name,
		.entries = lines,
		.key_len = sizeof(uintptr_t),
		.hash_func = rte_hash_crc,
	};
	struct placements *placements = calloc(1, sizeof(*placements));

	rte_errno = ENOMEM;
	if (placements == NULL)
		return NULL;
	placements->lines = rte_hash_create(&parameters);
	if (placements->lines != NULL)
		placements->packets = calloc(rte_hash_max_key_id(placements->lines) + 1,
			sizeof(*placements->packets));
	if (placements->packets == NULL) {
		rte_hash_free(placements->lines);
		free(placements);
		return NULL;
	}
	return placements;
}

int
placements_note(struct placements *placements, struct rte_mbuf **packets, uint16_t n,
	unsigned int line)
{
	uint16_t i;

	placements->lcore = rte_lcore_id();
	for (i = 0; i < n; i++) {
		uintptr_t header_line = rte_pktmbuf_mtod_offset(packets[i], uintptr_t,
			line * RTE_CACHE_LINE_SIZE);
		int position = rte_hash_add_key(placements->lines, &header_line);

		if (position < 0)
			return position;
		placements->packets[position]++;
	}
	return 0;
}

int
placements_write(const struct placements *placements, FILE *file)
{
	const void *key;
	void *data;
	uint32_t next = 0;
	int position;

	while ((position = rte_hash_iterate(placements->lines, &key, &data, &next)) >= 0) {
		const void *header_line = *(void * const *)key;
		rte_iova_t physical = rte_mem_virt2phy(header_line);

		if (physical == RTE_BAD_IOVA)
			return -EACCES;
		fprintf(file, "%u,%" PRIu64 ",%" PRIu64 "\n", placements->lcore, physical,
			placements->packets[position]);
	}
	return 0;
}
