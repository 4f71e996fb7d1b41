/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/mqtt/settings.h"
#include "services/mqtt/flow.h"
#include "services/mqtt/inspect.h"
#include "shm/hash.h"

/* The worker of a connection depends on the ports and their queues, its key on their networks. */
static uint64_t placement_of(const struct bp_config *c, const struct bp_networks *networks)
{
	uint64_t h = c->n_ports | (uint64_t)bp_config_mqtt(c)->separate_vrfs << 32;

	for (unsigned p = 0; p < c->n_ports; p++) {
		const struct bp_config_port *port = &c->port[p];
		const uint64_t key[2] = {h, port->rx_queues};

		h = bp_hash_bytes(key, port->device, strnlen(port->device, sizeof(port->device)));
		if (networks->of_port[p] != 0) {
			const char *name = networks->name[networks->of_port[p]];

			h = bp_hash_bytes(
				(const uint64_t[2]){h, networks->of_port[p]}, name, strlen(name));
		}
	}
	return h;
}

void bp_config_mqtt_options(const struct bp_config *c, struct bp_mqtt_options *o)
{
	const struct bp_config_mqtt *m = bp_config_mqtt(c);
	struct bp_networks networks;

	bp_config_networks(c, &networks);
	*o = (struct bp_mqtt_options){
		.workers = c->n_workers,
		.placement = placement_of(c, &networks),
		.n_ports = m->n_tcp_ports + m->n_websocket_ports,
		.n_websocket_ports = m->n_websocket_ports,
		.n_brokers = m->n_brokers,
		.evaluates = {[BP_TO_BROKER] = m->directions != BP_DIRECTIONS_FROM_BROKER,
			[BP_FROM_BROKER] = m->directions != BP_DIRECTIONS_TO_BROKER},
		.mosquitto = m->strictness == BP_STRICTNESS_MOSQUITTO,
		.acknowledged = m->evaluate == BP_EVALUATE_ACKNOWLEDGED,
		.max_proven = m->max_connections,
		.max_unproven = m->max_unestablished != 0 ? m->max_unestablished
							  : m->max_connections / 4 + 1,
		.idle_ns = m->connection_timeout_ns,
		.handshake_ns = m->handshake_timeout_ns,
		.reassembly_per_flow = m->reassembly_per_connection,
		.reassembly_unproven = m->reassembly_unestablished != 0
					       ? m->reassembly_unestablished
					       : m->reassembly_total / 4,
		.reorder_bytes = m->reorder_buffer,
		.max_topic_aliases = (uint16_t)m->max_topic_aliases,
		.work_budget = m->connection_cpu_percent,
		.worker_budget = m->worker_cpu_percent,
		.resync_pushes = (uint8_t)m->resync_packets,
		.min_ttl = (uint8_t)m->min_ttl,
		.shares_connections = c->fleet.state.enabled,
	};
	memcpy(o->ports, m->tcp_ports, sizeof(m->tcp_ports));
	memcpy(o->ports + m->n_tcp_ports, m->websocket_ports, sizeof(m->websocket_ports));
	memcpy(o->brokers, m->brokers, sizeof(o->brokers));
	memcpy(o->networks, networks.name, sizeof(o->networks));
	o->separate_vrfs = m->separate_vrfs;
}

uint64_t bp_flow_table_size(const struct bp_config *c)
{
	struct bp_mqtt_options o;

	if (!bp_config_mqtt(c)->enabled)
		return 64;
	bp_config_mqtt_options(c, &o);
	return bp_mqtt_flow_table_bytes(&o);
}
