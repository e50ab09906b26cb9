/* SPDX-License-Identifier: Apache-2.0 */
/* Physical addresses of the header lines of received packets; independent of the pool. */
#ifndef FORWARDER_PLACEMENTS_H
#define FORWARDER_PLACEMENTS_H

#include <stdio.h>

#include <rte_mbuf.h>

/* The placements that one polling core has seen. */
struct placements;

/* Makes room for up to `lines` different lines. NULL with rte_errno set. */
struct placements *placements_create(const char *name, unsigned int lines);

/*
 * Counts header line `line` of each packet, on the polling core. -ENOSPC if the lines are too many.
 */
int placements_note(struct placements *placements, struct rte_mbuf **packets, uint16_t n,
	unsigned int line);

/* Writes lines of "lcore,physical_address,packets". -EACCES if the kernel hides addresses. */
int placements_write(const struct placements *placements, FILE *file);

#endif
