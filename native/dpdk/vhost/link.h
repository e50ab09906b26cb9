/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guests, each behind a socket: whether it is connected, and how it disconnects while cores serve
 * it.
 *
 * A thread of vhost connects and disconnects guests. A guest that disconnects is first hidden from
 * the cores; when each core has begun another turn, its copies are waited for and its channels are
 * closed.
 */
#ifndef VHOST_LINK_H
#define VHOST_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#define LINKS 2
/* Pairs of virtqueues of a guest; each has a core of its own. */
#define MOST_PAIRS 8
#define NO_GUEST (-1)

struct link {
	const char *path;
	int vid;       /* vhost's number of the guest, or NO_GUEST */
	bool has_left; /* a guest was connected, and has closed its socket */
	bool is_open[2 * MOST_PAIRS]; /* virtqueues with an asynchronous channel */
};

/* State of a core, which the thread of vhost reads. */
struct worker {
	bool runs;
	uint64_t turns;
	int16_t dma;    /* device of its channel; -1: the core copies */
	double busy_s; /* CPU time of turns that moved packets; 0 unless --time-turns */
} __rte_cache_aligned;

extern struct link links[LINKS];
extern struct worker workers[MOST_PAIRS];

/* The virtqueue with which a guest sends, and the one with which it receives. */
uint16_t sending_queue(unsigned int pair);
uint16_t receiving_queue(unsigned int pair);

/* Waits for guests at the sockets; negative errno. */
int links_listen(const char *const *paths, bool is_asynchronous);

/* The number of the guest, if one of its virtqueues can be used now; else NO_GUEST. */
int link_guest(struct link *link, uint16_t queue, int16_t dma);

void links_close(void);

#endif
