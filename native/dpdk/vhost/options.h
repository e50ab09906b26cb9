/* SPDX-License-Identifier: Apache-2.0 */
/* What the switch is told on its command line, after EAL's own. */
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
	unsigned int queues;  /* of the device for each core; 0: all that there are, shared out */
	unsigned int objects; /* of the pool of packets */
	bool times_turns;     /* CPU time of turns that move something */
	struct channel_faults faults;
};

/* Prints what is wrong, or the usage, and ends the program with 2. */
void options_read(int argc, char **argv, struct options *options);

#endif
