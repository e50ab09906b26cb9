/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_vhost.h>
#include <rte_vhost_async.h>

#define BURST 32
/* Of a device that hangs, copies that are waited for may never end. */
#define WAIT_SECONDS 5

struct link links[LINKS];
struct worker workers[MOST_PAIRS];

uint16_t
sending_queue(unsigned int pair)
{
	return 2 * pair + 1;
}

uint16_t
receiving_queue(unsigned int pair)
{
	return 2 * pair;
}

/* The link of a guest, whose name is its socket. */
static struct link *
find_link(int vid)
{
	char name[PATH_MAX];
	unsigned int i;

	if (rte_vhost_get_ifname(vid, name, sizeof(name)) == 0)
		for (i = 0; i < LINKS; i++)
			if (strcmp(links[i].path, name) == 0)
				return &links[i];
	return NULL;
}

static int
guest_connects(int vid)
{
	struct link *link = find_link(vid);

	if (link == NULL)
		return -1;
	__atomic_store_n(&link->vid, vid, __ATOMIC_RELEASE);
	return 0;
}

/* Waits until each core has begun a turn in which it does not see the guest any more. */
static void
wait_for_turns(void)
{
	unsigned int i;

	for (i = 0; i < MOST_PAIRS; i++) {
		uint64_t turns = __atomic_load_n(&workers[i].turns, __ATOMIC_ACQUIRE);

		while (__atomic_load_n(&workers[i].runs, __ATOMIC_ACQUIRE) &&
				__atomic_load_n(&workers[i].turns, __ATOMIC_ACQUIRE) == turns)
			usleep(100);
	}
}

/* Frees the packets for a guest that has disconnected, and closes the channel of a virtqueue. */
static void
close_channel(int vid, uint16_t queue, int16_t dma)
{
	struct rte_mbuf *packets[BURST];
	uint64_t last = rte_rdtsc();
	uint16_t n;

	while (rte_vhost_async_get_inflight(vid, queue) > 0 &&
			rte_rdtsc() - last < WAIT_SECONDS * rte_get_tsc_hz()) {
		n = rte_vhost_clear_queue(vid, queue, packets, BURST, dma, 0);
		rte_pktmbuf_free_bulk(packets, n);
		if (n > 0)
			last = rte_rdtsc();
	}
	if (rte_vhost_async_channel_unregister(vid, queue) < 0)
		fprintf(stderr, "error: copies of virtqueue %u do not end\n", queue);
}

static void
guest_disconnects(int vid)
{
	struct link *link = find_link(vid);
	uint16_t queue;

	if (link == NULL || link->vid == NO_GUEST)
		return;
	__atomic_store_n(&link->vid, NO_GUEST, __ATOMIC_RELEASE);
	wait_for_turns();
	for (queue = 0; queue < RTE_DIM(link->is_open); queue++)
		if (link->is_open[queue]) {
			close_channel(vid, queue, workers[queue / 2].dma);
			link->is_open[queue] = false;
		}
}

/* Not when a guest stops its device: it still reads the state of its virtqueues then. */
static void
guest_has_disconnected(int vid)
{
	struct link *link = find_link(vid);

	if (link != NULL)
		__atomic_store_n(&link->has_left, true, __ATOMIC_RELEASE);
}

static const struct rte_vhost_device_ops operations = {
	.new_device = guest_connects,
	.destroy_device = guest_disconnects,
	.destroy_connection = guest_has_disconnected,
};

static int
listen_at(const char *path, uint64_t flags)
{
	struct stat file;

	/* A socket of an earlier run: vhost does not take a path that exists. */
	if (stat(path, &file) == 0 && S_ISSOCK(file.st_mode))
		unlink(path);
	if (rte_vhost_driver_register(path, flags) < 0)
		return -EADDRINUSE;
	if (rte_vhost_driver_callback_register(path, &operations) < 0 ||
			rte_vhost_driver_start(path) < 0)
		return -EIO;
	return 0;
}

int
links_listen(const char *const *paths, bool is_asynchronous)
{
	uint64_t flags = RTE_VHOST_USER_NET_COMPLIANT_OL_FLAGS;
	unsigned int i;
	int ret = 0;

	if (is_asynchronous)
		flags |= RTE_VHOST_USER_ASYNC_COPY;
	for (i = 0; i < LINKS; i++)
		links[i] = (struct link){ .path = paths[i], .vid = NO_GUEST };
	for (i = 0; ret == 0 && i < LINKS; i++)
		ret = listen_at(paths[i], flags);
	return ret;
}

int
link_guest(struct link *link, uint16_t queue, int16_t dma)
{
	int vid = __atomic_load_n(&link->vid, __ATOMIC_ACQUIRE);

	if (vid == NO_GUEST || dma < 0 || link->is_open[queue])
		return vid;
	/* The guest has not enabled the virtqueue yet, or has fewer. */
	if (queue >= rte_vhost_get_vring_num(vid) ||
			rte_vhost_async_channel_register(vid, queue) < 0)
		return NO_GUEST;
	link->is_open[queue] = true;
	return vid;
}

void
links_close(void)
{
	unsigned int i;

	for (i = 0; i < LINKS; i++)
		rte_vhost_driver_unregister(links[i].path);
}
