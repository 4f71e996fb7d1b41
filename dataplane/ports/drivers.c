/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/drivers.h"

#include <string.h>

static const struct bp_driver drivers[] = {
	{.name = "net_af_packet",
		.fanout = true,
		.all_queues = true,
		.qinq_fix = true,
		.packet_sockets = true,
		.kernel_interface = true},
	{.name = "net_af_xdp",
		.all_queues = true,
		.spreads_flows = true,
		.xdp_sockets = true,
		.kernel_interface = true},
	{.name = "net_pcap", .all_queues = true, .chains = true, .sends_chains = true},
	{.name = "net_memif", .chains = true, .spreads_flows = true},
	{.name = "net_ring", .all_queues = true, .set_port = true, .chains = true},
	{.name = "net_tap",
		.no_rss = true,
		.spreads_flows = true,
		.queue_pairs = true,
		.software_checksum = true,
		.readable_queues = true,
		.link_unreliable = true},
	{.name = "net_null", .no_rss = true, .sends_chains = true},
	/*
	 * it does not report the maximum number of buffers of a frame, which is one for the device
	 * of QEMU
	 */
	{.name = "net_vmxnet3", .one_buffer = true},
	{.name = "net_virtio", .reports_partial = true, .spreads_flows = true},
	{.name = "net_virtio_user", .reports_partial = true, .spreads_flows = true},
	{.name = "virtio_user", .reports_partial = true, .spreads_flows = true},
	{.name = "net_vhost", .reports_partial = true, .chains = true, .spreads_flows = true},
};
static const struct bp_driver ordinary = {.name = ""};

const struct bp_driver *bp_driver_find(const char *name)
{
	for (unsigned i = 0; name && i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return &ordinary;
}
