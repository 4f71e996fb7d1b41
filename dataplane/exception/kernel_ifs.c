/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/kernel_ifs.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "daemon/log.h"
#include "dataplane/exception/kernel_link.h"
#include "dataplane/exception/thread.h"

#define RESTORE_NS 1000000000u

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

static bool is_configured(const struct bp_config *c, unsigned i)
{
	const char *name;
	const struct bp_config_interface *o = bp_config_interface(c, i, &name);

	return o && o->backend != BP_BACKEND_OFF;
}

/* NULL: error, with a message in `err`. */
static struct bp_kernel_if *open_number(
	const struct bp_kernel_ifs *k, unsigned i, char *err, size_t err_size)
{
	struct bp_kernel_if_spec s = {.number = i};
	const struct bp_config_interface *o = bp_config_interface(k->config, i, &s.name);

	s.kernel = o->kernel_name;
	if (i < BP_MAX_PORTS) {
		add_port(&s, k->ports, k->pools, i);
	} else {
		const struct bp_config_bridge *b = &k->config->bridge[i - BP_MAX_PORTS];

		for (unsigned p = 0; p < b->n; p++)
			add_port(&s, k->ports, k->pools, b->port[p]);
	}
	return open_one(&s, o->backend, err, err_size);
}

int bp_kernel_ifs_open(struct bp_kernel_ifs *k, struct bp_exception *x, const struct bp_config *c,
	const struct bp_port *ports, const struct bp_pools *pools, char *err, size_t err_size)
{
	*k = (struct bp_kernel_ifs){.exception = x, .config = c, .ports = ports, .pools = pools};
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (!is_configured(c, i))
			continue;
		k->of[i] = open_number(k, i, err, err_size);
		if (!k->of[i]) {
			bp_kernel_ifs_close(k, x);
			return -1;
		}
		k->n++;
		atomic_store(&x->has[i], true);
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

/* Without a descriptor, the thread does not notice that its interface is gone. */
static bool is_gone(const struct bp_kernel_if *k)
{
	struct bp_kernel_link link;

	return k->fd < 0 && bp_kernel_link_get(k->ifindex, &link) == ENODEV;
}

static void restore(struct bp_kernel_ifs *k, struct bp_exception_thread *t, unsigned i)
{
	char err[512] = "";

	k->of[i] = open_number(k, i, err, sizeof(err));
	if (!k->of[i]) {
		bp_log_limited(&k->limit[i], BP_LOG_WARNING, NULL, "%s", err);
		return;
	}
	k->removed[i] = false;
	bp_log_event(BP_LOG_INFO, BP_LOG_FIELDS(BP_LOG_STR("interface", k->of[i]->name)),
		"kernel interface was created again");
	bp_exception_thread_replace(t, i, k->of[i]);
}

void bp_kernel_ifs_restore(struct bp_kernel_ifs *k, struct bp_exception_thread *t, uint64_t now_ns)
{
	if (k->n == 0 || now_ns - k->checked_ns < RESTORE_NS)
		return;
	k->checked_ns = now_ns;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (k->of[i] && bp_exception_thread_released(t, i, is_gone(k->of[i]))) {
			k->of[i]->ops->close(k->of[i]);
			k->of[i] = NULL;
			k->removed[i] = true;
		}
		if (k->removed[i])
			restore(k, t, i);
	}
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
