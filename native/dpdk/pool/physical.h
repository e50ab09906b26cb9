/* SPDX-License-Identifier: Apache-2.0 */
/* Physical addresses of memory that the kernel does not move: huge pages known to EAL. */
#ifndef SKL_PHYSICAL_H
#define SKL_PHYSICAL_H

#include <stddef.h>
#include <stdint.h>

/* The page that was asked for last; zeroed: none. */
struct page {
	uintptr_t start;
	size_t bytes;
	uint64_t physical;
};

/*
 * Physical address of a byte. Page by page out of /proc/self/pagemap, whatever the IO address is:
 * with IOVA as VA that is not the physical one.
 * -ENOTSUP: no huge page of EAL's; -EACCES: the kernel hides physical addresses (CAP_SYS_ADMIN).
 */
int physical_address(struct page *last, const void *address, uint64_t *physical);

#endif
