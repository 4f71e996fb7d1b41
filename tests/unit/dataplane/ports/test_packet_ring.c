/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that another interface received before the driver bound its socket are not received by
 * the port. The driver's call of bind() comes to this program, which sends such frames first.
 */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "dataplane/dpdk_compat.h"
#include "dataplane/ports/packet_ring.h"
#include "dataplane/ports/ports.h"
#include "dataplane/ports/ring_ports.h"

#define OWN_TYPE 0x88b5u /* of the frames to the port: IEEE 802, local experimental */
#define N_FOREIGN 5u
#define N_OWN 3u

static int tap = -1;
static unsigned binds;

/* Each is in the socket twice: sent and received. */
static void send_on_loopback(void)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned i = 0; i < N_FOREIGN; i++)
		assert_int_equal(
			sendto(fd, "foreign", 7, 0, (const struct sockaddr *)&to, sizeof(to)), 7);
	close(fd);
}

static void send_to_port(void)
{
	uint8_t frame[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, OWN_TYPE >> 8,
		OWN_TYPE & 0xff};

	for (unsigned i = 0; i < N_OWN; i++)
		assert_int_equal(write(tap, frame, sizeof(frame)), sizeof(frame));
}

/* In place of the function of libc, for the driver too. */
int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	const bool of_port = address->sa_family == AF_PACKET;
	int rc;

	if (of_port)
		send_on_loopback();
	rc = (int)syscall(SYS_bind, fd, address, len);
	if (of_port && rc == 0) {
		binds++;
		send_to_port();
	}
	return rc;
}

static unsigned received(uint16_t port, uint16_t type)
{
	struct rte_mbuf *m[32];
	unsigned n = 0;
	uint16_t got;

	while ((got = rte_eth_rx_burst(port, 0, m, 32)) > 0)
		for (unsigned i = 0; i < got; i++) {
			const struct rte_ether_hdr *e =
				rte_pktmbuf_mtod(m[i], const struct rte_ether_hdr *);

			n += e->ether_type == htons(type);
			rte_pktmbuf_free(m[i]);
		}
	return n;
}

struct line {
	struct bp_config *config;
	struct bp_port ports[BP_MAX_PORTS];
	struct bp_queue_plan plan;
	struct bp_pools pools;
	char err[512];
};

static void start(struct line *l, const char *arguments)
{
	struct bp_port_caps caps[BP_MAX_PORTS];
	char yaml[512];

	memset(l, 0, sizeof(*l));
	snprintf(yaml, sizeof(yaml),
		"ports:\n"
		"  - {name: a, device: \"net_af_packet0,iface=t0%s\"}\n"
		"  - {name: b, device: net_null0}\n"
		"bridges: [{name: bridge0, ports: [a, b]}]\n",
		arguments);
	l->config = bp_config_parse("test", yaml, strlen(yaml), stderr);
	assert_non_null(l->config);
	assert_int_equal(bp_ring_eal(l->err, sizeof(l->err)), 0);
	if (bp_ports_attach(l->config, l->ports, l->err, sizeof(l->err)) != 0 ||
		bp_ports_choose(l->config, l->ports, l->err, sizeof(l->err)) != 0)
		fail_msg("%s", l->err);
	for (unsigned p = 0; p < l->config->n_ports; p++)
		caps[p] = l->ports[p].caps;
	bp_queue_plan_make(l->config, caps, &l->plan);
	bp_ports_planned(l->config, l->ports, &l->plan);
	if (bp_pools_create(l->config, l->ports, &l->plan, &l->pools, l->err, sizeof(l->err)) !=
			0 ||
		bp_ports_start(l->config, l->ports, &l->plan, &l->pools, l->err, sizeof(l->err)) !=
			0)
		fail_msg("%s", l->err);
}

static void end(struct line *l)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	for (unsigned p = 0; p < l->config->n_ports; p++) {
		assert_int_equal(bp_port_device_name((uint16_t)p, name), 0);
		rte_eth_dev_stop((uint16_t)p);
		assert_int_equal(rte_eal_hotplug_remove("vdev", name), 0);
	}
	bp_pools_free(&l->pools);
	bp_config_free(l->config);
}

static void frames_of_other_interfaces_are_discarded(void **state)
{
	static const char *const arguments[] = {
		"", ",framecnt=64", ",framesz=4096,blocksz=4096,framecnt=64"};

	for (unsigned i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		struct rte_eth_stats stats;
		struct line l;

		binds = 0;
		start(&l, arguments[i]);
		assert_int_equal(binds, 1);
		assert_int_equal(rte_eth_stats_get(0, &stats), 0);
		assert_int_equal(stats.ipackets, 0);
		assert_int_equal(received(0, OWN_TYPE), N_OWN);
		assert_int_equal(rte_eth_stats_get(0, &stats), 0);
		assert_int_equal(stats.ipackets, N_OWN);
		end(&l);
	}
}

static void only_packet_rings_are_read(void **state)
{
	const int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int no_ring = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_int_equal(bp_packet_ring_foreign(udp, 2048, 1), 0);
	assert_int_equal(bp_packet_ring_foreign(no_ring, 2048, 1), 0);
	assert_int_equal(bp_packet_ring_foreign(-1, 2048, 1), 0);
	close(no_ring);
	close(udp);
}

static void set_up(const char *interface)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {.ifr_flags = IFF_UP | IFF_RUNNING};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
	close(fd);
}

/* A namespace with the loopback interface and t0, which sends nothing by itself. */
static bool begin(void)
{
	struct ifreq r = {.ifr_name = "t0", .ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd;

	if (unshare(CLONE_NEWNET) != 0 || (tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC)) < 0)
		return false;
	fd = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		assert_int_equal(write(fd, "1", 1), 1);
		close(fd);
	}
	if (ioctl(tap, TUNSETIFF, &r) != 0)
		return false;
	set_up("lo");
	set_up("t0");
	return true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_other_interfaces_are_discarded),
		cmocka_unit_test(only_packet_rings_are_read),
	};

	if (!begin()) {
		printf("SKIP: no network namespace of its own, or no tap interface\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
