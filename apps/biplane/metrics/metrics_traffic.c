/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports, frames and drops. */
#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/general.h"

/* ---- ports ---- */

/* Only ports with a name: the data plane may be writing the others. */
static bool next_port(const struct bp_metrics *m, unsigned *port)
{
	while (*port < m->n_ports && m->port[*port][0] == '\0')
		++*port;
	return *port < m->n_ports;
}

static struct bp_metric_label port_label(const struct bp_metrics *m, unsigned port)
{
	return (struct bp_metric_label){"port", m->port[port]};
}

static void read_port(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_port_info *info = m->shm->ports;
	char device[BP_METRIC_TEXT(sizeof(info->device))],
		driver[BP_METRIC_TEXT(sizeof(info->driver))],
		bridge[BP_METRIC_TEXT(sizeof(info->bridge))];

	(void)row;
	for (unsigned p = 0; next_port(m, &p); p++) {
		bp_metric_text(device, sizeof(device), info[p].device, sizeof(info->device));
		bp_metric_text(driver, sizeof(driver), info[p].driver, sizeof(info->driver));
		bp_metric_text(bridge, sizeof(bridge), info[p].bridge, sizeof(info->bridge));
		bp_metric_count(m,
			BP_LABELS(port_label(m, p), {"device", device}, {"driver", driver},
				{"bridge", bridge}),
			1);
	}
}

static void read_link(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned p = 0; next_port(m, &p); p++)
		bp_metric_count(m, BP_LABELS(port_label(m, p)), m->shm->ports[p].link_up != 0);
}

/* 0 and all ones are DPDK's "none" and "unknown". */
static void read_speed(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned p = 0; next_port(m, &p); p++) {
		const uint32_t mbps = m->shm->ports[p].speed_mbps;

		if (mbps != 0 && mbps != UINT32_MAX)
			bp_metric_count(m, BP_LABELS(port_label(m, p)), mbps * 125000ull);
	}
}

static void read_mtu(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned p = 0; next_port(m, &p); p++)
		bp_metric_count(m, BP_LABELS(port_label(m, p)), m->shm->ports[p].mtu);
}

static uint64_t port_sum(const struct bp_metrics *m, unsigned port, size_t at)
{
	return bp_metric_sum(
		m, m->shm->port_stats, sizeof(struct bp_port_stats), BP_MAX_PORTS, port, at);
}

static void read_port_sum(struct bp_metrics *m, const struct bp_metric *row)
{
	for (unsigned p = 0; next_port(m, &p); p++)
		bp_metric_count(m, BP_LABELS(port_label(m, p)), port_sum(m, p, row->at));
}

static void read_driver(struct bp_metrics *m, const struct bp_metric *row)
{
	for (unsigned p = 0; next_port(m, &p); p++)
		bp_metric_count(
			m, BP_LABELS(port_label(m, p)), bp_metric_load(&m->shm->ports[p], row->at));
}

/* ---- frames ---- */

/* Over all rows, not only the ports of today: the sum is the segment's. */
static uint64_t all_ports(const struct bp_metrics *m, size_t at)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < BP_MAX_PORTS; p++)
		sum = bp_metric_add(sum, port_sum(m, p, at));
	return sum;
}

static uint64_t group_sum(const struct bp_metrics *m, bp_counter_group_t group)
{
	uint64_t sum = 0;

	for (bp_counter_t c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].name && bp_counter_info[c].group == group)
			sum = bp_metric_add(sum, bp_shm_counter(m->shm, c));
	return sum;
}

static void read_received(struct bp_metrics *m, const struct bp_metric *row)
{
	bp_metric_count(m, BP_NO_LABELS, all_ports(m, row->at));
}

static void read_outcomes(struct bp_metrics *m, const struct bp_metric *row)
{
	bp_metric_count(m, BP_LABELS({"outcome", "sent"}), all_ports(m, row->at));
	bp_metric_count(m, BP_LABELS({"outcome", "dropped"}), group_sum(m, BP_CG_DROP));
	bp_metric_count(m, BP_LABELS({"outcome", "punted"}), group_sum(m, BP_CG_PUNTED));
	bp_metric_count(m, BP_LABELS({"outcome", "terminated"}), group_sum(m, BP_CG_TERMINATED));
}

/* Losses of the driver, which the counters of group drop do not have. */
static const struct {
	const char *reason;
	size_t at;
} driver_loss[] = {
	{"driver_rx_missed", offsetof(struct bp_port_info, hw_imissed)},
	{"driver_rx_no_mbuf", offsetof(struct bp_port_info, hw_rx_nombuf)},
	{"driver_rx_errors", offsetof(struct bp_port_info, hw_ierrors)},
	{"driver_tx_errors", offsetof(struct bp_port_info, hw_oerrors)},
};

static void read_drops(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (bp_counter_t c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].name && bp_counter_info[c].group == BP_CG_DROP)
			bp_metric_count(m, BP_LABELS({"reason", bp_counter_info[c].name}),
				bp_shm_counter(m->shm, c));
	for (size_t i = 0; i < sizeof(driver_loss) / sizeof(driver_loss[0]); i++)
		for (unsigned p = 0; next_port(m, &p); p++)
			bp_metric_count(m,
				BP_LABELS({"reason", driver_loss[i].reason}, port_label(m, p)),
				bp_metric_load(&m->shm->ports[p], driver_loss[i].at));
}

/* Only what occurred: most reasons never do, and not at every port. */
static void read_port_drops(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (bp_counter_t c = 0; c < BP_C_COUNT; c++) {
		if (!bp_counter_info[c].name || bp_counter_info[c].group != BP_CG_DROP)
			continue;
		for (unsigned p = 0; next_port(m, &p); p++) {
			const uint64_t n = bp_shm_port_drops(m->shm, p, c);

			if (n != 0)
				bp_metric_count(m,
					BP_LABELS(port_label(m, p),
						{"reason", bp_counter_info[c].name}),
					n);
		}
	}
}

/* ---- the tables ---- */

#define PORT(name_, unit_, member, help_)                                                          \
	{                                                                                          \
		.name = name_, .type = BP_METRIC_COUNTER, .unit = unit_, .labels = "port",         \
		.help = help_, .read = read_port_sum, .at = offsetof(struct bp_port_stats, member) \
	}
#define DRIVER(name_, unit_, member, help_)                                                        \
	{                                                                                          \
		.name = name_, .type = BP_METRIC_COUNTER, .unit = unit_, .labels = "port",         \
		.help = help_, .read = read_driver, .at = offsetof(struct bp_port_info, member)    \
	}
static const struct bp_metric ports[] = {
	{.name = "port",
		.type = BP_METRIC_INFO,
		.labels = "port,device,driver,bridge",
		.help = "Device, driver and bridge of a port",
		.read = read_port},
	{.name = "port_link_up",
		.type = BP_METRIC_GAUGE,
		.labels = "port",
		.help = "Whether the port has a link",
		.read = read_link},
	{.name = "port_speed_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "port",
		.help = "Link rate in bytes per second, if the driver reports it",
		.read = read_speed},
	{.name = "port_mtu_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "port",
		.help = "MTU of the port",
		.read = read_mtu},
	PORT("port_rx_packets", NULL, rx_packets, "Frames received"),
	PORT("port_rx_bytes", "bytes", rx_bytes, "Bytes received, without the frame checksum"),
	PORT("port_tx_packets", NULL, tx_packets, "Frames sent"),
	PORT("port_tx_bytes", "bytes", tx_bytes, "Bytes sent, without the frame checksum"),
	PORT("port_tx_dropped", NULL, tx_dropped,
		"Frames for the port that were dropped: TX queue full or link down"),
	PORT("port_mac_moves", NULL, mac_moves, "Addresses that moved to the port"),
	PORT("port_mac_moves_refused", NULL, mac_moves_refused,
		"Moves of addresses to the port that were refused"),
	PORT("port_fdb_full", NULL, mac_table_full,
		"Addresses not learned: no free FDB entry for the port"),
	DRIVER("port_driver_rx_bytes", "bytes", hw_rx_bytes, "Bytes received, from the driver"),
	DRIVER("port_driver_tx_bytes", "bytes", hw_tx_bytes, "Bytes sent, from the driver"),
	DRIVER("port_driver_rx_missed", NULL, hw_imissed,
		"Frames that the device dropped: RX queue full (imissed)"),
	DRIVER("port_driver_rx_no_mbuf", NULL, hw_rx_nombuf,
		"RX mbuf allocation failures (rx_nombuf)"),
	DRIVER("port_driver_rx_errors", NULL, hw_ierrors, "Frames received with errors (ierrors)"),
	DRIVER("port_driver_tx_errors", NULL, hw_oerrors,
		"Frames not sent by the device (oerrors)"),
	{.name = NULL},
};

#define GROUP(name_, label, group_, prefix_, help_)                                                \
	{                                                                                          \
		.name = name_, .type = BP_METRIC_COUNTER, .labels = label, .help = help_,          \
		.read = bp_metric_read_group, .group = BP_CG_##group_, .prefix = prefix_           \
	}
static const struct bp_metric frames[] = {
	{.name = "frames_received",
		.type = BP_METRIC_COUNTER,
		.labels = "",
		.help = "Frames received from all ports",
		.read = read_received,
		.at = offsetof(struct bp_port_stats, rx_packets)},
	GROUP("frames_originated", "reason", ORIGINATED, "",
		"Frames that biplane generated, and frames received from the kernel"),
	{.name = "frames",
		.type = BP_METRIC_COUNTER,
		.labels = "outcome",
		.help = "Frames by outcome; at rest the sum is that of frames received and "
			"originated",
		.read = read_outcomes,
		.at = offsetof(struct bp_port_stats, tx_packets)},
	{.name = "drops",
		.type = BP_METRIC_COUNTER,
		.labels = "reason,port?",
		.help = "Dropped frames by reason; reasons driver_* are losses of the driver of "
			"the port",
		.read = read_drops,
		.group = BP_CG_DROP,
		.prefix = ""},
	{.name = "port_drops",
		.type = BP_METRIC_COUNTER,
		.labels = "port,reason",
		.help = "Dropped frames by port: those received on it, and with the reasons of a "
			"full queue or a driver of the output port (tx_*, lcl_*_full) those that "
			"it "
			"was to send. A series begins with the first drop",
		.read = read_port_drops},
	GROUP("frames_terminated", "reason", TERMINATED, "",
		"Frames addressed to biplane and processed there"),
	GROUP("frames_punted", "class", PUNTED, "punted_", "Frames handed to the kernel, by class"),
	GROUP("frames_punt_reason", "reason", PUNT_REASON, "punt_",
		"Why frames were sent to the exception path"),
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_traffic[] = {
	{"Ports", ports},
	{"Frames", frames},
	{NULL, NULL},
};
