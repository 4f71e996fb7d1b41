/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/nodes/flow_hash.h"

#include "proto/net/ip.h"
#include "shm/hash.h"

#define FRAGMENTED 0x3fffu /* more fragments, or an offset */
#define FLOW_LABEL 0xfffffu

uint32_t bp_flow_hash4(const struct bp_fib *f, const struct rte_mbuf *m)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);
	uint8_t protocol = h[BP_IP4_PROTOCOL];
	uint32_t header = (h[0] & 0xfu) * 4, ports = 0;

	if ((protocol == BP_PROTO_TCP || protocol == BP_PROTO_UDP) &&
		(bp_be16(h + BP_IP4_FRAGMENT) & FRAGMENTED) == 0 &&
		BP_ETHER_HDR + header + 4 <= m->data_len)
		memcpy(&ports, h + header, 4);
	return (uint32_t)(bp_fold(bp_load64(h + BP_IP4_SRC) ^ f->hash_key[0],
				  (ports | (uint64_t)protocol << 32) ^ f->hash_key[1]) >>
			  32);
}

uint32_t bp_flow_hash6(const struct bp_fib *f, const struct rte_mbuf *m)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);
	uint32_t label = bp_be32(h) & FLOW_LABEL, ports = 0;
	uint8_t next = h[BP_IP6_NEXT];
	struct {
		uint8_t addresses[32];
		uint32_t label, ports;
	} key;

	if (label == 0 && (next == BP_PROTO_TCP || next == BP_PROTO_UDP) &&
		m->data_len >= BP_ETHER_HDR + BP_IP6_HDR + 4)
		memcpy(&ports, h + BP_IP6_HDR, 4);
	memcpy(key.addresses, h + BP_IP6_SRC, sizeof(key.addresses));
	key.label = label;
	key.ports = ports;
	return (uint32_t)(bp_hash_bytes(f->hash_key, &key, sizeof(key)) >> 32);
}
