/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain forwarder: one queue of each port for each core, and a pool whose driver is named on the
 * command line. It reports how many packets it forwarded, how fast, and where their header lines
 * were.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "options.h"
#include "placements.h"
#include "ports.h"

struct core {
	uint16_t queue;
	uint64_t received; /* read by main while it grows */
	uint64_t sent;
	struct placements *placements; /* NULL: not wanted */
	int failed;
} __rte_cache_aligned;

#define TURN_MS 10

static struct options options;
static struct core cores[RTE_MAX_LCORE];
static volatile sig_atomic_t stopped;

static void
stop(int signal __rte_unused)
{
	stopped = 1;
}

static void
swap_addresses(struct rte_mbuf *packet)
{
	struct rte_ether_hdr *header = rte_pktmbuf_mtod(packet, struct rte_ether_hdr *);
	struct rte_ether_addr source = header->src_addr;

	header->src_addr = header->dst_addr;
	header->dst_addr = source;
}

static void
transmit(struct core *core, uint16_t port, struct rte_mbuf **packets, uint16_t n)
{
	uint16_t sent;

	if (options.free_in_bulk) {
		rte_pktmbuf_free_bulk(packets, n);
		return;
	}
	sent = rte_eth_tx_burst(port, core->queue, packets, n);
	while (options.wait_for_room && sent < n && !stopped)
		sent += rte_eth_tx_burst(port, core->queue, packets + sent, n - sent);
	if (sent < n)
		rte_pktmbuf_free_bulk(packets + sent, n - sent);
	core->sent += sent;
}

/* CPU time of this thread: time that the system gives to other threads does not count. */
static double
cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Receives a burst from a port, if one has arrived, and sends it out of another port. */
static void
forward_burst(struct core *core, uint16_t from, uint16_t to)
{
	struct rte_mbuf *packets[512];
	uint16_t i, got = rte_eth_rx_burst(from, core->queue, packets, options.burst);

	if (got == 0)
		return;
	if (core->placements != NULL && core->failed == 0)
		core->failed = placements_note(core->placements, packets, got, options.line);
	for (i = 0; i < got; i++)
		swap_addresses(packets[i]);
	transmit(core, to, packets, got);
	__atomic_store_n(&core->received, core->received + got, __ATOMIC_RELAXED);
}

/* Polls one queue of each port until the program stops. */
static int
forward(void *argument)
{
	struct core *core = argument;
	uint16_t port, ports = rte_eth_dev_count_avail();

	while (!stopped && core->failed == 0)
		RTE_ETH_FOREACH_DEV(port)
			forward_burst(core, port, (port + 1) % ports);
	return core->failed;
}

/* Packets for each second that this thread ran on a port that it polls alone. */
static double
take_turn(struct core *core, uint16_t port)
{
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() * TURN_MS / 1000, before = core->received;
	double start = cpu_seconds();

	while (!stopped && rte_rdtsc() < end)
		forward_burst(core, port, port);
	return (core->received - before) / (cpu_seconds() - start);
}

/* Each port is first in every second pair, so that drift affects both alike. */
static int
forward_in_turns(void *argument)
{
	struct core *core = argument;
	unsigned int pair, first;
	double rate[2];

	for (pair = 0; !stopped && pair < options.pairs; pair++) {
		first = pair % 2;
		rate[first] = take_turn(core, first);
		rate[!first] = take_turn(core, !first);
		if (!stopped)
			printf("%u %.0f %.0f\n", core->queue, rate[0], rate[1]);
	}
	stopped = 1;
	return 0;
}

static uint64_t
received(void)
{
	uint64_t sum = 0;
	unsigned int lcore;

	for (lcore = 0; lcore < RTE_MAX_LCORE; lcore++)
		sum += __atomic_load_n(&cores[lcore].received, __ATOMIC_RELAXED);
	return sum;
}

/* Seconds from the first to the last packet seen, as main sees them. */
static double
wait_for_end(void)
{
	uint64_t start = rte_rdtsc(), first = 0, last = start, seen = 0, now, count;
	const double hertz = rte_get_tsc_hz();

	while (!stopped) {
		rte_delay_us_sleep(1000);
		now = rte_rdtsc();
		count = received();
		if (count != seen && first == 0)
			first = now;
		if (count != seen)
			last = now;
		seen = count;
		if ((options.packets > 0 && count >= options.packets) ||
				(options.seconds > 0 && now - start > options.seconds * hertz) ||
				now - last > options.idle_seconds * hertz)
			stopped = 1;
	}
	return first == 0 ? 0 : (last - first) / hertz;
}

static int
write_placements(void)
{
	FILE *file = fopen(options.placements, "w");
	unsigned int lcore;
	int ret = 0;

	if (file == NULL)
		return -errno;
	fprintf(file, "lcore,physical_address,packets\n");
	for (lcore = 0; ret == 0 && lcore < RTE_MAX_LCORE; lcore++)
		if (cores[lcore].placements != NULL)
			ret = placements_write(cores[lcore].placements, file);
	return fclose(file) == 0 ? ret : -errno;
}

/* Queues are numbered in the order of the cores that poll. */
static int
start_cores(void)
{
	unsigned int lcore, queue = 0;
	char name[16];

	RTE_LCORE_FOREACH_WORKER(lcore) {
		cores[lcore].queue = queue++;
		if (options.placements != NULL) {
			snprintf(name, sizeof(name), "lines_%u", lcore);
			cores[lcore].placements = placements_create(name, options.objects * 4);
			if (cores[lcore].placements == NULL)
				return -rte_errno;
		}
	}
	fprintf(stderr, "forwarding with %u cores\n", queue);
	RTE_LCORE_FOREACH_WORKER(lcore)
		rte_eal_remote_launch(options.pairs > 0 ? forward_in_turns : forward, &cores[lcore],
			lcore);
	return 0;
}

static int
summarise(double seconds)
{
	uint64_t sent = 0, all = received();
	unsigned int lcore;
	int ret = 0;

	for (lcore = 0; lcore < RTE_MAX_LCORE; lcore++) {
		sent += cores[lcore].sent;
		if (cores[lcore].failed < 0)
			ret = cores[lcore].failed;
	}
	if (ret == 0 && options.placements != NULL)
		ret = write_placements();
	if (ret < 0)
		fprintf(stderr, "error: placements of header lines: %s\n", rte_strerror(-ret));
	printf("{\"pool_ops\": \"%s\", \"received\": %" PRIu64 ", \"sent\": %" PRIu64
		", \"seconds\": %.6f, \"packets_per_s\": %.0f}\n",
		options.pool_ops == NULL ? "" : options.pool_ops, all, sent, seconds,
		seconds > 0 ? all / seconds : 0);
	return ret;
}

int
main(int argc, char **argv)
{
	int ret, consumed = rte_eal_init(argc, argv);

	if (consumed < 0) {
		fprintf(stderr, "error: EAL does not start: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	options_read(argc - consumed, argv + consumed, &options);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	if (rte_lcore_count() < 2) {
		fprintf(stderr, "error: no core to poll with; needed beside main: one for each queue, "
			"such as --lcores 0,1\n");
		return 2;
	}
	ret = ports_start(&options, rte_lcore_count() - 1);
	if (ret == 0)
		ret = start_cores();
	if (ret == 0) {
		double seconds = wait_for_end();

		rte_eal_mp_wait_lcore();
		ret = summarise(seconds);
		ports_stop();
	}
	rte_eal_cleanup();
	return ret < 0 ? 1 : 0;
}
