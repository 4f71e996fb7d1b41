/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/ring_ports.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "config/config.h"
#include "dataplane/dpdk_compat.h"

#define MEMORY_MB 160u

/* lcore 0 on all CPUs that the process may use: it need not be bound to one. */
static void name_lcores(char *out, size_t size)
{
	cpu_set_t allowed;
	size_t at = (size_t)snprintf(out, size, "0@(");

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		CPU_ZERO(&allowed);
	for (unsigned i = 0; i < RTE_MAX_LCORE && at < size; i++)
		if (CPU_ISSET(i, &allowed))
			at += (size_t)snprintf(
				out + at, size - at, "%s%u", out[at - 1] == '(' ? "" : ",", i);
	if (at < size)
		snprintf(out + at, size - at, ")");
}

int bp_ring_eal(char *err, size_t err_size)
{
	return bp_ring_eal_more(0, err, err_size);
}

int bp_ring_eal_more(unsigned more, char *err, size_t err_size)
{
	static bool started;
	static char lcores[RTE_MAX_LCORE * 4 + 16], memory[16];
	static char *argv[] = {"biplane", "--no-huge", "-m", memory, "--no-pci", "--no-shconf",
		"--no-telemetry", "--log-level=*:error", "--lcores", lcores, NULL};

	if (started)
		return 0;
	name_lcores(lcores, sizeof(lcores));
	snprintf(memory, sizeof(memory), "%u", MEMORY_MB + more);
	rte_openlog_stream(stderr);
	if (rte_eal_init((int)RTE_DIM(argv) - 1, argv) < 0 && rte_errno != EALREADY) {
		snprintf(err, err_size, "DPDK did not start: %s", rte_strerror(rte_errno));
		return -1;
	}
	started = true;
	return 0;
}

static int fail(const char *what, const char *port, int error, char *err, size_t err_size)
{
	snprintf(err, err_size, "port %s: cannot %s: %s", port, what, rte_strerror(error));
	return -1;
}

static int create_one(struct bp_ring_ports *r, const struct bp_config_port *p, unsigned i,
	unsigned depth, struct rte_mempool *pool, char *err, size_t err_size)
{
	struct rte_eth_conf conf = {.rxmode = {.mtu = p->mtu ? p->mtu : RTE_ETHER_MTU}};
	char name[RTE_RING_NAMESIZE];
	int id, rc;

	snprintf(name, sizeof(name), "bp-in-%u", i);
	r->in[i] = rte_ring_create(name, depth, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	snprintf(name, sizeof(name), "bp-out-%u", i);
	r->out[i] = rte_ring_create(name, depth, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	r->n = i + 1;
	if (!r->in[i] || !r->out[i])
		return fail("make its rings", p->name, rte_errno, err, err_size);
	snprintf(name, sizeof(name), "bp%u", i);
	id = rte_eth_from_rings(name, &r->in[i], 1, &r->out[i], 1, 0);
	if (id < 0)
		return fail("make it", p->name, rte_errno, err, err_size);
	bp_port_device_name((uint16_t)id, r->device[i]);
	if ((unsigned)id != i)
		return fail("make it: other ports exist already", p->name, EBUSY, err, err_size);
	rc = rte_eth_dev_configure((uint16_t)id, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup((uint16_t)id, 0, 512, 0, NULL, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup((uint16_t)id, 0, 512, 0, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start((uint16_t)id);
	return rc == 0 ? 0 : fail("start it", p->name, -rc, err, err_size);
}

int bp_ring_ports_create(struct bp_ring_ports *r, const struct bp_config *c, unsigned depth,
	struct rte_mempool *pool, char *err, size_t err_size)
{
	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < c->n_ports; i++) {
		if (create_one(r, &c->port[i], i, depth, pool, err, err_size) != 0) {
			bp_ring_ports_free(r);
			return -1;
		}
	}
	return 0;
}

static void empty(struct rte_ring *ring)
{
	void *m;

	while (ring && rte_ring_dequeue(ring, &m) == 0)
		rte_pktmbuf_free(m);
}

void bp_ring_ports_free(struct bp_ring_ports *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		uint16_t id;

		if (r->device[i][0] && rte_eth_dev_get_port_by_name(r->device[i], &id) == 0) {
			rte_eth_dev_stop(id);
			rte_eal_hotplug_remove("vdev", r->device[i]);
		}
		empty(r->in[i]);
		empty(r->out[i]);
		rte_ring_free(r->in[i]);
		rte_ring_free(r->out[i]);
	}
	memset(r, 0, sizeof(*r));
}

static struct rte_mbuf *make_frame(struct rte_mempool *pool, const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *head = NULL;

	do {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		uint32_t n;

		if (!m) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		n = RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(m));
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), data, n);
		data += n;
		len -= n;
		if (!head)
			head = m;
		else if (rte_pktmbuf_chain(head, m) != 0) {
			rte_pktmbuf_free(m);
			rte_pktmbuf_free(head);
			return NULL;
		}
	} while (len != 0);
	return head;
}

bool bp_ring_ports_put(struct bp_ring_ports *r, unsigned port, struct rte_mempool *pool,
	const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *m = make_frame(pool, data, len);

	if (!m)
		return false;
	m->port = (uint16_t)port;
	if (rte_ring_enqueue(r->in[port], m) == 0)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

struct rte_mbuf *bp_ring_ports_take(struct bp_ring_ports *r, unsigned port)
{
	void *m;

	return rte_ring_dequeue(r->out[port], &m) == 0 ? m : NULL;
}
