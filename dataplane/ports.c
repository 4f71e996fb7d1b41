/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports.h"

#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "dataplane/device.h"
#include "dataplane/interface.h"

#define DEFAULT_DESC 1024
#define RSS_KEY_MAX 128
/* What TCP needs first; a driver without them may at least know addresses, which are symmetric too.
 */
#define RSS_TYPES                                                                                  \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |          \
		RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)
#define RX_CHECKSUMS                                                                               \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM |                            \
		RTE_ETH_RX_OFFLOAD_UDP_CKSUM)

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
		struct bp_device_facts i = bp_interface_ask(iface);

		if (i.mtu)
			p->mtu = i.mtu;
	}
	if (p->info.max_mtu && !p->config->mtu)
		p->mtu = RTE_MIN(p->mtu, (uint32_t)p->info.max_mtu);
	p->mtu = RTE_MIN(p->mtu, (uint32_t)UINT16_MAX);
}

static void choose_offloads(const struct bp_config *c, struct bp_port *p)
{
	uint64_t rx = p->info.rx_offload_capa;

	if (p->mtu > RTE_ETHER_MTU)
		p->rx_offloads |= rx & RTE_ETH_RX_OFFLOAD_SCATTER;
	if (c->mqtt.enabled && c->mqtt.checksum == BP_CHECKSUM_VERIFY &&
		!p->driver->software_checksum)
		p->rx_offloads |= rx & RX_CHECKSUMS;
	p->partial_checksums =
		p->driver->tells_partial && (p->rx_offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM);
}

/* A frame may leave by any port: where one gives frames in pieces, all must send pieces. Where none
 * does, a frame is one buffer that nobody else holds, and drivers may free it the short way. */
static void choose_tx_offloads(const struct bp_config *c, struct bp_port *ports)
{
	bool pieces = false;

	for (unsigned i = 0; i < c->n_ports; i++)
		pieces |= ports[i].driver->chains ||
			  (ports[i].rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER);
	for (unsigned i = 0; i < c->n_ports; i++)
		ports[i].tx_offloads = ports[i].info.tx_offload_capa &
				       (pieces ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS
					       : RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
}

static void choose_caps(const struct bp_config *c, struct bp_port *p)
{
	struct bp_port_caps *caps = &p->caps;

	caps->max_rx = p->info.max_rx_queues ? p->info.max_rx_queues : 1;
	caps->max_tx = p->info.max_tx_queues ? p->info.max_tx_queues : 1;
	caps->all_queues = p->driver->all_queues;
	caps->wanted = clamp_u16(p->config->queues);
	caps->reta_size = p->info.reta_size;
	caps->rss = p->driver->no_rss ? 0 : p->info.flow_type_rss_offloads & RSS_TYPES;
	if (p->driver->fanout)
		caps->spread = BP_SPREAD_FANOUT;
	else if (caps->rss)
		caps->spread = BP_SPREAD_RSS;
	if (c->n_workers == 1 && !caps->all_queues && !caps->wanted)
		caps->max_rx = 1;
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

void bp_ports_choose(const struct bp_config *c, struct bp_port *ports)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		struct bp_port *p = &ports[i];

		p->rx_offloads = 0;
		choose_mtu(p);
		choose_offloads(c, p);
		choose_caps(c, p);
		choose_descriptors(p);
		rte_eth_dev_adjust_nb_rx_tx_desc((uint16_t)i, &p->rx_desc, &p->tx_desc);
	}
	choose_tx_offloads(c, ports);
}

static int fail(const struct bp_port *p, const char *what, int rc, char *err, size_t err_size)
{
	snprintf(err, err_size, "port %s (%s, driver %s): can't %s: %s", p->config->name,
		p->config->device, p->driver_name, what, rte_strerror(rc < 0 ? -rc : rc));
	return -1;
}

/* 0x6d5a repeated makes the Toeplitz hash the same for (a, b) and (b, a). */
static void symmetric_key(uint8_t *key, size_t len)
{
	for (size_t i = 0; i < len; i++)
		key[i] = i % 2 ? 0x5a : 0x6d;
}

/* What the kernel's interface has may be beyond what the driver admits to: then it isn't told. An
 * MTU that was configured is asked for, whatever the driver says. */
static uint32_t mtu_to_ask(const struct bp_port *p)
{
	uint32_t frame = p->mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	if (p->config->mtu == 0 && p->info.max_rx_pktlen != 0 && frame > p->info.max_rx_pktlen)
		return 0;
	return p->mtu;
}

static int configure(const struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	char *err, size_t err_size)
{
	uint8_t key[RSS_KEY_MAX];
	struct rte_eth_conf conf = {
		.rxmode = {.mtu = mtu_to_ask(p), .offloads = p->rx_offloads},
		.txmode = {.offloads = p->tx_offloads},
	};
	int rc;

	if (q->rss) {
		uint8_t len = p->info.hash_key_size ? p->info.hash_key_size : 40;

		len = RTE_MIN(len, (uint8_t)sizeof(key));
		symmetric_key(key, len);
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_key = key;
		conf.rx_adv_conf.rss_conf.rss_key_len = len;
		conf.rx_adv_conf.rss_conf.rss_hf = q->rss;
	}
	rc = rte_eth_dev_configure(id, q->n_rx, q->n_tx, &conf);
	if (rc != 0 && p->config->mtu == 0) {
		/* not our choice: what the kernel's interface has may be beyond the driver */
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

static int set_up_queues(const struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	struct rte_mempool *pool, char *err, size_t err_size)
{
	struct rte_eth_rxconf rx = p->info.default_rxconf;
	struct rte_eth_txconf tx = p->info.default_txconf;
	unsigned socket = (unsigned)p->socket;
	int rc;

	rx.offloads = p->rx_offloads;
	tx.offloads = p->tx_offloads;
	for (uint16_t i = 0; i < q->n_rx; i++) {
		rc = rte_eth_rx_queue_setup(id, i, p->rx_desc, socket, &rx, pool);
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

/* So that the same hash leads to the same worker on all ports of a bridge. */
static int set_redirection(const struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	char *err, size_t err_size)
{
	struct rte_eth_rss_reta_entry64 table[1024 / RTE_ETH_RETA_GROUP_SIZE] = {0};
	unsigned size = p->info.reta_size;
	int rc;

	if (!q->rss || !q->reta_base || size > 1024)
		return 0;
	for (unsigned i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *e = &table[i / RTE_ETH_RETA_GROUP_SIZE];

		e->mask |= 1ull << (i % RTE_ETH_RETA_GROUP_SIZE);
		e->reta[i % RTE_ETH_RETA_GROUP_SIZE] = (uint16_t)(i % q->reta_base % q->n_rx);
	}
	rc = rte_eth_dev_rss_reta_update(id, table, (uint16_t)size);
	return rc == 0 || rc == -ENOTSUP
		       ? 0
		       : fail(p, "set its RSS redirection table", rc, err, err_size);
}

static int start_one(const struct bp_port *p, uint16_t id, const struct bp_port_queues *q,
	struct rte_mempool *pool, char *err, size_t err_size)
{
	int rc;

	if (configure(p, id, q, err, err_size) != 0 ||
		set_up_queues(p, id, q, pool, err, err_size) != 0)
		return -1;
	rc = rte_eth_dev_start(id);
	if (rc != 0)
		return fail(p, "start it", rc, err, err_size);
	rc = p->config->promiscuous ? rte_eth_promiscuous_enable(id)
				    : rte_eth_promiscuous_disable(id);
	if (rc != 0 && rc != -ENOTSUP)
		return fail(p, "set promiscuous mode", rc, err, err_size);
	rc = rte_eth_allmulticast_enable(id);
	if (rc != 0 && rc != -ENOTSUP && !p->config->promiscuous)
		return fail(p, "receive all multicast", rc, err, err_size);
	return set_redirection(p, id, q, err, err_size);
}

int bp_ports_start(const struct bp_config *c, struct bp_port *ports,
	const struct bp_queue_plan *plan, const struct bp_pools *pools, char *err, size_t err_size)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		struct rte_mempool *pool = bp_pools_near(pools, ports[i].socket);

		/* freeing the short way also needs that all frames come from one pool */
		if (pools->n > 1)
			ports[i].tx_offloads &= ~(uint64_t)RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
		if (start_one(&ports[i], (uint16_t)i, &plan->port[i], pool, err, err_size) != 0)
			return -1;
	}
	return 0;
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
