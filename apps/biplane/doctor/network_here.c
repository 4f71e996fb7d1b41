/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/network_here.h"

#include <linux/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/biplane/doctor/tree.h"
#include "apps/biplane/text.h"

/* By its MAC, too, where it has one: lo and eth0 are called so, and numbered so, everywhere. */
static bool is_the_same(int fd, const struct bp_doctor_interface *i)
{
	char there[BP_TEXT_MAC], here[BP_TEXT_MAC];
	struct ifreq r = {0};
	uint8_t mac[6];

	if (if_nametoindex(i->name) != i->index)
		return false;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", i->name);
	if (ioctl(fd, SIOCGIFHWADDR, &r) != 0)
		return false;
	if (r.ifr_hwaddr.sa_family != ARPHRD_ETHER ||
		!bp_tree_text("", there, sizeof(there), "/sys/class/net/%s/address", i->name))
		return true;
	memcpy(mac, r.ifr_hwaddr.sa_data, sizeof(mac));
	bp_text_mac(mac, here);
	return !strcmp(here, there);
}

bool bp_doctor_network_is_here(const struct bp_doctor_network *n)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct if_nameindex *all = if_nameindex();
	bool same = fd >= 0 && all;
	size_t count = 0;

	while (all && all[count].if_index != 0)
		count++;
	same = same && count == n->n;
	for (size_t i = 0; same && i < n->n; i++)
		same = is_the_same(fd, &n->interface[i]);
	if_freenameindex(all);
	if (fd >= 0)
		close(fd);
	return same;
}
