/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/ports/device.h"

static bool ethtool(int fd, struct ifreq *r, void *command)
{
	r->ifr_data = command;
	return ioctl(fd, SIOCETHTOOL, r) == 0;
}

static int sysctl(const char *family, const char *name, const char *what)
{
	char path[128];
	FILE *f;
	int v = 0;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, name, what);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

/*
 * No route leads to an interface without an address, so strict reverse path filtering drops all
 * received packets. The kernel applies the larger of the two settings.
 */
static bool takes_ip4(const char *name)
{
	int all = sysctl("ipv4", "all", "rp_filter"), own = sysctl("ipv4", name, "rp_filter");

	return own >= 0 && (own > all ? own : all) != 1;
}

struct bp_device_facts bp_interface_query(const char *name)
{
	struct bp_device_facts i = {0};
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_value gro = {.cmd = ETHTOOL_GGRO};
	struct ifreq r = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return i;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &r) == 0) {
		i.found = true;
		i.up = (r.ifr_flags & IFF_UP) != 0;
	}
	if (ioctl(fd, SIOCGIFMTU, &r) == 0 && r.ifr_mtu > 0)
		i.mtu = (uint32_t)r.ifr_mtu;
	if (ethtool(fd, &r, &driver))
		i.veth = strcmp(driver.driver, "veth") == 0;
	if (ethtool(fd, &r, &gro))
		i.gro = gro.data != 0;
	close(fd);
	i.takes_ip4 = takes_ip4(name);
	i.takes_ip6 = sysctl("ipv6", name, "disable_ipv6") == 0;
	return i;
}

uint32_t bp_interface_mtu(const char *device, uint32_t configured)
{
	char iface[64];

	if (configured || !bp_device_arg(device, "iface", iface, sizeof(iface)))
		return configured;
	return bp_interface_query(iface).mtu;
}
