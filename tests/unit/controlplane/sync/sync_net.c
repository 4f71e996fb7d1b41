/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/sync/sync_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void sysctl_write(const char *path)
{
	FILE *f = fopen(path, "we");

	if (f == NULL)
		return;
	fputs("0", f);
	fclose(f);
}

bool sync_rig_namespace(void)
{
	if (unshare(CLONE_NEWNET) != 0) {
		printf("SKIP: no network namespace: %s; run as root\n", strerror(errno));
		return false;
	}
	sync_rig_ip("link set lo up");
	/* IPv6 addresses are there at once, and no others than those given */
	sysctl_write("/proc/sys/net/ipv6/conf/default/accept_dad");
	sysctl_write("/proc/sys/net/ipv6/conf/all/accept_dad");
	return true;
}

static int run(const char *fmt, va_list ap)
{
	char command[1024] = "ip ";

	vsnprintf(command + 3, sizeof(command) - 3, fmt, ap);
	return system(command); // NOLINT
}

void sync_rig_ip(const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = run(fmt, ap);
	va_end(ap);
	if (status != 0)
		fail_msg("ip %s failed", fmt);
}

int sync_rig_try(const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = run(fmt, ap);
	va_end(ap);
	return status;
}

FILE *sync_rig_batch(void)
{
	FILE *f = popen("ip -batch -", "w"); // NOLINT

	assert_non_null(f);
	return f;
}

struct bp_address rig_address(const char *text)
{
	struct bp_address a = {.family = strchr(text, ':') != NULL ? 6 : 4};

	assert_int_equal(inet_pton(a.family == 4 ? AF_INET : AF_INET6, text, a.bytes), 1);
	return a;
}

static void port(struct bp_config *c, unsigned i, const char *name, const char *a4, const char *a6)
{
	struct bp_config_port *p = &c->port[i];

	snprintf(p->name, sizeof(p->name), "%s", name);
	/* not held by the control plane: the test has made it */
	p->interface.backend = BP_BACKEND_VIRTIO;
	p->interface.n_addresses = 2;
	p->interface.address[0] =
		(struct bp_interface_address){.address = rig_address(a4), .length = 24};
	p->interface.address[1] =
		(struct bp_interface_address){.address = rig_address(a6), .length = 64};
}

static void veth(const char *name)
{
	sync_rig_ip("link add %s type veth peer name %sp", name, name);
	sync_rig_ip("link set %s addrgenmode none", name);
	sync_rig_ip("link set %sp addrgenmode none", name);
	sync_rig_ip("link set %sp up", name);
}

void sync_net_make(struct bp_config *c)
{
	c->n_ports = 2;
	c->n_workers = 1;
	c->netlink = (struct bp_config_netlink){.route_table = 254,
		.receive_buffer = 16 << 20,
		.neighbor_refresh_ns = 60000000000ull};
	port(c, RIG_LAN, "lan", "10.0.0.1", "fd00::1");
	port(c, RIG_WAN, "wan", "10.1.0.1", "fd01::1");
	veth("lan");
	veth("wan");
	veth("other");
	sync_rig_ip("link set other up");
	sync_rig_ip("address add 10.9.0.1/24 dev other");
}

void sync_net_clear(void)
{
	sync_rig_try("link delete lan 2>/dev/null");
	sync_rig_try("link delete wan 2>/dev/null");
	sync_rig_try("link delete other 2>/dev/null");
	sync_rig_try("route flush table main 2>/dev/null");
	sync_rig_try("-6 route flush table main 2>/dev/null");
	sync_rig_try("nexthop flush >/dev/null 2>&1");
}
