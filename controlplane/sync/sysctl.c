/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/sysctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "biplane/fib.h"
#include "daemon/log.h"

/* Interfaces of this network namespace: /proc/sys/net shows the namespace of the reader. */
static void path_of(
	char *path, size_t size, const char *family, const char *interface, const char *name)
{
	snprintf(path, size, "/proc/sys/net/%s/conf/%s/%s", family, interface, name);
}

/* Returns the value, or -1 when the kernel has no such setting. */
static int get(const char *family, const char *interface, const char *name)
{
	char path[256], text[32];
	ssize_t n;
	int fd;

	path_of(path, sizeof(path), family, interface, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return (int)strtol(text, NULL, 10);
}

static void set(
	const char *family, const char *interface, const char *name, int value, const char *why)
{
	char path[256], text[32];
	int fd, n, present = get(family, interface, name);

	if (present == value || present == -1)
		return;
	path_of(path, sizeof(path), family, interface, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	n = snprintf(text, sizeof(text), "%d", value);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(
				BP_LOG_STR("file", path), BP_LOG_NUM("value", (uint64_t)value)),
			"sysctl cannot be set (%s): %s; set it by hand, or run with CAP_NET_ADMIN "
			"and a writable /proc/sys",
			strerror(errno), why);
	if (fd >= 0)
		close(fd);
}

static void ip4(const char *interface)
{
	set("ipv4", interface, "forwarding", 1,
		"the kernel must forward punted packets: the first packets of new "
		"neighbors, packets with IP options, punt routes");
}

/* IPv6 forwarding of the whole namespace makes every interface a router's interface, which ignores
 * router advertisements unless accept_ra is 2: interfaces that accepted them get accept_ra 2. */
static void keep_advertisements(void)
{
	DIR *d = opendir("/proc/sys/net/ipv6/conf");
	const struct dirent *e;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lo") != 0 &&
			get("ipv6", e->d_name, "forwarding") == 0 &&
			get("ipv6", e->d_name, "accept_ra") == 1)
			set("ipv6", e->d_name, "accept_ra", 2,
				"the interface would ignore router advertisements");
	closedir(d);
}

static void ip6_whole(void)
{
	if (get("ipv6", "all", "forwarding") != 0)
		return;
	keep_advertisements();
	bp_log(BP_LOG_INFO,
		"net.ipv6.conf.all.forwarding set to 1: this kernel has no setting per interface; "
		"interfaces that accept router advertisements still do (accept_ra 2)");
	set("ipv6", "all", "forwarding", 1,
		"the kernel does not forward the first IPv6 packets of new neighbors");
}

static void ip6(const char *interface, bool whole)
{
	/* Linux 6.17 and later forward per interface; earlier versions forward on all interfaces or
	 * on none. */
	if (get("ipv6", interface, "force_forwarding") >= 0)
		set("ipv6", interface, "force_forwarding", 1,
			"the kernel does not forward the first IPv6 packets of new neighbors");
	else if (whole)
		ip6_whole();
	set("ipv6", interface, "forwarding", 1,
		"the kernel does not behave as a router there: no router flag in its neighbor "
		"advertisements");
	set("ipv6", interface, "keep_addr_on_down", 1,
		"the kernel removes the IPv6 addresses of an interface when it goes down");
}

void bp_sysctl_router(const char *interface, bool whole)
{
	ip4(interface);
	if (access("/proc/sys/net/ipv6", F_OK) == 0)
		ip6(interface, whole);
}

/* ---- settings of an operator ---- */

static uint32_t settings4(const char *interface)
{
	const int of_all = get("ipv4", "all", "rp_filter"),
		  own = get("ipv4", interface, "rp_filter");
	const int rpf = of_all > own ? of_all : own;
	uint32_t flags = 0;

	if (get("ipv4", interface, "forwarding") == 0)
		flags |= BP_IF_NO_FORWARD4;
	if (rpf == 1)
		flags |= BP_IF_RPF_STRICT;
	else if (rpf >= 2)
		flags |= BP_IF_RPF_LOOSE;
	if (get("ipv4", "all", "send_redirects") > 0 ||
		get("ipv4", interface, "send_redirects") > 0)
		flags |= BP_IF_REDIRECTS4;
	return flags;
}

/* The kernel uses an interface's own `forwarding` only to decide whether it is a router there; an
 * operator who sets it to 0 expects that the interface does not forward. */
static uint32_t settings6(const char *interface)
{
	const bool forwards = get("ipv6", interface, "forwarding") != 0 &&
			      (get("ipv6", "all", "forwarding") != 0 ||
				      get("ipv6", interface, "force_forwarding") > 0);

	return forwards ? BP_IF_REDIRECTS6 : BP_IF_NO_FORWARD6;
}

uint32_t bp_sysctl_flags(const char *interface)
{
	uint32_t flags = settings4(interface);

	if (access("/proc/sys/net/ipv6", F_OK) == 0)
		flags |= settings6(interface);
	return flags;
}
