/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "flow.h"

static const char usage[] =
	"usage: skipline-vhost-switch <EAL options> -- --socket PATH --socket PATH [options]\n"
	"Moves packets between two guests of vhost-user, until both have gone. Each core but main\n"
	"serves a pair of virtqueues of both.\n"
	"  --socket PATH   where a guest connects; given twice\n"
	"  --copy WHO      cpu: the cores copy (default); dsa: work queues of a DSA\n"
	"  --burst N       packets moved at once (32)\n"
	"  --queues N      work queues of each core (all that there are, shared out)\n"
	"  --objects N     packets of the pool (8191)\n"
	"  --time-turns    report the CPU time of turns that move packets, for a system call each\n"
	"  --without WHAT  for tests: repair (a failed copy passes for done), order (as many\n"
	"                  copies are released as have ended, whichever they are)\n";

static unsigned int
number(const char *name, const char *text, unsigned int least, unsigned int most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || *text == '-' || value < least || value > most) {
		fprintf(stderr, "error: --%s %s; allowed: %u to %u\n", name, text, least, most);
		exit(2);
	}
	return value;
}

/* Whether a value is the second of two allowed words. */
static bool
is_second(const char *name, const char *text, const char *first, const char *second)
{
	if (strcmp(text, first) != 0 && strcmp(text, second) != 0) {
		fprintf(stderr, "error: --%s %s; allowed: %s, %s\n", name, text, first, second);
		exit(2);
	}
	return strcmp(text, second) == 0;
}

static void
add_socket(struct options *options, const char *path)
{
	unsigned int i = 0;

	const char *wrong = NULL;

	while (i < LINKS && options->sockets[i] != NULL && strcmp(options->sockets[i], path) != 0)
		i++;
	if (i == LINKS)
		wrong = "the switch has two guests";
	else if (options->sockets[i] != NULL)
		wrong = "each guest has a socket of its own";
	else if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		wrong = "a path of a socket has at most 107 characters";
	if (wrong != NULL) {
		fprintf(stderr, "error: --socket %s; %s\n", path, wrong);
		exit(2);
	}
	options->sockets[i] = path;
}

static void
leave_out(struct channel_faults *faults, const char *what)
{
	if (is_second("without", what, "repair", "order"))
		faults->releases_any = true;
	else
		faults->passes_failed = true;
}

void
options_read(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "copy", required_argument, NULL, 'c' },
		{ "burst", required_argument, NULL, 'b' },
		{ "queues", required_argument, NULL, 'q' },
		{ "objects", required_argument, NULL, 'n' },
		{ "time-turns", no_argument, NULL, 't' },
		{ "without", required_argument, NULL, 'w' },
		{ 0 }
	};
	int option, index = 0;

	*options = (struct options){ .burst = MOST_BURST, .objects = 8191 };
	while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
		const char *name = known[index].name;

		switch (option) {
		case 's': add_socket(options, optarg); break;
		case 'c': options->copies_by_device = is_second(name, optarg, "cpu", "dsa"); break;
		case 'b': options->burst = number(name, optarg, 1, MOST_BURST); break;
		case 'q': options->queues = number(name, optarg, 1, CHANNEL_QUEUES); break;
		case 'n': options->objects = number(name, optarg, 1023, 1 << 20); break;
		case 't': options->times_turns = true; break;
		case 'w': leave_out(&options->faults, optarg); break;
		default: fputs(usage, stderr); exit(2);
		}
	}
	if (optind != argc || options->sockets[LINKS - 1] == NULL) {
		fputs(usage, stderr);
		exit(2);
	}
}
