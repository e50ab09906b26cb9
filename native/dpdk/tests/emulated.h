/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last-level cache of an eight-slice Haswell, emulated: its published XOR masks applied to real
 * physical addresses. Shares no code with the library that the driver asks.
 */
#ifndef TESTS_EMULATED_H
#define TESTS_EMULATED_H

#include <rte_mempool.h>

#define EMULATED_SLICES 8

/*
 * Starts EAL with two workers, lcores 1 and 2, in memory that goes with the process. Ends the
 * program with the code for "skipped" and the reason if the machine has no free huge pages.
 */
void emulated_start(void);

/* Writes the table, for physical addresses below 2^covered_bits; the path. */
const char *emulated_table(unsigned int covered_bits);

/* Slice of the line at an address, out of the masks and the kernel's page map. */
int emulated_slice(const void *address);

/* Slice of the line at a physical address, out of the masks. */
int emulated_slice_of(uint64_t physical);

/* Address of header line `line` of an mbuf as a driver would receive into it. */
const void *emulated_header(const struct rte_mempool *pool, const void *mbuf, unsigned int line);

/* Bytes that are reserved on EAL's heap. */
size_t emulated_heap_bytes(void);

#endif
