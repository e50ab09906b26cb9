/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
	"usage: skipline-forward <EAL options> -- [options]\n"
	"Swaps the MAC addresses of packets from each port and sends them out of the next.\n"
	"  --pool-ops NAME     mempool driver, such as ring_mp_mc or skipline_slice\n"
	"  --other-ops NAME    mempool driver of every second port\n"
	"  --pool-per-queue    pools pool_<port>_<queue> instead of one pool_<port>\n"
	"  --objects N         of each pool (8191)\n"
	"  --cache N           objects of the per-core cache (256)\n"
	"  --burst N           packets polled at once (32)\n"
	"  --wait-for-room     of a full transmit queue, instead of dropping packets\n"
	"  --free-in-bulk      free packets in bulk instead of sending them\n"
	"  --packets N         stop after N packets\n"
	"  --pairs N           poll ports 0 and 1 alone in turns of 10 ms, N each, and print both rates\n"
	"  --new-order         with --pairs: leave new pools as they are, in order of address\n"
	"  --seconds N         stop after N seconds\n"
	"  --idle-seconds N    stop when nothing arrived for N seconds (5)\n"
	"  --placements FILE   write physical addresses of received header lines, and how often\n"
	"  --line N            the header line that is written there (0)\n";

static uint64_t
number(const char *name, const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (end == text || *end != '\0' || *text == '-' || value < least || value > most) {
		fprintf(stderr, "error: --%s %s; allowed: %lu to %lu\n", name, text, least, most);
		exit(2);
	}
	return value;
}

void
options_read(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "pool-ops", required_argument, NULL, 'o' },
		{ "other-ops", required_argument, NULL, 'O' },
		{ "pairs", required_argument, NULL, 'P' },
		{ "new-order", no_argument, NULL, 'N' },
		{ "pool-per-queue", no_argument, NULL, 'q' },
		{ "objects", required_argument, NULL, 'n' },
		{ "cache", required_argument, NULL, 'c' },
		{ "burst", required_argument, NULL, 'b' },
		{ "wait-for-room", no_argument, NULL, 'w' },
		{ "free-in-bulk", no_argument, NULL, 'F' },
		{ "packets", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 's' },
		{ "idle-seconds", required_argument, NULL, 'i' },
		{ "placements", required_argument, NULL, 'f' },
		{ "line", required_argument, NULL, 'l' },
		{ 0 }
	};
	int option, index = 0;

	*options = (struct options){ .objects = 8191, .cache = 256, .burst = 32, .idle_seconds = 5 };
	while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
		const char *name = known[index].name;

		switch (option) {
		case 'o': options->pool_ops = optarg; break;
		case 'O': options->other_ops = optarg; break;
		case 'P': options->pairs = number(name, optarg, 1, 100000); break;
		case 'N': options->new_order = true; break;
		case 'q': options->pool_per_queue = true; break;
		case 'n': options->objects = number(name, optarg, 64, 1 << 20); break;
		case 'c': options->cache = number(name, optarg, 0, 512); break;
		case 'b': options->burst = number(name, optarg, 1, 512); break;
		case 'w': options->wait_for_room = true; break;
		case 'F': options->free_in_bulk = true; break;
		case 'p': options->packets = number(name, optarg, 1, UINT64_MAX); break;
		case 's': options->seconds = number(name, optarg, 1, 86400); break;
		case 'i': options->idle_seconds = number(name, optarg, 1, 86400); break;
		case 'f': options->placements = optarg; break;
		case 'l': options->line = number(name, optarg, 0, 31); break;
		default: fputs(usage, stderr); exit(2);
		}
	}
	if (optind != argc) {
		fputs(usage, stderr);
		exit(2);
	}
}
