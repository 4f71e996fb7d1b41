/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_OFFLOADS_H
#define BP_DATAPLANE_PORTS_OFFLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/offloads.h"

/*
 * Decides which offloads of a device are used. The decision is made once, before the device is
 * configured, from the capabilities of the driver, the needs of the configured services, and the
 * configured offloads. The functions are pure and access no device; dataplane/ports/ports.c queries
 * and configures the device.
 */

/*
 * The hash types that TCP needs come first. A driver without them may still hash addresses, which
 * are symmetric too.
 */
#define BP_RSS_TYPES                                                                               \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |          \
		RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)
/*
 * Checksums that a device must complete for a frame with a partial checksum; that of the IPv4
 * header is complete.
 */
#define BP_TX_CHECKSUMS (RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)

struct bp_offload_facts {
	/* as reported by the driver: RTE_ETH_RX_OFFLOAD_*, RTE_ETH_TX_OFFLOAD_*, RTE_ETH_RSS_* */
	uint64_t rx_capa, tx_capa, rss_types;
	/* see struct bp_driver */
	bool reports_partial, software_checksum, sends_chains, no_rss, fanout, one_buffer;
	/* needs of the configuration */
	bool reads_checksums; /* a service verifies the checksums of received frames */
	bool shares_out;      /* several workers are configured, or several queues of the port */
	uint32_t mtu;
	/* set by the configuration; otherwise the MTU may be lowered */
	bool mtu_given;
	uint32_t room, capacity_max; /* maximum bytes of a frame of that MTU; bytes of a buffer */
	/* for bp_offloads_send(), after bp_offloads_receive() of all ports */
	bool pieces; /* frames in several buffers may leave by the port */
	/* frames with partial checksums may leave by it; the device completes them */
	bool partials;
};

struct bp_offloads {
	struct bp_port_offload of[BP_OFFLOADS];
	uint64_t rx, tx;     /* flags to configure: RTE_ETH_RX_OFFLOAD_*, RTE_ETH_TX_OFFLOAD_* */
	uint64_t rss;        /* RTE_ETH_RSS_* to hash over; 0: no RSS */
	uint32_t mtu;        /* MTU that fits the buffers, if lower than `mtu` */
	bool partials;       /* it reports partial checksums */
	bool distrust;       /* its checksum results are ignored */
	bool restore_tags;   /* VLAN tags that it stripped are restored */
	bool one_segment;    /* frames in several buffers are linearized before they are sent */
	bool send_checksums; /* it completes partial checksums */
};

/*
 * Decides the receive offloads. `word`: BP_OFFLOADS values of enum bp_offload_word. Returns 0, or
 * -1 with a message that continues after the name of the port, as in "has `offloads: {rss: on}`,
 * but ...".
 */
int bp_offloads_receive(const struct bp_offload_facts *f, const uint8_t *word,
	struct bp_offloads *o, char *err, size_t err_size);
/* Whether the device can complete partial checksums. */
bool bp_offloads_may_send_checksums(const struct bp_offload_facts *f, const uint8_t *word);
/* Decides the send offloads; called after bp_offloads_receive(). The same results. */
int bp_offloads_send(const struct bp_offload_facts *f, const uint8_t *word, struct bp_offloads *o,
	char *err, size_t err_size);

/* Records afterwards that RSS is not used, with the reason. */
void bp_offloads_no_rss(struct bp_offloads *o, const char *why);
/* Records that RSS is used because the configuration requires it, with the reason against it. */
void bp_offloads_insist_rss(struct bp_offloads *o, const char *why);
/* Records that the device strips VLAN tags although stripping is disabled. */
void bp_offloads_strips(struct bp_offloads *o);

#endif
