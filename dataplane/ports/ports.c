/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/ports.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_errno.h>

#include "config/config.h"
#include "daemon/log.h"
#include "dataplane/ports/device.h"
#include "dataplane/ports/interface.h"
#include "dataplane/ports/packet_ring.h"
#include "dataplane/ports/rx_event.h"

#define SOCKETS_MAX 1024u /* AF_XDP sockets of this process that are compared */

static int fail(const struct bp_port *p, const char *what, int rc, char *err, size_t err_size)
{
	snprintf(err, err_size, "port %s (%s, driver %s): cannot %s: %s", p->config->name,
		p->config->device, p->driver_name, what, rte_strerror(rc < 0 ? -rc : rc));
	return -1;
}

/*
 * The MTU to configure. An MTU of the kernel interface may exceed the maximum that the driver
 * reports; then none is configured. An MTU of the configuration is always requested from the
 * driver.
 */
static uint32_t mtu_to_request(const struct bp_port *p)
{
	uint32_t frame = p->mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	if (p->config->mtu == 0 && p->info.max_rx_pktlen != 0 && frame > p->info.max_rx_pktlen)
		return 0;
	return p->mtu;
}

static int configure(const struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	char *err, size_t err_size)
{
	uint8_t key[BP_RSS_KEY_MAX];
	struct rte_eth_conf conf = {
		.rxmode = {.mtu = mtu_to_request(p), .offloads = p->rx_offloads},
		.txmode = {.offloads = p->tx_offloads},
		.intr_conf = {.rxq = p->rx_interrupts},
	};
	int rc;

	if (q->rss) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		bp_ports_rss_conf(p, q->rss, key, &conf.rx_adv_conf.rss_conf);
	}
	rc = rte_eth_dev_configure(id, q->n_rx, q->n_tx, &conf);
	if (rc != 0 && p->config->mtu == 0) {
		/*
		 * the MTU of the kernel interface applies, which may exceed the maximum of the
		 * driver
		 */
		conf.rxmode.mtu = 0;
		rc = rte_eth_dev_configure(id, q->n_rx, q->n_tx, &conf);
	}
	if (rc != 0)
		return fail(p, "configure it", rc, err, err_size);
	if (p->config->mtu) {
		rc = rte_eth_dev_set_mtu(id, (uint16_t)p->mtu);
		if (rc != 0 && rc != -ENOTSUP)
			return fail(p, "set its MTU", rc, err, err_size);
	}
	return 0;
}

/* Sets up a receive queue. The driver of AF_XDP creates the socket of the queue, and keeps it. */
static int set_up_rx_queue(struct bp_port *p, uint16_t id, uint16_t queue,
	const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	int before[SOCKETS_MAX], after[SOCKETS_MAX];
	unsigned n_before = 0;
	int rc;

	if (p->driver->xdp_sockets)
		n_before = bp_rx_event_sockets(AF_XDP, before, SOCKETS_MAX);
	rc = rte_eth_rx_queue_setup(id, queue, p->rx_desc, (unsigned)p->socket, conf, pool);
	if (rc == 0 && p->driver->xdp_sockets && queue < BP_MAX_QUEUES)
		p->xdp_socket[queue] = bp_rx_event_added(
			before, n_before, after, bp_rx_event_sockets(AF_XDP, after, SOCKETS_MAX));
	return rc;
}

static int set_up_queues(struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	struct rte_mempool *pool, char *err, size_t err_size)
{
	struct rte_eth_rxconf rx = p->info.default_rxconf;
	struct rte_eth_txconf tx = p->info.default_txconf;
	unsigned socket = (unsigned)p->socket;
	int rc;

	rx.offloads = p->rx_offloads;
	tx.offloads = p->tx_offloads;
	for (uint16_t i = 0; i < q->n_rx; i++) {
		rc = set_up_rx_queue(p, id, i, &rx, pool);
		if (rc != 0)
			return fail(p, "set up its receive queues", rc, err, err_size);
	}
	for (uint16_t i = 0; i < q->n_tx; i++) {
		rc = rte_eth_tx_queue_setup(id, i, p->tx_desc, socket, &tx);
		if (rc != 0)
			return fail(p, "set up its transmit queues", rc, err, err_size);
	}
	return 0;
}

/* VLAN stripping is not enabled; a device may strip tags nevertheless. */
static void leave_tags(struct bp_port *p, uint16_t id)
{
	int mask = rte_eth_dev_get_vlan_offload(id);

	if (mask < 0 || !(mask & RTE_ETH_VLAN_STRIP_OFFLOAD))
		return;
	if (rte_eth_dev_set_vlan_offload(id, mask & ~RTE_ETH_VLAN_STRIP_OFFLOAD) == 0)
		mask = rte_eth_dev_get_vlan_offload(id);
	if (mask > 0 && mask & RTE_ETH_VLAN_STRIP_OFFLOAD)
		bp_offloads_strips(&p->offloads);
}

static int set_mac(const struct bp_port *p, uint16_t id, char *err, size_t err_size)
{
	struct rte_ether_addr mac;
	int rc;

	if (!p->config->has_mac)
		return 0;
	memcpy(mac.addr_bytes, p->config->mac, sizeof(mac.addr_bytes));
	rc = rte_eth_dev_default_mac_addr_set(id, &mac);
	return rc == 0 ? 0 : fail(p, "give it the configured MAC", rc, err, err_size);
}

/*
 * Disables RSS on the port unless the configuration requires it. False: the configuration requires
 * it, or RSS is not used.
 */
static bool give_up_rss(struct bp_port *p, const struct bp_port_queues *q, const char *why)
{
	if (q->rss == 0 || p->config->offload[BP_OFFLOAD_RSS] == BP_OFFLOAD_ON)
		return false;
	bp_offloads_no_rss(&p->offloads, why);
	p->rss_refused = true;
	p->caps.rss = 0;
	p->caps.spread = BP_SPREAD_NONE;
	return true;
}

/* The same results as bp_ports_start(). */
static int try_start(struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	struct rte_mempool *pool, char *err, size_t err_size)
{
	const char *why;
	int rc;

	if (configure(p, id, q, err, err_size) != 0)
		return give_up_rss(p, q, "its driver refuses the symmetric key or the hash") ? 1
											     : -1;
	if (set_up_queues(p, id, q, pool, err, err_size) != 0)
		return -1;
	rc = rte_eth_dev_start(id);
	if (rc != 0)
		return fail(p, "start it", rc, err, err_size);
	if (set_mac(p, id, err, err_size) != 0)
		return -1;
	rc = p->config->promiscuous ? rte_eth_promiscuous_enable(id)
				    : rte_eth_promiscuous_disable(id);
	if (rc != 0 && rc != -ENOTSUP)
		return fail(p, "set promiscuous mode", rc, err, err_size);
	rc = rte_eth_allmulticast_enable(id);
	if (rc != 0 && rc != -ENOTSUP && !p->config->promiscuous)
		return fail(p, "receive all multicast", rc, err, err_size);
	leave_tags(p, id);
	why = bp_ports_rss_check(p, id, q);
	if (!why)
		return 0;
	if (give_up_rss(p, q, why))
		return 1;
	bp_offloads_insist_rss(&p->offloads, why);
	return 0;
}

/* Returns the number of discarded frames, `n` unless fewer can be received. */
static unsigned discard(uint16_t id, uint16_t queue, unsigned n)
{
	struct rte_mbuf *frames[32];
	unsigned done = 0;

	while (done < n) {
		const unsigned left = n - done, most = left < 32 ? left : 32;
		const uint16_t got = rte_eth_rx_burst(id, queue, frames, (uint16_t)most);

		if (got == 0)
			break;
		rte_pktmbuf_free_bulk(frames, got);
		done += got;
	}
	return done;
}

/*
 * A frame that another interface of this machine received before the socket of the port was bound
 * would be forwarded as if it came from this line.
 */
static void discard_foreign(const struct bp_port *p, uint16_t id, uint16_t n_queues)
{
	const uint32_t size = bp_device_frame_size(
		p->config->device, bp_interface_mtu(p->config->device, p->config->mtu));
	unsigned n = 0;

	for (uint16_t q = 0; q < n_queues; q++)
		n += discard(id, q,
			bp_packet_ring_foreign(
				bp_rx_event_packet_socket(p, id, q), size, p->info.if_index));
	if (n == 0)
		return;
	rte_eth_stats_reset(id);
	bp_log_event(BP_LOG_INFO,
		BP_LOG_FIELDS(BP_LOG_STR("port", p->config->name), BP_LOG_NUM("frames", n)),
		"port %s: %u frames of other interfaces, received before its socket was bound, "
		"are discarded",
		p->config->name, n);
}

/*
 * Workers that sleep need receive interrupts. A device that does not start with them (no vectors,
 * for example) starts without them, and its worker polls it.
 */
static int start_one(struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	struct rte_mempool *pool, bool sleeps, char *err, size_t err_size)
{
	int rc;

	p->rx_interrupts = sleeps && (p->pci || p->driver->readable_queues);
	rc = try_start(p, id, q, pool, err, err_size);
	if (rc >= 0 || !p->rx_interrupts)
		return rc;
	rte_eth_dev_stop(id);
	p->rx_interrupts = false;
	return try_start(p, id, q, pool, err, err_size);
}

int bp_ports_start(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *plan, const struct bp_pools *pools, char *err, size_t err_size)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		struct rte_mempool *pool = bp_pools_near(pools, ports[i].socket);
		int rc;

		/* fast free also requires that all frames are from one pool */
		if (pools->n > 1)
			ports[i].tx_offloads &= ~(uint64_t)RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
		if (ports[i].started)
			continue;
		rc = start_one(&ports[i], (uint16_t)i, &plan->port[i], pool,
			c->poll_mode == BP_POLL_ADAPTIVE, err, err_size);
		if (rc != 0) {
			rte_eth_dev_stop((uint16_t)i);
			return rc;
		}
		if (ports[i].driver->packet_sockets)
			discard_foreign(&ports[i], (uint16_t)i, plan->port[i].n_rx);
		ports[i].started = true;
	}
	return 0;
}

/* Compares queues of the device. The workers that poll the queues are not part of it. */
static bool same_queues(const struct bp_port_queues *a, const struct bp_port_queues *b)
{
	return a->n_rx == b->n_rx && a->n_tx == b->n_tx && a->rss == b->rss &&
	       a->reta_base == b->reta_base;
}

void bp_ports_replanned(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *before, const struct bp_queue_plan *now)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		if (!ports[i].started || same_queues(&before->port[i], &now->port[i]))
			continue;
		rte_eth_dev_stop((uint16_t)i);
		ports[i].started = false;
	}
}

void bp_ports_stop(const struct bp_config *c)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		if (!rte_eth_dev_is_valid_port((uint16_t)i))
			continue;
		rte_eth_dev_stop((uint16_t)i);
		rte_eth_dev_close((uint16_t)i);
	}
}

void bp_port_offload_names(const struct bp_port *p, char *out, size_t size)
{
	static const struct {
		uint64_t bit;
		bool tx;
		const char *name;
	} names[] = {
		{RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, false, "rx-ipv4-checksum"},
		{RTE_ETH_RX_OFFLOAD_TCP_CKSUM, false, "rx-tcp-checksum"},
		{RTE_ETH_RX_OFFLOAD_UDP_CKSUM, false, "rx-udp-checksum"},
		{RTE_ETH_RX_OFFLOAD_SCATTER, false, "rx-scatter"},
		{RTE_ETH_TX_OFFLOAD_TCP_CKSUM, true, "tx-tcp-checksum"},
		{RTE_ETH_TX_OFFLOAD_UDP_CKSUM, true, "tx-udp-checksum"},
		{RTE_ETH_TX_OFFLOAD_MULTI_SEGS, true, "tx-multi-segs"},
		{RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE, true, "tx-fast-free"},
	};
	size_t at = 0;

	snprintf(out, size, "none");
	for (unsigned i = 0; i < RTE_DIM(names) && at < size; i++)
		if ((names[i].tx ? p->tx_offloads : p->rx_offloads) & names[i].bit)
			at += (size_t)snprintf(
				out + at, size - at, "%s%s", at ? " " : "", names[i].name);
}
