/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/startup.h"

#include "config/mqtt/settings.h"
#include <inttypes.h>
#include <string.h>

#include "dataplane/ports/device.h"
#include "dataplane/ports/interface.h"
#include "daemon/log.h"

/* "devices <-> cloud" */
static void bridge_text(const struct bp_config *c, unsigned bridge, char *out, size_t size)
{
	const struct bp_config_bridge *b = &c->bridge[bridge];
	size_t at = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < b->n && at < size; i++)
		at += (size_t)snprintf(
			out + at, size - at, "%s%s", i ? " <-> " : "", c->port[b->port[i]].name);
}

static void print_machine(const struct bp_startup *s, FILE *out)
{
	fprintf(out, "biplane %s, instance %s\n", BP_VERSION, s->config->name);
	fprintf(out,
		"  memory   %s (%" PRIu64 " MiB of hugepages were free, about %" PRIu64
		" MiB needed)\n",
		s->eal->huge ? "hugepages" : "ordinary pages", s->eal->huge_free >> 20,
		s->eal->needed >> 20);
	for (unsigned n = 0; n < BP_NUMA_MAX; n++)
		if (s->pools->pool[n])
			fprintf(out, "  buffers  %u of %u bytes on NUMA node %u\n",
				s->pools->mbufs[n], s->pools->data_room, n);
	fprintf(out, "  segment  %s, %" PRIu64 " KiB, %s\n", bp_segment_path(s->shm->segment),
		bp_segment_size(s->shm->segment) >> 10,
		bp_segment_huge(s->shm->segment) ? "hugepages" : "ordinary pages");
}

static void print_port(const struct bp_startup *s, unsigned i, FILE *out)
{
	const struct bp_port *p = &s->ports[i];
	const struct bp_port_queues *q = &s->plan->port[i];
	struct rte_ether_addr mac = {0};
	char offloads[192];

	rte_eth_macaddr_get((uint16_t)i, &mac);
	bp_port_offload_names(p, offloads, sizeof(offloads));
	fprintf(out,
		"  %-4u %-12s %-16s %02x:%02x:%02x:%02x:%02x:%02x %5u %5u/%-5u %5u/%-5u %4d  %s\n",
		i, p->config->name, p->driver_name, mac.addr_bytes[0], mac.addr_bytes[1],
		mac.addr_bytes[2], mac.addr_bytes[3], mac.addr_bytes[4], mac.addr_bytes[5], p->mtu,
		q->n_rx, q->n_tx, p->rx_desc, p->tx_desc, p->socket, p->config->device);
	fprintf(out, "       offloads: %s\n", offloads);
}

static void print_workers(const struct bp_bridge_workers *w, FILE *out)
{
	if (w->spread)
		fprintf(out, "shared out among all workers\n");
	else if (w->why[0])
		fprintf(out, "served by worker %u alone: %s\n", w->worker, w->why);
	else
		fprintf(out, "served by worker %u\n", w->worker);
}

static void print_bridges(const struct bp_startup *s, FILE *out)
{
	const char *inspected = bp_config_mqtt(s->config)->enabled ? ", MQTT inspected" : "";
	char text[512];

	for (unsigned b = 0; b < s->config->n_bridges; b++) {
		const struct bp_config_bridge *bridge = &s->config->bridge[b];

		bridge_text(s->config, b, text, sizeof(text));
		fprintf(out, "  bridge %s: %s, %s%s%s%s; ", bridge->name, text,
			bridge->n > 2 || bridge->has_host_interface ? "a learning switch"
								    : "a wire",
			inspected, bridge->has_host_interface ? ", host interface " : "",
			bridge->has_host_interface ? bridge->host_interface.kernel_name : "");
		print_workers(&s->plan->bridge[b], out);
	}
}

static void print_router(const struct bp_startup *s, FILE *out)
{
	unsigned n = 0;

	for (unsigned p = 0; p < s->config->n_ports; p++)
		if (bp_config_port_routes(s->config, p))
			fprintf(out, "%s%s",
				n++ ? ", " : "  routing between: ", s->config->port[p].name);
	if (n == 0)
		return;
	fprintf(out, "%s; ", bp_config_mqtt(s->config)->enabled ? ", MQTT inspected" : "");
	print_workers(&s->plan->router, out);
}

static void print_worker(const struct bp_startup *s, unsigned w, FILE *out)
{
	const struct bp_cpus *cpus = &s->eal->cpus;
	unsigned n = 0;

	if (cpus->floating)
		fprintf(out, "  worker %u on any CPU polls", w);
	else
		fprintf(out, "  worker %u on CPU %u polls", w, cpus->worker_cpu[w]);
	for (unsigned p = 0; p < s->config->n_ports; p++) {
		const struct bp_port_queues *q = &s->plan->port[p];

		for (unsigned i = 0; i < q->n_rx; i++)
			if (q->rx_worker[i] == w)
				fprintf(out, "%s %s/%u", n++ ? "," : "", s->config->port[p].name,
					i);
	}
	fprintf(out, "%s\n", n ? "" : " nothing: there are more workers than queues");
}

void bp_startup_print(const struct bp_startup *s, FILE *out)
{
	print_machine(s, out);
	fprintf(out, "  %-4s %-12s %-16s %-17s %5s %5s/%-5s %5s/%-5s %4s  %s\n", "port", "name",
		"driver", "MAC", "MTU", "rxq", "txq", "rxd", "txd", "NUMA", "device");
	for (unsigned i = 0; i < s->config->n_ports; i++)
		print_port(s, i, out);
	print_bridges(s, out);
	print_router(s, out);
	fprintf(out, "  main thread on CPU %u\n", s->eal->cpus.main_cpu);
	for (unsigned w = 0; w < s->plan->n_workers; w++)
		print_worker(s, w, out);
	fflush(out);
}

/*
 * For ports on an interface that the kernel also has: changes by the kernel are not visible in the
 * frames.
 */
static void warn_interface(const struct bp_port *p)
{
	const uint32_t room = bp_device_frame_size(p->config->device, p->mtu);
	const char *name = p->config->name;
	struct bp_device_facts i;
	char iface[64];

	if (!bp_device_arg(p->config->device, "iface", iface, sizeof(iface)))
		return;
	i = bp_interface_query(iface);
	if (!i.up)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", name), BP_LOG_STR("interface", iface)),
			"interface is down; run `ip link set %s up`", iface);
	if (i.veth)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", name), BP_LOG_STR("interface", iface)),
			"veth: the driver cannot distinguish a partial checksum from a wrong one; "
			"disable the sender's offloads (`ethtool -K IF tx off` on the other end)");
	if (i.gro)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", name), BP_LOG_STR("interface", iface)),
			"the interface merges received frames (GRO/LRO); disable it: `ethtool -K "
			"%s gro off lro off`",
			iface);
	if (p->driver->fanout && i.mtu + 14 + 8 + 64 > room)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", name), BP_LOG_STR("interface", iface),
				BP_LOG_NUM("mtu", i.mtu), BP_LOG_NUM("buffer_size", room)),
			"buffers are smaller than the MTU and truncate longer frames; remove "
			"framesz and blocksz from the device");
}

/*
 * af_packet delivers copies: the kernel also processes the frame. If the kernel has the addresses
 * of this router, it would answer the frame and forward it a second time.
 */
static void warn_twice(const struct bp_startup *s, unsigned port)
{
	const struct bp_port *p = &s->ports[port];
	const struct bp_config_interface *o;
	struct bp_device_facts i;
	const char *name;
	char iface[64];

	o = bp_config_interface(s->config, port, &name);
	if (!o || o->backend == BP_BACKEND_OFF || !p->driver->fanout ||
		!bp_device_arg(p->config->device, "iface", iface, sizeof(iface)))
		return;
	i = bp_interface_query(iface);
	if (i.takes_ip4 || i.takes_ip6)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", name), BP_LOG_STR("interface", iface)),
			"the kernel receives the frames of this interface too, and would answer "
			"and forward them a second time; disable it: sysctl -w "
			"net/ipv4/conf/%s/rp_filter=1 net/ipv6/conf/%s/disable_ipv6=1",
			iface, iface);
}

/* Warnings for a user who relies on an offload of the device. */
static void warn_offloads(const struct bp_port *p)
{
	const struct bp_port_offload *strip = &p->offloads.of[BP_OFFLOAD_VLAN_STRIP];

	if (strip->word == BP_OFFLOAD_AUTO && strip->outcome == BP_OFFLOAD_SOFTWARE)
		bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("port", p->config->name)),
			"%s", strip->why);
	if (p->rss_refused)
		bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("port", p->config->name)),
			"RSS is off although the driver advertises it (%s); `offloads: {rss: on}` "
			"enables it",
			p->offloads.of[BP_OFFLOAD_RSS].why);
	if (p->config->mtu == 0 && p->offloads.mtu < p->mtu_requested)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("port", p->config->name),
				BP_LOG_NUM("mtu", p->mtu),
				BP_LOG_NUM("device_mtu", p->mtu_requested)),
			"MTU reduced: a frame must fit in one buffer");
}

void bp_startup_warn(const struct bp_startup *s)
{
	if (s->eal->warning[0])
		bp_log(BP_LOG_WARNING, "%s", s->eal->warning);
	if (!bp_segment_huge(s->shm->segment) && s->config->hugepages != BP_HUGEPAGES_NEVER)
		bp_log(BP_LOG_WARNING, "shared segment is on normal pages; for hugepages mount "
				       "hugetlbfs and raise vm.nr_hugepages");
	if (s->eal->cpus.shared)
		bp_log(BP_LOG_WARNING, "fewer CPUs than threads: some workers share a CPU");
	for (unsigned i = 0; i < s->config->n_ports; i++) {
		int node = rte_eth_dev_socket_id((uint16_t)i);

		warn_offloads(&s->ports[i]);
		if (s->ports[i].driver->kernel_interface)
			warn_interface(&s->ports[i]);
		warn_twice(s, i);
		for (unsigned w = 0; node >= 0 && w < s->plan->n_workers; w++)
			if (bp_queue_plan_workers(s->plan, i) >> w & 1 &&
				(int)rte_lcore_to_socket_id(w + 1) != node)
				bp_log_event(BP_LOG_WARNING,
					BP_LOG_FIELDS(BP_LOG_STR("port", s->config->port[i].name),
						BP_LOG_NUM("port_numa_node", (uint64_t)node),
						BP_LOG_NUM("worker", w),
						BP_LOG_NUM("worker_numa_node",
							rte_lcore_to_socket_id(w + 1))),
					"port and worker are on different NUMA nodes");
	}
}
