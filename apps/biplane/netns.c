/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/netns.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* namespaces(7): two of these links that lead to one inode of one device are one namespace. */
enum bp_netns bp_netns_of(uint64_t pid)
{
	char path[64];
	struct stat own, its;

	if (pid == 0 || pid > INT_MAX)
		return BP_NETNS_REMOVED;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/ns/net", pid);
	if (stat(path, &its))
		return errno == ENOENT ? BP_NETNS_REMOVED : BP_NETNS_UNKNOWN;
	if (stat("/proc/self/ns/net", &own))
		return BP_NETNS_UNKNOWN;
	return own.st_dev == its.st_dev && own.st_ino == its.st_ino ? BP_NETNS_SAME
								    : BP_NETNS_OTHER;
}
