/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "dataplane/exception/kernel_if.h"

/*
 * virtio-user with vhost-net, the successor of KNI in DPDK. The vhost thread of the kernel copies
 * the frames, so that the exception thread makes no system call per frame. DPDK creates an
 * additional port for it, after those of the configuration; only this file uses its id. The
 * interface is a tap with a header before each frame. Only this process holds it, and it is removed
 * when the process ends; until it is created again, the control plane keeps the tables
 * (controlplane/sync/hold.c).
 */
#define VHOST_DEVICE "/dev/vhost-net"
#define QUEUE_SIZE 1024u

struct virtio {
	struct bp_kernel_if k;
	uint16_t port;
	char device[RTE_DEV_NAME_MAX_LEN];
};

static struct virtio *virtio_of(struct bp_kernel_if *k)
{
	return (struct virtio *)k;
}

static unsigned virtio_read(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n, uint64_t *lost)
{
	uint16_t got = rte_eth_rx_burst(virtio_of(k)->port, 0, m, (uint16_t)n);
	unsigned kept = 0;

	for (uint16_t i = 0; i < got; i++) {
		if (m[i]->nb_segs > 1 && !k->pieces) {
			rte_pktmbuf_free(m[i]);
			++*lost;
			continue;
		}
		m[i]->ol_flags = 0; /* they describe the receive side */
		m[kept++] = m[i];
	}
	return kept;
}

static unsigned virtio_write(struct bp_kernel_if *k, struct rte_mbuf **m, unsigned n)
{
	uint16_t taken;

	for (unsigned i = 0; i < n; i++)
		m[i]->ol_flags = 0;
	taken = rte_eth_tx_burst(virtio_of(k)->port, 0, m, (uint16_t)n);
	rte_pktmbuf_free_bulk(&m[taken], n - taken);
	return taken;
}

static void virtio_close(struct bp_kernel_if *k)
{
	struct virtio *v = virtio_of(k);

	if (v->port != RTE_MAX_ETHPORTS)
		rte_eth_dev_stop(v->port);
	rte_eal_hotplug_remove("vdev", v->device);
	free(v);
}

static const struct bp_kernel_if_ops virtio_ops = {
	.name = "virtio", .read = virtio_read, .write = virtio_write, .close = virtio_close};

static int fail(
	const struct bp_kernel_if_spec *s, const char *what, int rc, char *err, size_t err_size)
{
	snprintf(err, err_size,
		"%s: cannot %s the kernel interface %s through vhost-net: %s; "
		"set `host_interface.backend: tap` to "
		"avoid vhost-net",
		s->name, what, s->kernel, rte_strerror(rc < 0 ? -rc : rc));
	return -1;
}

static int start_port(
	struct virtio *v, const struct bp_kernel_if_spec *s, char *err, size_t err_size)
{
	int socket = rte_eth_dev_socket_id(v->port);
	unsigned node = socket < 0 ? (unsigned)SOCKET_ID_ANY : (unsigned)socket;
	uint16_t rx = QUEUE_SIZE, tx = QUEUE_SIZE;
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = {0};
	int rc = rte_eth_dev_info_get(v->port, &info);

	if (rc != 0)
		return fail(s, "query", rc, err, err_size);
	conf.rxmode.mtu = info.max_mtu ? RTE_MIN(s->mtu, (uint32_t)info.max_mtu) : s->mtu;
	conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	rc = rte_eth_dev_configure(v->port, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(v->port, &rx, &tx);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(v->port, 0, rx, node, NULL, s->pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(v->port, 0, tx, node, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(v->port);
	return rc == 0 ? 0 : fail(s, "start", rc, err, err_size);
}

static int plug(struct virtio *v, const struct bp_kernel_if_spec *s, char *err, size_t err_size)
{
	char args[256];
	int rc;

	/* a name of driver net_virtio_user that no configured port has */
	snprintf(v->device, sizeof(v->device), "net_virtio_user_kernel%u", s->number);
	snprintf(args, sizeof(args),
		"path=" VHOST_DEVICE ",iface=%s,queues=1,queue_size=%u,"
		"mac=%02x:%02x:%02x:%02x:%02x:%02x",
		s->kernel, QUEUE_SIZE, s->mac[0], s->mac[1], s->mac[2], s->mac[3], s->mac[4],
		s->mac[5]);
	rc = rte_eal_hotplug_add("vdev", v->device, args);
	if (rc == 0)
		rc = rte_eth_dev_get_port_by_name(v->device, &v->port);
	return rc == 0 ? 0 : fail(s, "create", rc, err, err_size);
}

bool bp_virtio_possible(void)
{
	return access(VHOST_DEVICE, R_OK | W_OK) == 0;
}

struct bp_kernel_if *bp_virtio_open(const struct bp_kernel_if_spec *s, char *err, size_t err_size)
{
	struct virtio *v;

	if (!bp_virtio_possible()) {
		snprintf(err, err_size,
			"%s: `host_interface.backend: virtio` needs " VHOST_DEVICE
			" (%s); load the module (modprobe vhost_net), or set "
			"`host_interface.backend: auto` or "
			"`host_interface.backend: tap`",
			s->name, strerror(errno));
		return NULL;
	}
	v = calloc(1, sizeof(*v));
	if (!v) {
		snprintf(err, err_size, "no memory");
		return NULL;
	}
	v->k = (struct bp_kernel_if){
		.ops = &virtio_ops, .fd = -1, .pool = s->pool, .pieces = s->pieces};
	v->port = RTE_MAX_ETHPORTS;
	if (plug(v, s, err, err_size) == 0 && start_port(v, s, err, err_size) == 0) {
		snprintf(v->k.name, sizeof(v->k.name), "%s", s->kernel);
		v->k.ifindex = if_nametoindex(s->kernel);
		if (bp_kernel_if_address(&v->k, s, err, err_size) == 0)
			return &v->k;
	}
	virtio_close(&v->k);
	return NULL;
}
