/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/follow.h"

#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "dataplane/exception/kernel_link.h"
#include "dataplane/ports/link.h"
#include "daemon/log.h"

#define MTU_MIN 68u
#define NEW_POLLS 100 /* about two seconds */

static uint64_t table_mac(const struct bp_interface *t)
{
	return atomic_load_explicit(&t->mac, memory_order_relaxed);
}

static uint32_t table_mtu(const struct bp_interface *t)
{
	return atomic_load_explicit(&t->mtu, memory_order_relaxed);
}

unsigned bp_follow_decide(struct bp_followed *f, const struct bp_interface *table,
	uint64_t port_mac, uint32_t port_mtu)
{
	uint64_t mac = table_mac(table);
	uint32_t mtu = table_mtu(table);
	unsigned what = 0;

	if (!(atomic_load_explicit(&table->flags, memory_order_acquire) & BP_IF_KERNEL))
		return 0;
	/* the first byte is the lowest; its lowest bit is the group bit */
	if (mac != f->mac && mac != port_mac && mac != 0 && !(mac & 1))
		what |= BP_FOLLOW_MAC;
	if (mtu != f->mtu && mtu != port_mtu && mtu >= MTU_MIN && mtu <= UINT16_MAX)
		what |= BP_FOLLOW_MTU;
	f->mac = mac;
	f->mtu = mtu;
	return what;
}

static uint64_t port_mac(unsigned p)
{
	struct rte_ether_addr a = {0};

	rte_eth_macaddr_get((uint16_t)p, &a);
	return bp_mac_word(a.addr_bytes);
}

void bp_follow_init(struct bp_follow *f, const struct bp_config *c, struct bp_port *ports,
	const struct bp_pools *pools, const struct bp_kernel_ifs *ifs,
	const struct bp_interface *table)
{
	*f = (struct bp_follow){
		.config = c, .ports = ports, .pools = pools, .ifs = ifs, .table = table};
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		f->of[i].mac = table_mac(&table[i]);
		f->of[i].mtu = table_mtu(&table[i]);
		f->of[i].ifindex = ifs->of[i] ? ifs->of[i]->ifindex : 0;
	}
}

/*
 * A driver with an unreliable link state must not take the interface of the kernel down: its state
 * is used only if the kernel itself reports the port.
 */
static bool link_is_up(const struct bp_follow *f, unsigned p)
{
	enum bp_link l = bp_link_get((uint16_t)p);

	return l == BP_LINK_UP || (l == BP_LINK_UNCERTAIN && f->ports[p].driver->link_unreliable &&
					  !bp_link_is_certain((uint16_t)p));
}

/* A bridge has carrier while any of its ports has carrier. */
static bool has_carrier(const struct bp_follow *f, unsigned i)
{
	const struct bp_config_bridge *b;

	if (i < BP_MAX_PORTS)
		return link_is_up(f, i);
	b = &f->config->bridge[i - BP_MAX_PORTS];
	for (unsigned p = 0; p < b->n; p++)
		if (link_is_up(f, b->port[p]))
			return true;
	return false;
}

static const char *name_of(const struct bp_follow *f, unsigned i)
{
	const char *name = "?";

	bp_config_interface(f->config, i, &name);
	return name;
}

static void follow_carrier(struct bp_follow *f, unsigned i)
{
	struct bp_followed *o = &f->of[i];
	bool up = has_carrier(f, i);
	int error;

	if (o->carrier_known && o->carrier == up)
		return;
	o->carrier_known = true;
	o->carrier = up;
	error = bp_kernel_link_set_carrier(f->ifs->of[i]->ifindex, up);
	if (error != 0)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("interface", name_of(f, i)),
				BP_LOG_STR("link", up ? "up" : "down")),
			"link state cannot be set in the kernel: %s", strerror(error));
}

static bool set_mac(const struct bp_follow *f, unsigned p, uint64_t mac)
{
	struct rte_ether_addr a;
	int rc;

	for (unsigned i = 0; i < sizeof(a.addr_bytes); i++)
		a.addr_bytes[i] = (uint8_t)(mac >> 8 * i);
	rc = rte_eth_dev_default_mac_addr_set((uint16_t)p, &a);
	if (rc != 0) {
		char text[RTE_ETHER_ADDR_FMT_SIZE];

		rte_ether_format_addr(text, sizeof(text), &a);
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", name_of(f, p)), BP_LOG_STR("mac", text)),
			"port does not accept the MAC address of its kernel interface: %s; frames "
			"to it are received only while the port is promiscuous",
			rte_strerror(-rc));
	}
	return rc == 0;
}

static bool set_mtu(struct bp_follow *f, unsigned p, uint32_t mtu)
{
	struct bp_port *port = &f->ports[p];
	int rc = -ENOSPC;

	if (((port->rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER) && !port->offloads.one_segment) ||
		bp_pools_fit(f->pools, port->config->device, mtu))
		rc = rte_eth_dev_set_mtu((uint16_t)p, (uint16_t)mtu);
	if (rc == 0) {
		port->mtu = mtu;
		return true;
	}
	bp_log_event(BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("port", port->config->name), BP_LOG_NUM("mtu", mtu)),
		"port does not accept the MTU of its kernel interface: %s; `mtu: %u` under the "
		"port sets it at the next restart, if the device supports it",
		rc == -ENOSPC ? "packet buffers are too small" : rte_strerror(-rc), mtu);
	return false;
}

/*
 * Whether the table describes the kernel interface that this process serves. The control plane
 * recreates a removed interface with a MAC address of the kernel, which must not become that of the
 * port.
 */
static bool is_served(const struct bp_follow *f, unsigned i)
{
	return __atomic_load_n(&f->table[i].info.ifindex, __ATOMIC_RELAXED) ==
	       f->ifs->of[i]->ifindex;
}

/* It was removed and created again. */
static void follow_new(struct bp_followed *o, unsigned ifindex)
{
	if (o->ifindex == ifindex)
		return;
	o->ifindex = ifindex;
	o->carrier_known = false;
	o->new_polls = NEW_POLLS;
}

/* In one state of the table: it has the number of a new kernel interface before its MAC. */
static bool has_values_of_port(const struct bp_follow *f, unsigned p)
{
	const struct bp_interface *t = &f->table[p];
	const uint32_t seq = atomic_load_explicit(&t->seq, memory_order_acquire);
	const bool same =
		is_served(f, p) && table_mac(t) == port_mac(p) && table_mtu(t) == f->ports[p].mtu;

	atomic_thread_fence(memory_order_acquire);
	return same && seq % 2 == 0 && atomic_load_explicit(&t->seq, memory_order_relaxed) == seq;
}

/* If another program sets a value of a new interface at once, before the table had those of the
 * port, that value is followed from the next poll on. */
static void wait_for_values(struct bp_follow *f, unsigned p)
{
	struct bp_followed *o = &f->of[p];

	if (has_values_of_port(f, p)) {
		o->new_polls = 0;
	} else if (--o->new_polls == 0) {
		o->mac = port_mac(p);
		o->mtu = f->ports[p].mtu;
	}
}

static bool follow_port(struct bp_follow *f, unsigned p)
{
	const struct bp_interface *t = &f->table[p];
	unsigned what = bp_follow_decide(&f->of[p], t, port_mac(p), f->ports[p].mtu);
	bool changed = false;

	if (f->of[p].new_polls != 0) {
		wait_for_values(f, p);
		return false;
	}
	if (what & BP_FOLLOW_MAC)
		changed |= set_mac(f, p, f->of[p].mac);
	if (what & BP_FOLLOW_MTU)
		changed |= set_mtu(f, p, f->of[p].mtu);
	return changed;
}

uint32_t bp_follow_poll(struct bp_follow *f)
{
	uint32_t changed = 0;

	for (unsigned p = 0; p < f->config->n_ports; p++)
		bp_link_poll((uint16_t)p, f->ports[p].pci);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (!f->ifs->of[i])
			continue;
		follow_new(&f->of[i], f->ifs->of[i]->ifindex);
		follow_carrier(f, i);
		if (i < BP_MAX_PORTS && is_served(f, i) && follow_port(f, i))
			changed |= 1u << i;
	}
	return changed;
}
