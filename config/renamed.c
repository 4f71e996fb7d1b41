/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "config/schema.h"

/* Names of settings before version 1, for the errors about a file that still has them. */
const struct bp_renamed bp_renamed[] = {
	{"idle", "poll_mode: busy or adaptive"},
	{"sync", "netlink"},
	{"netlink.table", "netlink.route_table"},
	{"netlink.neighbour_keep", "netlink.neighbor_refresh"},
	{"routing.routes4", "routing.max_ipv4_routes"},
	{"routing.routes6", "routing.max_ipv6_routes"},
	{"routing.neighbours", "routing.max_neighbors"},
	{"routing.nexthops", "routing.max_nexthops"},
	{"routing.groups", "routing.max_nexthop_groups"},
	{"routing.rp_filter6", "routing.ipv6_rp_filter"},
	{"static", "routing.static_routes and routing.static_neighbors"},
	{"routing.static_routes[].port", "routing.static_routes[].interface"},
	{"routing.static_neighbors[].port", "routing.static_neighbors[].interface"},
	{"exception", "punt"},
	{"punt.classes", "punt.policers"},
	{"punt.phd_ports", "punt.health_device_ports"},
	{"punt.policers.phd", "punt.policers.health_devices"},
	{"punt.policers.routing.rate", "punt.policers.routing.rate_pps"},
	{"punt.policers.health_devices.rate", "punt.policers.health_devices.rate_pps"},
	{"punt.policers.local.rate", "punt.policers.local.rate_pps"},
	{"punt.policers.other.rate", "punt.policers.other.rate_pps"},
	{"punt.policers.routing.queue", "punt.policers.routing.queue_len"},
	{"punt.policers.health_devices.queue", "punt.policers.health_devices.queue_len"},
	{"punt.policers.local.queue", "punt.policers.local.queue_len"},
	{"punt.policers.other.queue", "punt.policers.other.queue_len"},
	{"trouble", "monitoring"},
	{"monitoring.link_settle", "monitoring.link_up_delay"},
	{"monitoring.buffers_low", "monitoring.mbuf_low_percent"},
	{"monitoring.worker_overrun", "monitoring.poll_gap_warning"},
	{"monitoring.worker_stuck", "monitoring.worker_stall_timeout"},
	{"monitoring.not_inspected", "monitoring.not_inspected_warning"},
	{"monitoring.log_every", "monitoring.log_interval"},
	{"aggregate", "aggregation.encapsulate"},
	{"disaggregate", "aggregation.decapsulate"},
	{"aggregation.streams", "aggregation.max_streams"},
	{"aggregation.queue", "aggregation.pacing_queue_len"},
	{"aggregation.encapsulate[].to.udp", "aggregation.encapsulate[].to.udp_port"},
	{"aggregation.encapsulate[].senders", "aggregation.encapsulate[].allowed_senders"},
	{"aggregation.encapsulate[].messages", "aggregation.encapsulate[].max_messages"},
	{"aggregation.encapsulate[].max_message", "aggregation.encapsulate[].max_message_size"},
	{"aggregation.encapsulate[].from", "aggregation.encapsulate[].source"},
	{"aggregation.encapsulate[].source.udp", "aggregation.encapsulate[].source.udp_port"},
	{"aggregation.decapsulate[].to.udp", "aggregation.decapsulate[].to.udp_port"},
	{"aggregation.decapsulate[].senders", "aggregation.decapsulate[].allowed_senders"},
	{"aggregation.decapsulate[].pace", "aggregation.decapsulate[].pacing_gap"},
	{"aggregation.decapsulate[].gap", "aggregation.decapsulate[].pacing_gap"},
	{"mqtt.ports", "mqtt.tcp_ports"},
	{"mqtt.judge", "mqtt.directions"},
	{"mqtt.checksum", "mqtt.verify_checksums: true or false"},
	{"mqtt.flows", "mqtt.max_connections"},
	{"mqtt.max_unproven", "mqtt.max_unestablished"},
	{"mqtt.flow_timeout", "mqtt.connection_timeout"},
	{"mqtt.carry_per_flow", "mqtt.reassembly_per_connection"},
	{"mqtt.carry_total", "mqtt.reassembly_total"},
	{"mqtt.carry_unproven", "mqtt.reassembly_unestablished"},
	{"mqtt.reorder_bytes", "mqtt.reorder_buffer"},
	{"mqtt.work_budget", "mqtt.connection_cpu_percent"},
	{"mqtt.worker_budget", "mqtt.worker_cpu_percent"},
	{"mqtt.resync_pushes", "mqtt.resync_packets"},
	{"mqtt.topic_states", "mqtt.max_alarm_states"},
	{"mqtt.alarm_ring", "mqtt.alarm_queue_size"},
	{"mqtt.edge", "mqtt.publisher"},
	{"mqtt.publisher.host", "mqtt.publisher.broker: mqtt://HOST[:PORT]"},
	{"mqtt.publisher.port", "mqtt.publisher.broker: mqtt://HOST[:PORT]"},
	{"mqtt.publisher.inflight", "mqtt.publisher.max_inflight"},
	{"mqtt.publisher.ack_timeout", "mqtt.publisher.puback_timeout"},
	{"mqtt.clone", "mqtt.mirror"},
	{"mqtt.mirror.address", "mqtt.mirror.ipv4_address"},
	{"mqtt.mirror.address6", "mqtt.mirror.ipv6_address"},
	{"mqtt.spool.backlog_fault", "mqtt.spool.backlog_warning"},
	{"mqtt.rules[].to", "mqtt.rules[].publish: {topic: TOPIC}"},
	{"mqtt.rules[].value.binary.endian", "mqtt.rules[].value.binary.byte_order"},
	{NULL, NULL},
};

const char *bp_renamed_to(const struct bp_setting *section, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s%s%s", section != NULL ? section->path : "",
		section != NULL && section->list != NULL ? "[]" : "", section != NULL ? "." : "",
		key);
	for (const struct bp_renamed *r = bp_renamed; r->was != NULL; r++)
		if (strcmp(path, r->was) == 0)
			return r->is;
	return NULL;
}
