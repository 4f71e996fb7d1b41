/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/kernel_ifs.h"

#include <string.h>

#include <rte_ethdev.h>

#include "daemon/log.h"

static void add_port(struct bp_kernel_if_spec *s, const struct bp_port *ports,
	const struct bp_pools *pools, unsigned p)
{
	struct rte_ether_addr mac = {0};

	if (!s->pool) { /* the first */
		rte_eth_macaddr_get((uint16_t)p, &mac);
		memcpy(s->mac, mac.addr_bytes, sizeof(s->mac));
		s->mtu = ports[p].mtu;
		s->pool = bp_pools_near(pools, ports[p].socket);
		s->pieces = true;
	}
	s->mtu = RTE_MIN(s->mtu, ports[p].mtu);
	s->pieces &= ports[p].pieces;
}

static struct bp_kernel_if *open_one(
	const struct bp_kernel_if_spec *s, uint8_t kernel, char *err, size_t err_size)
{
	struct bp_kernel_if *k;

	if (kernel == BP_BACKEND_VIRTIO)
		return bp_virtio_open(s, err, err_size);
	if (kernel == BP_BACKEND_AUTO && bp_virtio_possible()) {
		k = bp_virtio_open(s, err, err_size);
		if (k)
			return k;
		bp_log(BP_LOG_WARNING, "%s; using a tap interface", err);
	}
	return bp_tap_open(s, err, err_size);
}

static int open_number(struct bp_kernel_ifs *k, unsigned i, const struct bp_config *c,
	const struct bp_port *ports, const struct bp_pools *pools, char *err, size_t err_size)
{
	struct bp_kernel_if_spec s = {.number = i};
	const struct bp_config_interface *o = bp_config_interface(c, i, &s.name);

	if (!o || o->backend == BP_BACKEND_OFF)
		return 0;
	s.kernel = o->kernel_name;
	if (i < BP_MAX_PORTS) {
		add_port(&s, ports, pools, i);
	} else {
		const struct bp_config_bridge *b = &c->bridge[i - BP_MAX_PORTS];

		for (unsigned p = 0; p < b->n; p++)
			add_port(&s, ports, pools, b->port[p]);
	}
	k->of[i] = open_one(&s, o->backend, err, err_size);
	k->n += k->of[i] != NULL;
	return k->of[i] ? 0 : -1;
}

int bp_kernel_ifs_open(struct bp_kernel_ifs *k, struct bp_exception *x, const struct bp_config *c,
	const struct bp_port *ports, const struct bp_pools *pools, char *err, size_t err_size)
{
	memset(k, 0, sizeof(*k));
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (open_number(k, i, c, ports, pools, err, err_size) != 0) {
			bp_kernel_ifs_close(k, x);
			return -1;
		}
		atomic_store(&x->has[i], k->of[i] != NULL);
	}
	return 0;
}

void bp_kernel_ifs_close(struct bp_kernel_ifs *k, struct bp_exception *x)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (!k->of[i])
			continue;
		atomic_store(&x->has[i], false);
		k->of[i]->ops->close(k->of[i]);
	}
	memset(k, 0, sizeof(*k));
}

void bp_kernel_ifs_print(const struct bp_kernel_ifs *k, FILE *out)
{
	const char *before = "  kernel interfaces: ";

	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (!k->of[i])
			continue;
		fprintf(out, "%s%s (%s)", before, k->of[i]->name, k->of[i]->ops->name);
		before = ", ";
	}
	if (k->n)
		fprintf(out, "\n");
}
