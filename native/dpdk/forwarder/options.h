/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the forwarder on its command line, after those of EAL. */
#ifndef FORWARDER_OPTIONS_H
#define FORWARDER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
	const char *pool_ops;      /* mempool driver; NULL: EAL's choice */
	const char *other_ops;     /* mempool driver of every second port; NULL: the same */
	bool pool_per_queue;       /* else one pool for all queues of a port */
	unsigned int objects;      /* size of each pool */
	unsigned int cache;
	unsigned int burst;
	bool wait_for_room;
	bool free_in_bulk;         /* instead of sending: most drivers free packet by packet */
	unsigned int line;         /* header line whose placement is recorded */
	const char *placements;    /* file for the placements of header lines; NULL: none */
	unsigned int pairs;        /* of turns, polling even and odd ports alone; 0: all at once */
	bool new_order;            /* with pairs: pools stay in order of address */
	uint64_t packets;          /* stop after as many; 0: never */
	unsigned int seconds;      /* stop after as many; 0: never */
	unsigned int idle_seconds; /* stop when nothing arrived for as long */
};

/* Reads the options. On an error it prints the problem, or the usage, and ends the program. */
void options_read(int argc, char **argv, struct options *options);

#endif
