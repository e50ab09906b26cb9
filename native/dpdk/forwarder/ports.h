/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORWARDER_PORTS_H
#define FORWARDER_PORTS_H

#include "options.h"

/*
 * Makes pools, and starts all ports with `queues` queues in each direction. Negative errno, with
 * the step that failed on the standard error.
 */
int ports_start(const struct options *options, unsigned int queues);

void ports_stop(void);

#endif
