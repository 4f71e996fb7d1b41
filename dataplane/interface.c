/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool ethtool(int fd, struct ifreq *r, void *command)
{
	r->ifr_data = command;
	return ioctl(fd, SIOCETHTOOL, r) == 0;
}

struct bp_device_facts bp_interface_ask(const char *name)
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
	return i;
}
