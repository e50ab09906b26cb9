/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch between two guests of vhost-user. Cores copy the packets, or work queues of a DSA.
 *
 *   options -> link (sockets, guests) -> flow (the three stages of a direction)
 *                                          |
 *   vhost -> channel (a device for vhost) -> reorder (the array)
 *                                         -> device_queue (libskipline_dsa)
 *
 * At its end it prints the counts of packets, batches and copies as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_vhost_async.h>

#include "channel.h"
#include "flow.h"
#include "link.h"
#include "options.h"

#define LOOK_US 2000

static struct options options;
static struct flow flows[MOST_PAIRS][LINKS];
static struct channel *channels[MOST_PAIRS];
static unsigned int n_pairs;
static volatile sig_atomic_t stopped;

static void
stop(int signal __rte_unused)
{
	stopped = 1;
}

/* CPU time of this thread, without the time of other threads; 0 unless --time-turns is given. */
static double
cpu_seconds(void)
{
	struct timespec time;

	if (!options.times_turns)
		return 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Serves a pair of virtqueues of both guests. An idle thread yields to guests and engines. */
static int
serve(void *argument)
{
	unsigned int pair = (uintptr_t)argument;
	struct worker *worker = &workers[pair];

	while (!stopped) {
		double begun = cpu_seconds();
		bool moved = flow_turn(&flows[pair][0]);

		moved |= flow_turn(&flows[pair][1]);
		if (moved)
			worker->busy_s += cpu_seconds() - begun;
		__atomic_store_n(&worker->turns, worker->turns + 1, __ATOMIC_RELEASE);
		if (!moved)
			sched_yield();
	}
	__atomic_store_n(&worker->runs, false, __ATOMIC_RELEASE);
	return 0;
}

/* Shares the work queues out to the channels, so that each queue has one core. */
static int
deal_queues(void)
{
	unsigned int most = n_pairs * (options.queues > 0 ? options.queues : CHANNEL_QUEUES);
	unsigned int needed = options.queues > 0 ? most : n_pairs, dealt = 0;
	uint32_t number = 0;
	skd_queue queue;
	int ret = 0;

	for (; ret == 0 && dealt < most && device_queue_find(&number, &queue); number++)
		ret = channel_add(channels[dealt++ % n_pairs], queue.name);
	if (ret == 0 && dealt < needed) {
		fprintf(stderr, "error: --copy dsa: %u dedicated work queues for users are needed, "
			"named dpdk_..., at least one for each core; found: %u\n", needed, dealt);
		return -ENODEV;
	}
	return ret;
}

static int
start_channels(void)
{
	unsigned int lcore, pair = 0;

	RTE_LCORE_FOREACH_WORKER(lcore) {
		channels[pair] = channel_create(lcore, &options.faults);
		if (channels[pair] == NULL) {
			fprintf(stderr, "error: no dma_skeleton for core %u: it is in DPDK's "
				"librte_dma_skeleton\n", lcore);
			return -ENODEV;
		}
		workers[pair].dma = channels[pair]->dma;
		if (rte_vhost_async_dma_configure(channels[pair]->dma, 0) < 0)
			return -EIO;
		pair++;
	}
	if (rte_eal_iova_mode() != RTE_IOVA_VA) {
		fprintf(stderr, "error: --copy dsa needs virtual addresses: --iova-mode=va\n");
		return -EINVAL;
	}
	return deal_queues();
}

static int
start_flows(void)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("packets", options.objects, 256, 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, rte_socket_id());
	unsigned int pair, direction;

	if (pool == NULL)
		return -rte_errno;
	for (pair = 0; pair < n_pairs; pair++)
		for (direction = 0; direction < LINKS; direction++)
			flows[pair][direction] = (struct flow){
				.from = &links[direction],
				.to = &links[1 - direction],
				.pair = pair,
				.burst = options.burst,
				.dma = workers[pair].dma,
				.pool = pool,
			};
	return 0;
}

static void
start_workers(void)
{
	unsigned int lcore;
	uintptr_t pair = 0;

	RTE_LCORE_FOREACH_WORKER(lcore) {
		workers[pair].runs = true;
		rte_eal_remote_launch(serve, (void *)pair++, lcore);
	}
}

static void
wait_for_end(void)
{
	while (!stopped) {
		rte_delay_us_sleep(LOOK_US);
		if (__atomic_load_n(&links[0].has_left, __ATOMIC_ACQUIRE) &&
				__atomic_load_n(&links[1].has_left, __ATOMIC_ACQUIRE))
			stopped = 1;
	}
}

static void
print_queue(const struct device_queue *queue, unsigned int lcore)
{
	skd_ring_status status = skd_ring_status_new();

	skd_ring_get_status(queue->ring, &status);
	printf("{\"queue\": \"%s\", \"lcore\": %u, \"state\": \"%s\", \"bursts\": %" PRIu64
		", \"copies\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"lost\": %" PRIu64
		", \"drains\": %" PRIu64 "}",
		queue->name, lcore, status.is_gone ? "gone" : "works", status.bursts,
		status.copies, status.failed, status.lost, status.drains);
}

static void
print_report(void)
{
	struct channel_counts copies = { 0 };
	struct flow_counts packets = { 0 };
	double busy_s = 0;
	unsigned int pair, direction, i;
	const char *separator = "";

	printf("{\"copy\": \"%s\", \"queues\": [", options.copies_by_device ? "dsa" : "cpu");
	for (pair = 0; pair < n_pairs; pair++) {
		for (i = 0; channels[pair] != NULL && i < channels[pair]->n_queues; i++) {
			printf("%s", separator);
			print_queue(&channels[pair]->queues[i], channels[pair]->lcore);
			separator = ", ";
		}
		if (channels[pair] != NULL) {
			copies.by_core += channels[pair]->counts.by_core;
			copies.overtakes += channels[pair]->counts.overtakes;
			copies.foreign += channels[pair]->counts.foreign;
		}
		busy_s += workers[pair].busy_s;
		for (direction = 0; direction < LINKS; direction++) {
			packets.received += flows[pair][direction].counts.received;
			packets.delivered += flows[pair][direction].counts.delivered;
		}
	}
	printf("], \"received\": %" PRIu64 ", \"delivered\": %" PRIu64 ", \"dropped\": %" PRIu64
		", \"copies_by_core\": %" PRIu64 ", \"overtakes\": %" PRIu64
		", \"foreign\": %" PRIu64 ", \"busy_s\": %.6f}\n", packets.received,
		packets.delivered, packets.received - packets.delivered, copies.by_core,
		copies.overtakes, copies.foreign, busy_s);
}

static int
run(void)
{
	unsigned int pair;
	int ret = 0;

	n_pairs = rte_lcore_count() - 1;
	for (pair = 0; pair < MOST_PAIRS; pair++)
		workers[pair].dma = -1;
	if (options.copies_by_device)
		ret = start_channels();
	if (ret == 0)
		ret = links_listen(options.sockets, options.copies_by_device);
	if (ret == 0)
		ret = start_flows();
	if (ret < 0)
		return ret;
	start_workers();
	fprintf(stderr, "switching with %u cores\n", n_pairs);
	wait_for_end();
	links_close();
	rte_eal_mp_wait_lcore();
	print_report();
	for (pair = 0; pair < n_pairs && channels[pair] != NULL; pair++)
		channel_close(channels[pair]);
	return 0;
}

int
main(int argc, char **argv)
{
	int ret, consumed;

	/* DPDK's idxd driver would open the queues, which have one user: it gets no files. */
	setenv("DSA_DEV_PATH", "/nonexistent", 1);
	consumed = rte_eal_init(argc, argv);
	if (consumed < 0) {
		fprintf(stderr, "error: EAL does not start: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	options_read(argc - consumed, argv + consumed, &options);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	if (rte_lcore_count() < 2 || rte_lcore_count() > MOST_PAIRS + 1) {
		fprintf(stderr, "error: --lcores has %u cores; needed are the main core and 1 to "
			"%u that serve a pair of virtqueues each, such as 0,1\n",
			rte_lcore_count(), MOST_PAIRS);
		return 2;
	}
	ret = run();
	if (ret < 0)
		fprintf(stderr, "error: %s\n", rte_strerror(-ret));
	rte_eal_cleanup();
	return ret < 0 ? 1 : 0;
}
