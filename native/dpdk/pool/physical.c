/* SPDX-License-Identifier: Apache-2.0 */
#include "physical.h"

#include <errno.h>
#include <unistd.h>

#include <rte_memory.h>

static int
find_page(struct page *page, const void *address)
{
	const struct rte_memseg *segment = rte_mem_virt2memseg(address, NULL);
	rte_iova_t first, last;
	size_t bytes, granule = sysconf(_SC_PAGESIZE);

	if (segment == NULL || segment->hugepage_sz < RTE_PGSIZE_2M)
		return -ENOTSUP;
	bytes = segment->hugepage_sz;
	page->start = (uintptr_t)address & ~(uintptr_t)(bytes - 1);
	page->bytes = bytes;
	first = rte_mem_virt2phy((const void *)page->start);
	last = rte_mem_virt2phy((const void *)(page->start + bytes - granule));
	if (first == RTE_BAD_IOVA || last == RTE_BAD_IOVA)
		return -EACCES;
	/* Memory registered by the application as of larger pages than it has. */
	if (last - first != bytes - granule)
		return -ENOTSUP;
	page->physical = first;
	return 0;
}

int
physical_address(struct page *last, const void *address, uint64_t *physical)
{
	int ret;

	if ((uintptr_t)address - last->start >= last->bytes) {
		ret = find_page(last, address);
		if (ret < 0) {
			last->bytes = 0;
			return ret;
		}
	}
	*physical = last->physical + ((uintptr_t)address - last->start);
	return 0;
}
