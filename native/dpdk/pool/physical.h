/* SPDX-License-Identifier: Apache-2.0 */
/* Physical addresses of memory that the kernel does not move: huge pages known to EAL. */
#ifndef SKL_PHYSICAL_H
#define SKL_PHYSICAL_H

#include <stddef.h>
#include <stdint.h>

/* The page of the last call, as a cache; zeroed before the first one. */
struct page {
	uintptr_t start;
	size_t bytes;
	uint64_t physical;
};

/*
 * Finds the physical address of a byte. It is read from /proc/self/pagemap for each page, since the
 * IO address is not the physical one with IOVA as VA. -ENOTSUP if the address is not in a huge page
 * of EAL; -EACCES if the kernel hides physical addresses (CAP_SYS_ADMIN).
 */
int physical_address(struct page *last, const void *address, uint64_t *physical);

#endif
