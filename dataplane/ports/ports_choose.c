/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the settings of the device of each port from the capabilities of its driver and the
 * configuration.
 */
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "config/aggregation/settings.h"
#include "config/mqtt/settings.h"
#include "config/health/settings.h"
#include "config/lcl/settings.h"
#include "config/transform/settings.h"
#include "dataplane/ports/device.h"
#include "dataplane/ports/interface.h"
#include "dataplane/ports/ports.h"

#define DEFAULT_DESC 1024
/*
 * A buffer with an AF_XDP socket is at most a page: with the headers of the mempool and the mbuf,
 * one cache line that spreads buffers over memory channels, both headrooms, and two tags and the
 * CRC that bp_pools_frame_capacity() adds to an MTU. The driver reports more.
 */
#define XDP_MTU_MAX                                                                                \
	(4096u - 2 * RTE_CACHE_LINE_SIZE - sizeof(struct rte_mbuf) - RTE_PKTMBUF_HEADROOM -        \
		XDP_PACKET_HEADROOM - RTE_ETHER_HDR_LEN - 2 * RTE_VLAN_HLEN - RTE_ETHER_CRC_LEN)

static uint16_t clamp_u16(uint32_t v)
{
	return (uint16_t)RTE_MIN(v, (uint32_t)UINT16_MAX);
}

static void choose_mtu(struct bp_port *p)
{
	char iface[64];

	if (p->config->mtu) {
		p->mtu = p->config->mtu;
	} else if (p->driver->kernel_interface &&
		   bp_device_arg(p->config->device, "iface", iface, sizeof(iface))) {
		struct bp_device_facts i = bp_interface_query(iface);

		if (i.mtu)
			p->mtu = i.mtu;
	}
	if (p->info.max_mtu && !p->config->mtu)
		p->mtu = RTE_MIN(p->mtu, (uint32_t)p->info.max_mtu);
	if (p->driver->xdp_sockets && !p->config->mtu)
		p->mtu = RTE_MIN(p->mtu, (uint32_t)XDP_MTU_MAX);
	p->mtu = RTE_MIN(p->mtu, (uint32_t)UINT16_MAX);
}

/*
 * Whether a service verifies the checksums of received frames. Aggregation and transformation sum
 * the bytes that they read in any case, and IPv4 headers are verified where they are routed.
 */
static bool reads_checksums(const struct bp_config *c)
{
	return (bp_config_mqtt(c)->enabled && bp_config_mqtt(c)->verify_checksums) ||
	       bp_config_phd(c)->enabled;
}

static struct bp_offload_facts facts_of(const struct bp_config *c, const struct bp_port *p)
{
	return (struct bp_offload_facts){
		.rx_capa = p->info.rx_offload_capa,
		.tx_capa = p->info.tx_offload_capa,
		.rss_types = p->info.flow_type_rss_offloads,
		.reports_partial = p->driver->reports_partial,
		.software_checksum = p->driver->software_checksum,
		.sends_chains = p->driver->sends_chains,
		.no_rss = p->driver->no_rss,
		.fanout = p->driver->fanout,
		.one_buffer = p->driver->one_buffer,
		.reads_checksums = reads_checksums(c),
		.shares_out = c->n_workers > 1 || p->config->rx_queues > 1 ||
			      (p->driver->all_queues && p->info.max_rx_queues > 1),
		.mtu = p->mtu,
		.mtu_given = p->config->mtu != 0,
		.room = bp_pools_frame_capacity(p->config->device, p->mtu),
		.capacity_max = BP_FRAME_CAPACITY_MAX,
	};
}

static int choose_receive(const struct bp_config *c, struct bp_port *p, char *why, size_t why_size)
{
	const struct bp_offload_facts f = facts_of(c, p);

	if (bp_offloads_receive(&f, p->config->offload, &p->offloads, why, why_size) != 0)
		return -1;
	p->mtu_requested = p->mtu;
	p->mtu = p->offloads.mtu;
	p->rx_offloads = p->offloads.rx;
	return 0;
}

static const struct bp_config_bridge *bridge_of(const struct bp_config *c, unsigned port)
{
	for (unsigned b = 0; b < c->n_bridges; b++)
		for (unsigned i = 0; i < c->bridge[b].n; i++)
			if (c->bridge[b].port[i] == port)
				return &c->bridge[b];
	return NULL;
}

/*
 * Whether the partial checksums of the frames of a port can be left to the output device. That is
 * the case if the frames leave only by ports of one bridge whose devices complete them, and no
 * service in between splits a frame or gives it a header that the device does not support.
 * Inspection only reads, and completes the checksum of a frame that a policy changes.
 */
static bool leaves_checksums(const struct bp_config *c, const struct bp_port *ports, unsigned port)
{
	const struct bp_config_bridge *b = bridge_of(c, port);

	if (!ports[port].offloads.partials || !b || b->has_host_interface || bp_config_has_lcl(c) ||
		bp_config_aggregates(c) || bp_config_transforms(c))
		return false;
	for (unsigned i = 0; i < b->n; i++) {
		const struct bp_port *to = &ports[b->port[i]];
		const struct bp_offload_facts f = facts_of(c, to);

		if (b->port[i] != port && !bp_offloads_may_send_checksums(&f, to->config->offload))
			return false;
	}
	return true;
}

/* Whether a port of the same bridge leaves partial checksums to this port. */
static bool gets_partials(const struct bp_config *c, const struct bp_port *ports, unsigned port)
{
	const struct bp_config_bridge *b = bridge_of(c, port);

	for (unsigned i = 0; b && i < b->n; i++)
		if (b->port[i] != port && ports[b->port[i]].leaves_checksums)
			return true;
	return false;
}

/*
 * A frame may leave by any port: if one port delivers frames in several buffers, all ports must be
 * able to send them. If none does, each frame is one buffer with one reference, and drivers may use
 * fast free.
 */
static int choose_send(const struct bp_config *c, struct bp_port *ports, unsigned port, bool pieces,
	char *why, size_t why_size)
{
	struct bp_port *p = &ports[port];
	struct bp_offload_facts f = facts_of(c, p);

	f.pieces = p->pieces = pieces;
	f.partials = gets_partials(c, ports, port);
	if (bp_offloads_send(&f, p->config->offload, &p->offloads, why, why_size) != 0)
		return -1;
	p->tx_offloads = p->offloads.tx;
	if (!pieces)
		p->tx_offloads |= p->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	return 0;
}

static void choose_caps(struct bp_port *p)
{
	struct bp_port_caps *caps = &p->caps;

	caps->max_rx = p->info.max_rx_queues ? p->info.max_rx_queues : 1;
	caps->max_tx = p->info.max_tx_queues ? p->info.max_tx_queues : 1;
	caps->all_queues = p->driver->all_queues;
	caps->wanted = clamp_u16(p->config->rx_queues);
	caps->reta_size = p->info.reta_size;
	caps->rss = p->offloads.rss;
	if (p->driver->fanout)
		caps->spread = BP_SPREAD_FANOUT;
	else if (caps->rss)
		caps->spread = BP_SPREAD_RSS;
	else if (p->driver->spreads_flows && p->config->offload[BP_OFFLOAD_RSS] != BP_OFFLOAD_OFF)
		caps->spread = BP_SPREAD_FLOWS;
	caps->queue_pairs = p->driver->queue_pairs;
}

static void choose_descriptors(struct bp_port *p)
{
	const struct rte_eth_dev_portconf *rx = &p->info.default_rxportconf;
	const struct rte_eth_dev_portconf *tx = &p->info.default_txportconf;

	p->rx_desc = clamp_u16(p->config->rx_descriptors ? p->config->rx_descriptors
			       : rx->ring_size           ? rx->ring_size
							 : DEFAULT_DESC);
	p->tx_desc = clamp_u16(p->config->tx_descriptors ? p->config->tx_descriptors
			       : tx->ring_size           ? tx->ring_size
							 : DEFAULT_DESC);
}

static int refused(const struct bp_port *p, const char *why, char *err, size_t err_size)
{
	snprintf(err, err_size, "port %s (%s, driver %s) %s", p->config->name, p->config->device,
		p->driver_name, why);
	return -1;
}

/* The largest MTU of the device; 0: unknown. As ethdev checks it. */
static uint32_t mtu_limit(const struct bp_port *p)
{
	const uint32_t longest = p->info.max_rx_pktlen;
	const bool reported = p->info.max_mtu != UINT16_MAX && longest > p->info.max_mtu;
	const uint32_t overhead =
		reported ? longest - p->info.max_mtu : RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	if (longest <= overhead)
		return 0;
	return p->driver->xdp_sockets ? RTE_MIN(longest - overhead, (uint32_t)XDP_MTU_MAX)
				      : longest - overhead;
}

/* Without it, ethdev would only report "Invalid argument". */
static int check_mtu(const struct bp_port *p, char *why, size_t why_size)
{
	const uint32_t limit = mtu_limit(p), mtu = p->config->mtu;

	if (mtu == 0 || limit == 0 || mtu <= limit)
		return 0;
	snprintf(why, why_size,
		"has mtu %" PRIu32 ", but its device takes at most %" PRIu32
		": set mtu to that or less",
		mtu, limit);
	return -1;
}

int bp_ports_choose(const struct bp_config *c, struct bp_port *ports, char *err, size_t err_size)
{
	char why[256];
	bool pieces = false;

	for (unsigned i = 0; i < c->n_ports; i++) {
		struct bp_port *p = &ports[i];

		choose_mtu(p);
		if (check_mtu(p, why, sizeof(why)) != 0 ||
			choose_receive(c, p, why, sizeof(why)) != 0)
			return refused(p, why, err, err_size);
		choose_caps(p);
		if (c->n_workers == 1 && !p->caps.all_queues && !p->caps.wanted)
			p->caps.max_rx = 1;
		choose_descriptors(p);
		rte_eth_dev_adjust_nb_rx_tx_desc((uint16_t)i, &p->rx_desc, &p->tx_desc);
		pieces |= bp_port_chains(p);
	}
	for (unsigned i = 0; i < c->n_ports; i++)
		ports[i].leaves_checksums = leaves_checksums(c, ports, i);
	for (unsigned i = 0; i < c->n_ports; i++)
		if (choose_send(c, ports, i, pieces, why, sizeof(why)) != 0)
			return refused(&ports[i], why, err, err_size);
	return 0;
}

void bp_ports_planned(
	const struct bp_config *c, struct bp_port *ports, const struct bp_queue_plan *plan)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		const struct bp_config_bridge *b = bridge_of(c, i);
		const struct bp_bridge_workers *w =
			b ? &plan->bridge[b - c->bridge] : &plan->router;

		if (ports[i].offloads.rss == 0 || plan->port[i].rss != 0)
			continue;
		bp_offloads_no_rss(
			&ports[i].offloads, w->why[0] ? w->why : "one worker polls one queue");
	}
}

/*
 * Maximum number of buffers of a frame, with any MTU that a port may get at run time; 0: unlimited.
 */
static uint32_t most_pieces(
	const struct bp_config *c, const struct bp_port *ports, const struct bp_pools *pools)
{
	const uint32_t buffer = pools->data_room - RTE_PKTMBUF_HEADROOM;
	uint32_t most = 1;

	for (unsigned i = 0; i < c->n_ports; i++) {
		const struct bp_port *p = &ports[i];
		const uint32_t mtu = RTE_MAX(p->mtu, (uint32_t)p->info.max_mtu);

		if (p->driver->chains)
			return 0;
		if (p->rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER)
			most = RTE_MAX(
				most, bp_pools_frame_capacity(p->config->device, mtu) / buffer + 1);
	}
	return most;
}

void bp_ports_limit(const struct bp_config *c, struct bp_port *ports, const struct bp_pools *pools)
{
	const uint32_t most = most_pieces(c, ports, pools);

	for (unsigned i = 0; i < c->n_ports; i++) {
		struct bp_port *p = &ports[i];
		const uint32_t limit = p->info.tx_desc_lim.nb_mtu_seg_max;

		p->tx_segments = 0;
		if (p->offloads.one_segment)
			p->tx_segments = 1;
		else if (p->pieces && limit != 0 && limit <= UINT8_MAX &&
			 (most == 0 || limit < most))
			p->tx_segments = (uint8_t)limit;
	}
}
