/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two guests in one program: each sends to the other one, through virtio-user and the switch, and
 * checks all frames that arrive (frames.h). Their ports are the first two of EAL.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "frames.h"

#define GUESTS 2
#define MOST_PAIRS 8
#define BURST 32
#define OBJECTS 16383

/* A pair of virtqueues of a guest. */
struct end {
	uint16_t port, queue;
	struct stream sends; /* frames that it sends, which the other guest checks */
	struct rte_mbuf *waiting[BURST];
	unsigned int first, n;
};

static struct end ends[GUESTS][MOST_PAIRS];
static unsigned int pairs = 1, idle_seconds = 10;
static uint64_t packets, leave_after;
static struct lengths lengths = { 64, MOST_FRAME_BYTES };

static const char usage[] =
	"usage: skipline-vhost-guests <EAL options> -- --packets N [options]\n"
	"Two guests send N packets to each other and check those that arrive.\n"
	"  --packets N         each way, over all pairs of virtqueues\n"
	"  --bytes N or N-M    size of a frame (64-1518)\n"
	"  --pairs N           pairs of virtqueues of each guest (1)\n"
	"  --idle-seconds N    give up when nothing arrived for as long (10)\n"
	"  --leave-after N     end at once, as after a crash, when so many have arrived\n";

/* Reads the number at the beginning of a text up to `end`, or the whole text if `end` is NULL. */
static unsigned long
number(const char *name, const char *text, char **end, unsigned long least, unsigned long most)
{
	char *behind;
	unsigned long value = strtoul(text, &behind, 10);

	if (end != NULL)
		*end = behind;
	if (behind == text || *text == '-' || value < least || value > most ||
			(*behind != '\0' && (end == NULL || *behind != '-'))) {
		fprintf(stderr, "error: --%s %s; allowed: %lu to %lu\n", name, text, least, most);
		exit(2);
	}
	return value;
}

static void
read_lengths(const char *text)
{
	char *end;

	lengths.least = number("bytes", text, &end, LEAST_FRAME_BYTES, MOST_FRAME_BYTES);
	lengths.most = lengths.least;
	if (*end == '-')
		lengths.most = number("bytes", end + 1, NULL, lengths.least, MOST_FRAME_BYTES);
}

static void
read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "packets", required_argument, NULL, 'p' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "pairs", required_argument, NULL, 'q' },
		{ "idle-seconds", required_argument, NULL, 'i' },
		{ "leave-after", required_argument, NULL, 'l' },
		{ 0 }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'p': packets = number("packets", optarg, NULL, 1, 1UL << 40); break;
		case 'b': read_lengths(optarg); break;
		case 'q': pairs = number("pairs", optarg, NULL, 1, MOST_PAIRS); break;
		case 'i': idle_seconds = number("idle-seconds", optarg, NULL, 1, 3600); break;
		case 'l': leave_after = number("leave-after", optarg, NULL, 1, 1UL << 40); break;
		default: fputs(usage, stderr); exit(2);
		}
	}
	if (optind != argc || packets < pairs) {
		fputs(usage, stderr);
		exit(2);
	}
}

static int
start_port(uint16_t port, struct rte_mempool *pool)
{
	const struct rte_eth_conf plain = { 0 };
	uint16_t queue;
	int ret = rte_eth_dev_configure(port, pairs, pairs, &plain);

	for (queue = 0; ret == 0 && queue < pairs; queue++) {
		ret = rte_eth_rx_queue_setup(port, queue, 0, rte_socket_id(), NULL, pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(port, queue, 0, rte_socket_id(), NULL);
	}
	return ret == 0 ? rte_eth_dev_start(port) : ret;
}

static int
start(struct rte_mempool *pool)
{
	uint16_t guest, queue;
	int ret = 0;

	for (guest = 0; ret == 0 && guest < GUESTS; guest++) {
		for (queue = 0; ret == 0 && queue < pairs; queue++) {
			ends[guest][queue].port = guest;
			ends[guest][queue].queue = queue;
			ret = stream_start(&ends[guest][queue].sends, queue * GUESTS + guest,
				packets / pairs + (queue < packets % pairs));
		}
		if (ret == 0)
			ret = start_port(guest, pool);
	}
	return ret;
}

/* Makes frames when none is left, and sends as many as the virtqueue has room for. */
static bool
send_some(struct end *end, struct rte_mempool *pool)
{
	struct stream *stream = &end->sends;
	uint16_t sent;

	if (end->n == 0) {
		end->first = 0;
		while (end->n < BURST && stream->sent < stream->packets) {
			struct rte_mbuf *packet = rte_pktmbuf_alloc(pool);

			if (packet == NULL)
				break;
			frame_write(packet, stream->id, stream->sent++, &lengths);
			end->waiting[end->n++] = packet;
		}
	}
	sent = rte_eth_tx_burst(end->port, end->queue, end->waiting + end->first, end->n);
	end->first += sent;
	end->n -= sent;
	return sent > 0;
}

static bool
receive_some(struct end *end, struct stream *stream)
{
	struct rte_mbuf *arrived[BURST];
	uint16_t i, n = rte_eth_rx_burst(end->port, end->queue, arrived, BURST);

	for (i = 0; i < n; i++)
		frame_check(stream, arrived[i], &lengths);
	rte_pktmbuf_free_bulk(arrived, n);
	return n > 0;
}

static uint64_t
received(unsigned int guest)
{
	uint64_t sum = 0;
	unsigned int queue;

	for (queue = 0; queue < pairs; queue++)
		sum += ends[guest][queue].sends.received;
	return sum;
}

/* Runs both guests in one thread, and returns the seconds from the first frame to the last. */
static double
exchange(struct rte_mempool *pool)
{
	const double hertz = rte_get_tsc_hz();
	uint64_t begun = rte_rdtsc(), last = begun;
	unsigned int guest, queue;

	while (received(0) + received(1) < 2 * packets &&
			rte_rdtsc() - last < idle_seconds * hertz) {
		bool arrived = false, sent = false;

		for (guest = 0; guest < GUESTS; guest++)
			for (queue = 0; queue < pairs; queue++) {
				sent |= send_some(&ends[guest][queue], pool);
				arrived |= receive_some(&ends[guest][queue],
					&ends[1 - guest][queue].sends);
			}
		if (leave_after > 0 && received(0) + received(1) >= leave_after)
			_exit(0);
		if (arrived)
			last = rte_rdtsc();
		else if (!sent)
			sched_yield();
	}
	return (last - begun) / hertz;
}

/* Prints the verdicts; returns 1 if a frame is damaged, lost, doubled or out of order. */
static int
report(double seconds)
{
	struct verdict all = { 0 };
	unsigned int guest, queue;
	uint64_t lost;

	for (guest = 0; guest < GUESTS; guest++)
		for (queue = 0; queue < pairs; queue++) {
			const struct verdict *one = &ends[guest][queue].sends.verdict;

			all.whole += one->whole;
			all.damaged += one->damaged;
			all.disordered += one->disordered;
			all.doubled += one->doubled;
		}
	lost = 2 * packets - all.whole;
	printf("{\"packets_each_way\": %" PRIu64 ", \"whole\": %" PRIu64 ", \"lost\": %" PRIu64
		", \"damaged\": %" PRIu64 ", \"disordered\": %" PRIu64 ", \"doubled\": %" PRIu64
		", \"seconds\": %.6f, \"packets_per_s\": %.0f}\n", packets, all.whole, lost,
		all.damaged, all.disordered, all.doubled, seconds,
		(received(0) + received(1)) / seconds);
	return lost > 0 || all.damaged > 0 || all.disordered > 0 || all.doubled > 0;
}

int
main(int argc, char **argv)
{
	int ret, consumed = rte_eal_init(argc, argv);
	struct rte_mempool *pool;
	uint16_t guest;

	if (consumed < 0) {
		fprintf(stderr, "error: EAL does not start: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	read_options(argc - consumed, argv + consumed);
	signal(SIGPIPE, SIG_IGN); /* if the switch ends first, lost frames are still reported */
	if (rte_eth_dev_count_avail() < GUESTS) {
		fprintf(stderr, "error: EAL has %u ports; %u are needed, such as "
			"--vdev net_virtio_user0,path=SOCKET\n", rte_eth_dev_count_avail(), GUESTS);
		return 2;
	}
	pool = rte_pktmbuf_pool_create("frames", OBJECTS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
		rte_socket_id());
	ret = pool == NULL ? -rte_errno : start(pool);
	if (ret < 0) {
		fprintf(stderr, "error: %s\n", rte_strerror(-ret));
		return 1;
	}
	ret = report(exchange(pool));
	for (guest = 0; guest < GUESTS; guest++) {
		rte_eth_dev_stop(guest);
		rte_eth_dev_close(guest);
	}
	rte_eal_cleanup();
	return ret;
}
