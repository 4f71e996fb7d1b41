/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/rx_event.h"

#include <dirent.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_ethdev.h>

static int family_of(int fd)
{
	int family = -1;
	socklen_t len = sizeof(family);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) == 0 ? family : -1;
}

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

unsigned bp_rx_event_sockets(int family, int *fd, unsigned max)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	unsigned n = 0;

	while (d && n < max && (e = readdir(d)) != NULL) {
		char *end;
		const long number = strtol(e->d_name, &end, 10);

		if (end != e->d_name && *end == '\0' && family_of((int)number) == family)
			fd[n++] = (int)number;
	}
	if (d)
		closedir(d);
	qsort(fd, n, sizeof(*fd), ascending);
	return n;
}

int bp_rx_event_added(const int *before, unsigned n_before, const int *after, unsigned n_after)
{
	int added = -1;

	for (unsigned i = 0; i < n_after; i++) {
		if (bsearch(&after[i], before, n_before, sizeof(*before), ascending))
			continue;
		if (added >= 0)
			return -1;
		added = after[i];
	}
	return added;
}

bool bp_rx_event_is_packet_socket(int fd, unsigned ifindex)
{
	struct sockaddr_ll address = {0};
	socklen_t len = sizeof(address);

	return fd >= 0 && ifindex != 0 && family_of(fd) == AF_PACKET &&
	       getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
	       address.sll_family == AF_PACKET && address.sll_ifindex == (int)ifindex;
}

/*
 * The queue of net_af_packet is a structure that begins with its socket (since DPDK 2.0). The
 * structure is longer than an int in any version, so the value can be read; it is used only if it
 * is a socket of this interface.
 */
int bp_rx_event_packet_socket(const struct bp_port *p, uint16_t port, uint16_t queue)
{
	void *const *queues = rte_eth_fp_ops[port].rxq.data;
	int fd;

	if (!queues || !queues[queue])
		return -1;
	memcpy(&fd, queues[queue], sizeof(fd));
	return bp_rx_event_is_packet_socket(fd, p->info.if_index) ? fd : -1;
}

int bp_rx_event_fd(const struct bp_port *p, uint16_t port, uint16_t queue)
{
	if (p->driver->packet_sockets)
		return bp_rx_event_packet_socket(p, port, queue);
	if (p->driver->readable_queues && p->rx_interrupts)
		return rte_eth_dev_rx_intr_ctl_q_get_fd(port, queue);
	/* set when the queue was set up; the descriptor was closed if the number is another file */
	if (p->driver->xdp_sockets && queue < BP_MAX_QUEUES && p->xdp_socket[queue] > 0 &&
		family_of(p->xdp_socket[queue]) == AF_XDP)
		return p->xdp_socket[queue];
	return -1;
}
