/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the switch on its command line, after those of EAL. */
#ifndef VHOST_OPTIONS_H
#define VHOST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "link.h"

struct options {
	const char *sockets[LINKS];
	bool copies_by_device;
	unsigned int burst;
	unsigned int queues;  /* work queues of each core; 0: all of the system, shared out */
	unsigned int objects; /* size of the pool of packets */
	bool times_turns;     /* report the CPU time of turns that move packets */
	struct channel_faults faults;
};

/*
 * Reads the options. On an error it prints the problem, or the usage, and ends the program with 2.
 */
void options_read(int argc, char **argv, struct options *options);

#endif
