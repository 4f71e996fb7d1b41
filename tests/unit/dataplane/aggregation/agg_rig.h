/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_AGGREGATION_AGG_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_AGGREGATION_AGG_RIG_H

#include "dataplane/aggregation/worker.h"
#include "tests/unit/dataplane/fixture.h"

/*
 * UDP datagrams for a rig, and checks of its output with code of this file: of the product it uses
 * only the reader of proto/aggregation/agg_full.h.
 */

/* Two ports of a bridge, A and B. */
#define AGG_PORTS                                                                                  \
	"version: 1\nports:\n"                                                                     \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"

/* A datagram. Macs: 02:00:00:00:00:NN. */
struct udp {
	const char *src, *dst; /* text of either family */
	const void *payload;
	uint32_t len;
	uint16_t sport, dport;
	uint16_t vlan[2]; /* 0: no tag; outer, inner */
	uint8_t src_mac, dst_mac, tos, hops;
	bool df, no_checksum;
	uint16_t wrong; /* added to the UDP checksum */
};

#define UDP_FRAME_MAX 2048
#define AGG_PAYLOAD 16u

/* Message i of many senders to 10.1.0.9:5555, 16 bytes, Don't Fragment. */
struct udp agg_message(unsigned i);
uint32_t agg_frame(const struct udp *u, uint8_t f[UDP_FRAME_MAX]);

/* Puts messages first .. first + n - 1 in at `port`, without a walk. */
void agg_put(struct rig *r, unsigned port, unsigned first, unsigned n);
void agg_put_udp(struct rig *r, unsigned port, const struct udp *u);
/* The next frame that left by `port` is that datagram, to the last byte. */
void agg_expect_udp(struct rig *r, unsigned port, const struct udp *u);
void agg_expect(struct rig *r, unsigned port, unsigned first, unsigned n);

/* An aggregate of format full that left: right in all sums, else the test fails. */
struct agg_seen {
	uint8_t frame[UDP_FRAME_MAX];
	uint32_t len, l3;
	uint8_t family, tos, hops;
	struct bp_agg_full head;
	const uint8_t *payload; /* in frame */
	struct bp_agg_message message[BP_AGG_FULL_MOST];
};
/* Takes it out; NULL is allowed. */
void agg_take(struct rig *r, unsigned port, struct agg_seen *s);
/* It holds exactly messages first .. first + n - 1. */
void agg_take_of(struct rig *r, unsigned port, struct agg_seen *s, unsigned first, unsigned n);

/* The first entry of decapsulate has no pacing gap from the next walk on. */
void agg_unpace(struct rig *r);
/* The worker's clocks continue; no walk. */
void agg_pass(struct rig *r, uint64_t ns);

/* A router whose next hops on port b are known. */
#define AGG_ROUTER                                                                                 \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0, mac: \"02:00:00:00:00:0a\", routed: {addresses: "        \
	"[10.0.0.1/24, \"fd00::1/64\"], host_interface: {backend: off}}}\n"                        \
	"  - {name: b, device: net_null1, mac: \"02:00:00:00:00:0b\", routed: {addresses: "        \
	"[10.9.0.1/24, \"fd09::1/64\"], host_interface: {backend: off}}}\n"                        \
	"routing:\n"                                                                               \
	"  static_routes:\n"                                                                       \
	"    - {prefix: 10.1.0.0/16, via: 10.9.0.2}\n"                                             \
	"    - {prefix: \"fd01::/16\", via: \"fd09::2\"}\n"                                        \
	"  static_neighbors:\n"                                                                    \
	"    - {address: 10.9.0.2, mac: \"02:00:00:00:00:99\", interface: b}\n"                    \
	"    - {address: \"fd09::2\", mac: \"02:00:00:00:00:99\", interface: b}\n"

#endif
