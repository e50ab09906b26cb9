/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports where an unmodified application's received header lines were. It is loaded with EAL's -d
 * and asked by telemetry. /skipline/watch,<line> begins with all queues of all ports;
 * /skipline/placements,<file> writes what was seen so far.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_telemetry.h>

#include "../forwarder/placements.h"

#define MOST_QUEUES 32
#define MOST_LINES 65536

struct watched {
	struct placements *placements;
	int failed;
};

static struct watched watched[MOST_QUEUES];
static unsigned int queues, line;

static uint16_t
note(uint16_t port __rte_unused, uint16_t queue __rte_unused, struct rte_mbuf **packets, uint16_t n,
	uint16_t most __rte_unused, void *argument)
{
	struct watched *of = argument;

	if (of->failed == 0)
		of->failed = placements_note(of->placements, packets, n, line);
	return n;
}

static int
watch_queue(uint16_t port, uint16_t queue)
{
	struct watched *of = &watched[queues];
	char name[32];

	if (queues == MOST_QUEUES)
		return -ENOSPC;
	snprintf(name, sizeof(name), "lines_%u_%u", port, queue);
	of->placements = placements_create(name, MOST_LINES);
	if (of->placements == NULL || rte_eth_add_rx_callback(port, queue, note, of) == NULL)
		return -ENOMEM;
	queues++;
	return 0;
}

static int
answer_watch(const char *command __rte_unused, const char *text, struct rte_tel_data *answer)
{
	struct rte_eth_dev_info info;
	uint16_t port, queue;
	int ret = 0;

	if (queues > 0)
		return -EBUSY;
	line = text == NULL ? 0 : strtoul(text, NULL, 10);
	RTE_ETH_FOREACH_DEV(port) {
		ret = rte_eth_dev_info_get(port, &info);
		for (queue = 0; ret == 0 && queue < info.nb_rx_queues; queue++)
			ret = watch_queue(port, queue);
		if (ret < 0)
			return ret;
	}
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_u64(answer, "queues", queues);
	return 0;
}

static int
answer_placements(const char *command __rte_unused, const char *path, struct rte_tel_data *answer)
{
	FILE *file = path == NULL ? NULL : fopen(path, "w");
	unsigned int queue;
	int ret = 0;

	if (file == NULL)
		return -EINVAL;
	fprintf(file, "lcore,physical_address,packets\n");
	for (queue = 0; ret == 0 && queue < queues; queue++)
		ret = watched[queue].failed < 0 ? watched[queue].failed :
			placements_write(watched[queue].placements, file);
	if (fclose(file) != 0 || ret < 0)
		return ret < 0 ? ret : -EIO;
	rte_tel_data_string(answer, path);
	return 0;
}

RTE_INIT(placement_probe)
{
	rte_telemetry_register_cmd("/skipline/watch", answer_watch,
		"Records where header lines of received packets are from now on. Takes the header line");
	rte_telemetry_register_cmd("/skipline/placements", answer_placements,
		"Writes the placements recorded. Takes the file");
}
