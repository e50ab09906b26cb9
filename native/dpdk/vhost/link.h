/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guests, each behind a socket: who is there, and how one leaves while cores work for it.
 *
 * Guests come and go in a thread of vhost's. One that goes is first withdrawn from the cores; when
 * each of them has begun another turn, its copies are waited for and its channels are closed.
 */
#ifndef VHOST_LINK_H
#define VHOST_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#define LINKS 2
/* Pairs of virtqueues of a guest; each has a core of its own. */
#define MOST_PAIRS 8
#define NOT_THERE (-1)

struct link {
	const char *path;
	int vid;       /* vhost's number of the guest, or NOT_THERE */
	bool has_left; /* a guest was there, and has closed its socket */
	bool is_open[2 * MOST_PAIRS]; /* virtqueues with an asynchronous channel */
};

/* What cores tell the thread of vhost's. */
struct worker {
	bool runs;
	uint64_t turns;
	int16_t dma;    /* of its channel; -1: the core copies */
	double busy_s; /* CPU time of turns that moved something; 0: not wanted */
} __rte_cache_aligned;

extern struct link links[LINKS];
extern struct worker workers[MOST_PAIRS];

/* The virtqueue that a guest sends with, and the one that it receives with. */
uint16_t sending_queue(unsigned int pair);
uint16_t receiving_queue(unsigned int pair);

/* Waits for guests at the sockets; negative errno. */
int links_listen(const char *const *paths, bool is_asynchronous);

/* The number of the guest, if a virtqueue of it can be used now; else NOT_THERE. */
int link_use(struct link *link, uint16_t queue, int16_t dma);

void links_close(void);

#endif
