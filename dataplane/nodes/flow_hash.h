/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_FLOW_HASH_H
#define BP_DATAPLANE_NODES_FLOW_HASH_H

#include <rte_mbuf.h>

#include "shm/fib/fib.h"

/*
 * Hash that selects among several next hops, equal for all packets of a flow. It covers addresses,
 * protocol and ports; no ports if packets of the flow may be fragments; for IPv6 the flow label
 * (RFC 6438) instead of the ports, if it is set. The headers of the packets have been validated.
 */
uint32_t bp_flow_hash4(const struct bp_fib *f, const struct rte_mbuf *m);
uint32_t bp_flow_hash6(const struct bp_fib *f, const struct rte_mbuf *m);

#endif
