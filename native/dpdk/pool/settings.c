/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_string_fns.h>

#define VARIABLE(name) "SKIPLINE_SLICE_" name

/* More than slices have. */
#define MOST_SETS 65536

/* Reads one number of `text` up to `end`; NULL if it has no number below `limit`. */
static const char *
read_number(const char *text, const char *end, unsigned long limit, unsigned long *number)
{
	char *after;

	if (text == end || !isdigit((unsigned char)*text))
		return NULL;
	*number = strtoul(text, &after, 10);
	return after > end || *number >= limit ? NULL : after;
}

/* "1,3-5" into has[]. */
static int
read_list(const char *text, const char *end, bool *has, unsigned long limit)
{
	unsigned long first, last;

	for (;; text++) {
		text = read_number(text, end, limit, &first);
		if (text == NULL)
			return -EINVAL;
		last = first;
		if (text < end && *text == '-') {
			text = read_number(text + 1, end, limit, &last);
			if (text == NULL || last < first)
				return -EINVAL;
		}
		memset(&has[first], true, last - first + 1);
		if (text == end)
			return 0;
		if (*text != ',')
			return -EINVAL;
	}
}

int
settings_slices_of(const char *text, unsigned int lcore, struct slice_set *slices)
{
	const char *end, *list;
	unsigned long of;
	int ret = -ENOENT;

	memset(slices, 0, sizeof(*slices));
	for (;; text = end + 1) {
		struct slice_set listed = { 0 };

		end = strchrnul(text, ';');
		list = read_number(text, end, RTE_MAX_LCORE, &of);
		if (list == NULL || list == end || *list != '=' ||
				read_list(list + 1, end, listed.has, SKL_MEMPOOL_MOST_SLICES) < 0)
			return -EINVAL;
		if (of == lcore) {
			*slices = listed;
			ret = 0;
		}
		if (*end == '\0')
			return ret;
	}
}

/* The lcores for a pool in "rx_*=1,2;3": entries for names, and one for all others. */
static int
read_pollers(const char *text, const char *pool_name, struct lcore_set *pollers)
{
	char pattern[RTE_MEMPOOL_NAMESIZE * 2];
	const char *end, *list;
	bool found = false;

	for (;; text = end + 1) {
		struct lcore_set listed = { 0 };

		end = strchrnul(text, ';');
		list = memchr(text, '=', end - text);
		rte_strscpy(pattern, "*", sizeof(pattern));
		if (list != NULL) {
			if ((size_t)(list - text) >= sizeof(pattern))
				return -EINVAL;
			memcpy(pattern, text, list - text);
			pattern[list - text] = '\0';
		}
		if (read_list(list == NULL ? text : list + 1, end, listed.has, RTE_MAX_LCORE) < 0)
			return -EINVAL;
		if (!found && fnmatch(pattern, pool_name, 0) == 0) {
			*pollers = listed;
			found = true;
		}
		if (*end == '\0')
			return found ? 0 : -ENOENT;
	}
}

static void
workers(struct lcore_set *pollers)
{
	unsigned int lcore, found = 0;

	memset(pollers, 0, sizeof(*pollers));
	RTE_LCORE_FOREACH_WORKER(lcore) {
		pollers->has[lcore] = true;
		found++;
	}
	/* Service cores are counted among lcores, but are not workers. */
	if (found == 0)
		pollers->has[rte_get_main_lcore()] = true;
}

static const char *
variable(const char *name)
{
	const char *value = getenv(name);

	return value == NULL || *value == '\0' ? NULL : value;
}

static int
number_variable(const char *name, unsigned long limit, unsigned int *value, char *why,
	size_t why_bytes)
{
	const char *text = variable(name);
	unsigned long number;

	if (text == NULL)
		return 0;
	if (read_number(text, text + strlen(text), limit, &number) != text + strlen(text)) {
		snprintf(why, why_bytes, "%s=%s; allowed: 0 to %lu", name, text, limit - 1);
		return -EINVAL;
	}
	*value = number;
	return 0;
}

/* A variable that may have one of two values beside its default: 1 or 2. The second may be none. */
static int
choice_variable(const char *name, const char *first, const char *second, int *value, char *why,
	size_t why_bytes)
{
	const char *text = variable(name);

	if (text == NULL)
		return 0;
	if (strcmp(text, first) == 0)
		*value = 1;
	else if (second != NULL && strcmp(text, second) == 0)
		*value = 2;
	else
		snprintf(why, why_bytes, "%s=%s; allowed: %s%s%s, or unset", name, text, first,
			second == NULL ? "" : ", ", second == NULL ? "" : second);
	return *value == 0 ? -EINVAL : 0;
}

static int
read_environment(struct skl_mempool_config *config, char *why, size_t why_bytes)
{
	int unplaced = SKL_MEMPOOL_REFUSE, exhausted = SKL_MEMPOOL_FAIL;
	int cache = SKL_MEMPOOL_CACHE_SORTED, placing = SKL_MEMPOOL_PLACE_OBJECTS;

	*config = (struct skl_mempool_config){
		.size = sizeof(*config),
		.table = variable(VARIABLE("TABLE")),
		.latencies = variable(VARIABLE("LATENCIES")),
		.slices = variable(VARIABLE("SLICES")),
		.pollers = variable(VARIABLE("POLLERS")),
	};
	if (number_variable(VARIABLE("NEAREST"), 1024, &config->nearest, why, why_bytes) < 0 ||
	    number_variable(VARIABLE("LINE"), 1024, &config->line, why, why_bytes) < 0 ||
	    number_variable(VARIABLE("SETS"), MOST_SETS + 1, &config->sets, why, why_bytes) < 0 ||
	    choice_variable(VARIABLE("UNPLACED"), "plain", NULL, &unplaced, why, why_bytes) < 0 ||
	    choice_variable(VARIABLE("EXHAUSTED"), "borrow", NULL, &exhausted, why, why_bytes) < 0 ||
	    choice_variable(VARIABLE("CACHE"), "mixed", "one-pool", &cache, why, why_bytes) < 0 ||
	    choice_variable(VARIABLE("PLACING"), "packets", "sets", &placing, why, why_bytes) < 0)
		return -EINVAL;
	config->unplaced = unplaced;
	config->exhausted = exhausted;
	config->cache = cache;
	config->placing = placing;
	return 0;
}

static int
read_cores(const struct skl_mempool_config *config, const char *pool_name,
	struct settings *settings, char *why, size_t why_bytes)
{
	int ret;

	if (config->pollers == NULL) {
		workers(&settings->pollers);
		return 0;
	}
	ret = read_pollers(config->pollers, pool_name, &settings->pollers);
	if (ret == -ENOENT)
		snprintf(why, why_bytes, VARIABLE("POLLERS") "=%s names no lcores for this pool; "
			"add %s=<lcores>, or lcores without a name for all pools",
			config->pollers, pool_name);
	else if (ret < 0)
		snprintf(why, why_bytes, VARIABLE("POLLERS") "=%s; allowed: lcores such as 1,3-5, "
			"or those of each pool: rx_1=1;rx_*=2,3 (lcores below %d)",
			config->pollers, RTE_MAX_LCORE);
	return ret < 0 ? -EINVAL : 0;
}

/* Objects chosen by set are for all cores: what chooses slices for cores has no effect on them. */
static int
check_sets(const struct skl_mempool_config *config, char *why, size_t why_bytes)
{
	bool by_set = config->placing == SKL_MEMPOOL_PLACE_SETS;

	if (!by_set && config->sets != 0) {
		snprintf(why, why_bytes, VARIABLE("SETS") "=%u has no effect without "
			VARIABLE("PLACING") "=sets", config->sets);
		return -EINVAL;
	}
	if (!by_set)
		return 0;
	if (config->sets == 0 || config->sets > MOST_SETS || (config->sets & (config->sets - 1)) != 0) {
		snprintf(why, why_bytes, VARIABLE("PLACING") "=sets needs " VARIABLE("SETS") ", the sets "
			"of a slice: a power of two up to %d (`skipline-host slices sets` tells), not %u",
			MOST_SETS, config->sets);
		return -EINVAL;
	}
	if (config->latencies != NULL || config->slices != NULL || config->line != 0) {
		snprintf(why, why_bytes, VARIABLE("PLACING") "=sets places packet data for all cores; unset "
			VARIABLE("LATENCIES") ", " VARIABLE("SLICES") " and " VARIABLE("LINE"));
		return -EINVAL;
	}
	return 0;
}

int
settings_read(const struct skl_mempool_config *config, const char *pool_name,
	struct settings *settings, char *why, size_t why_bytes)
{
	struct skl_mempool_config environment;

	if (config == NULL) {
		if (read_environment(&environment, why, why_bytes) < 0)
			return -EINVAL;
		config = &environment;
	} else if (config->size != sizeof(*config)) {
		snprintf(why, why_bytes, "pool_config is no struct skl_mempool_config of this version");
		return -EINVAL;
	}
	if (config->table == NULL) {
		snprintf(why, why_bytes, "no slice table; set " VARIABLE("TABLE") " to its file");
		return -EINVAL;
	}
	if (check_sets(config, why, why_bytes) < 0)
		return -EINVAL;
	if (config->sets == 0 && (config->latencies == NULL) == (config->slices == NULL)) {
		snprintf(why, why_bytes, "set one of " VARIABLE("LATENCIES") " (a file, the nearest "
			"slices are taken) and " VARIABLE("SLICES") " (such as 1=0,2;2=4)");
		return -EINVAL;
	}
	if (config->placing == SKL_MEMPOOL_PLACE_PACKETS && config->cache == SKL_MEMPOOL_CACHE_MIXED) {
		snprintf(why, why_bytes, VARIABLE("PLACING") "=packets needs to see what cores get; "
			VARIABLE("CACHE") "=mixed hides it");
		return -EINVAL;
	}
	*settings = (struct settings){
		.table = config->table,
		.latencies = config->latencies,
		.slices = config->slices,
		.nearest = config->nearest == 0 ? 1 : config->nearest,
		.line = config->line,
		.unplaced = config->unplaced,
		.exhausted = config->exhausted,
		.cache = config->cache,
		.placing = config->placing,
		.sets = config->sets,
	};
	return read_cores(config, pool_name, settings, why, why_bytes);
}
