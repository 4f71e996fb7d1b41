/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_FLOW_HASH_H
#define BP_DATAPLANE_NODES_FLOW_HASH_H

#include <rte_mbuf.h>

#include "shm/fib/fib.h"

/*
 * What chooses among several next hops: the same for every packet of a flow. Addresses, protocol
 * and ports; without ports where some packets of the flow are fragments; for IPv6 the flow label
 * (RFC 6438) instead of the ports, where a host sets one. The packets' headers were checked.
 */
uint32_t bp_flow_hash4(const struct bp_fib *f, const struct rte_mbuf *m);
uint32_t bp_flow_hash6(const struct bp_fib *f, const struct rte_mbuf *m);

#endif
