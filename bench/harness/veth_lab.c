/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/veth_lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/harness/phd_lab.h"
#include "bench/transform/transform_frames.h"

#define OFFLOADS "tx off rx off tso off gso off gro off txvlan off rxvlan off"
#define SOCKET_BYTES (8 << 20)

static void sh(const char *command)
{
	bench_must(system(command) == 0, command, "it failed");
}

/* Signals the end of a step to the other process, or waits for it. */
static void pass(int fd)
{
	bench_must(write(fd, "", 1) == 1, "pipe", strerror(errno));
}

static void await(int fd)
{
	char c;

	bench_must(read(fd, &c, 1) == 1, "pipe", "the other process has ended");
}

void bench_veth_enter(void)
{
	bench_must(unshare(CLONE_NEWNET) == 0, "network namespace of its own", strerror(errno));
	sh("ip link set lo up");
}

/* The kernel must not send packets of its own. */
static void up(const char *dev, bool host)
{
	char c[256];

	if (!host) {
		snprintf(c, sizeof(c), "ethtool -K %s " OFFLOADS " >/dev/null", dev);
		sh(c);
	}
	snprintf(c, sizeof(c),
		"{ sysctl -qw net.ipv6.conf.%s.disable_ipv6=1 2>/dev/null || true; } && "
		"ip link set %s up",
		dev, dev);
	sh(c);
}

static void links(pid_t gateway, bool host)
{
	char c[512];

	snprintf(c, sizeof(c),
		"ip link add tracker address 02:00:00:00:01:01 numtxqueues 1 numrxqueues 1 type "
		"veth "
		"peer name devices address 02:00:00:00:02:01 numtxqueues 1 numrxqueues 1 netns %d "
		"&& "
		"ip link add robot address 02:00:00:00:02:09 numtxqueues 1 numrxqueues 1 type veth "
		"peer name cloud address 02:00:00:00:02:02 numtxqueues 1 numrxqueues 1 netns %d",
		(int)gateway, (int)gateway);
	sh(c);
	up("tracker", host);
	up("robot", host);
	sh("ip addr add 10.1.0.9/24 dev robot && "
	   "ip neigh replace 10.1.0.1 lladdr 02:00:00:00:02:02 dev robot nud permanent");
	/* If results keep the tracker's address, it must not be an address of this namespace. */
	if (host)
		sh("ip addr add 10.0.0.0/32 dev tracker && ip route add 10.2.0.1/32 dev tracker && "
		   "ip neigh replace 10.2.0.1 lladdr 02:00:00:00:02:01 dev tracker nud "
		   "permanent");
}

static void make_host(void)
{
	sh("ip addr add 10.2.0.1/32 dev devices && ip route add 10.0.0.0/16 dev devices && "
	   "ip addr add 10.1.0.1/24 dev cloud && "
	   "ip neigh replace 10.1.0.9 lladdr 02:00:00:00:02:09 dev cloud nud permanent");
}

pid_t bench_veth_gateway(bool host)
{
	int there[2], made[2];
	pid_t pid;

	bench_must(pipe2(there, O_CLOEXEC) == 0 && pipe2(made, O_CLOEXEC) == 0, "pipe",
		strerror(errno));
	pid = fork();
	bench_must(pid >= 0, "fork", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(made[1]);
		bench_veth_enter();
		pass(there[1]);
		await(made[0]);
		up("devices", host);
		up("cloud", host);
		if (host)
			make_host();
		pass(there[1]);
		return 0;
	}
	close(there[1]);
	await(there[0]);
	links(pid, host);
	pass(made[1]);
	await(there[0]);
	close(there[0]);
	close(made[0]);
	close(made[1]);
	return pid;
}

int bench_veth_frames(void)
{
	struct sockaddr_ll a = {.sll_family = AF_PACKET,
		.sll_protocol = 0, /* receives no packets */
		.sll_ifindex = (int)if_nametoindex("tracker")};
	const int one = 1, size = SOCKET_BYTES;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	bench_must(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0, "tracker",
		strerror(errno));
	bench_must(setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) == 0 &&
			   setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0,
		"tracker", strerror(errno));
	return fd;
}

static int udp_socket(uint32_t address, uint16_t port)
{
	const struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	bench_must(fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0, "socket",
		strerror(errno));
	return fd;
}

int bench_veth_tracker(void)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(BENCH_TRANSFORM_UDP),
		.sin_addr.s_addr = htonl(BENCH_TRANSFORM_TO)};
	const int segment = BENCH_TRANSFORM_PAYLOAD;
	const int fd = udp_socket(BENCH_TRANSFORM_SOURCE, BENCH_TRANSFORM_UDP);

	bench_must(connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
			   setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) == 0,
		"tracker", strerror(errno));
	return fd;
}

int bench_veth_robot(bool drop)
{
	static struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog filter = {1, &nothing};
	const int fd = udp_socket(BENCH_TRANSFORM_RECEIVER, BENCH_TRANSFORM_RECEIVER_UDP);

	bench_must(
		!drop || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0,
		"filter", strerror(errno));
	return fd;
}

uint64_t bench_veth_arrived(void)
{
	FILE *f = fopen("/proc/self/net/dev", "re");
	uint64_t frames = UINT64_MAX;
	char line[512];

	bench_must(f != NULL, "/proc/self/net/dev", strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, " robot: %*u %" SCNu64, &frames) == 1)
			break;
	fclose(f);
	bench_must(frames != UINT64_MAX, "robot", "its link is not there");
	return frames;
}

uint64_t bench_veth_backlog_drops(void)
{
	FILE *f = fopen("/proc/net/softnet_stat", "re");
	unsigned dropped;
	uint64_t sum = 0;

	bench_must(f != NULL, "/proc/net/softnet_stat", strerror(errno));
	/* one line per core: packets, dropped, ... */
	while (fscanf(f, "%*x %x %*[^\n]", &dropped) == 1)
		sum += dropped;
	fclose(f);
	return sum;
}
