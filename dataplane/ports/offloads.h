/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_OFFLOADS_H
#define BP_DATAPLANE_PORTS_OFFLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/offloads.h"

/*
 * Which offloads of a device are used: decided once, before it is configured, from what its driver
 * offers, what there is a use for, and what the configuration says. Pure functions, that know no
 * device; dataplane/ports/ports.c asks it and tells it.
 */

/* What TCP needs first; a driver without it may at least know addresses, which are symmetric too.
 */
#define BP_RSS_TYPES                                                                               \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |          \
		RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)
/* What a device must compute for a frame with a partial checksum; the IPv4 header's is complete. */
#define BP_TX_CHECKSUMS (RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)

struct bp_offload_facts {
	/* as the driver says: RTE_ETH_RX_OFFLOAD_*, RTE_ETH_TX_OFFLOAD_*, RTE_ETH_RSS_* */
	uint64_t rx_capa, tx_capa, rss_types;
	/* see struct bp_driver */
	bool reports_partial, software_checksum, sends_chains, no_rss, fanout, one_buffer;
	/* what there is a use for */
	bool reads_checksums; /* a service asks whether the checksums of a frame are right */
	bool shares_out;      /* the configuration has several workers, or queues of the port */
	uint32_t mtu;
	bool mtu_given;              /* by the configuration; else it may be lowered */
	uint32_t room, capacity_max; /* octets that a frame of that MTU has at most; a buffer */
	/* for bp_offloads_send(), once all ports have been asked what they receive */
	bool pieces;   /* frames in several buffers may leave by the port */
	bool partials; /* so may frames with partial checksums, left to it */
};

struct bp_offloads {
	struct bp_port_offload of[BP_OFFLOADS];
	uint64_t rx, tx;     /* to ask the device for: RTE_ETH_RX_OFFLOAD_*, RTE_ETH_TX_OFFLOAD_* */
	uint64_t rss;        /* RTE_ETH_RSS_* that it may hash over; 0: it does not share out */
	uint32_t mtu;        /* what the buffers have room for, where it isn't `mtu` */
	bool partials;       /* it tells of partial checksums */
	bool distrust;       /* what it says of checksums does not count */
	bool restore_tags;   /* VLAN tags that it took off are put back */
	bool one_segment;    /* frames in pieces are put together before they leave */
	bool send_checksums; /* it completes partial checksums */
};

/* Decides all that is of receiving. `word`: BP_OFFLOADS of enum bp_offload_word. Returns 0, or -1
 * with what is wrong: it follows the port's name, as "is told `rss: on`, but...". */
int bp_offloads_receive(const struct bp_offload_facts *f, const uint8_t *word,
	struct bp_offloads *o, char *err, size_t err_size);
/* Whether partial checksums can be left to the device. */
bool bp_offloads_may_send_checksums(const struct bp_offload_facts *f, const uint8_t *word);
/* Then, what is of sending. */
int bp_offloads_send(const struct bp_offload_facts *f, const uint8_t *word, struct bp_offloads *o,
	char *err, size_t err_size);

/* Afterwards: no use is made of RSS after all. */
void bp_offloads_no_rss(struct bp_offloads *o, const char *why);
/* It is used, since the configuration says so, though there is something against it. */
void bp_offloads_insist_rss(struct bp_offloads *o, const char *why);
/* The device says that it strips VLAN tags though it was told not to. */
void bp_offloads_strips(struct bp_offloads *o);

#endif
