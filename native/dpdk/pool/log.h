/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKL_LOG_H
#define SKL_LOG_H

#include <rte_log.h>

extern int skl_mempool_logtype;

#define SKL_LOG(level, ...) rte_log(RTE_LOG_##level, skl_mempool_logtype, "SKIPLINE: " __VA_ARGS__)

#endif
