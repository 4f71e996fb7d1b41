/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/test.h"

#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "dataplane/exception/follow.h"
#include "dataplane/exception/kernel_link.h"
#include "dataplane/exception/thread.h"
#include "dataplane/ports/interface.h"
#include "dataplane/ports/link.h"
#include "dataplane/ports/ring_ports.h"

/* Ports of DPDK's null driver, kernel interfaces in a network namespace of this process's own. */
#define HOST BP_MAX_PORTS

static struct rte_mempool *mempool;
static struct bp_pools pools;
static struct bp_config config;
static struct bp_port ports[BP_MAX_PORTS];
static struct bp_interface table[BP_MAX_INTERFACES];
static struct bp_exception *exception;
static struct bp_kernel_ifs ifs;
static struct bp_follow follow;

static uint64_t word(uint8_t last)
{
	const uint8_t mac[6] = {0x02, 0xf0, 0, 0, 0, last};

	return bp_mac_word(mac);
}

static void kernel_changes_are_applied_to_the_port(void **state)
{
	struct bp_followed f = {.mac = word(1), .mtu = 1500};
	struct bp_interface t = {.mac = word(1), .mtu = 1500, .flags = BP_IF_KERNEL};

	/* the values in the table at the start are old, even if those of the port differ */
	assert_int_equal(bp_follow_decide(&f, &t, word(2), 1400), 0);
	/* the control plane sees what the port gave its kernel interface */
	t.mac = word(2);
	t.mtu = 1400;
	assert_int_equal(bp_follow_decide(&f, &t, word(2), 1400), 0);
	/* the operator */
	t.mac = word(3);
	assert_int_equal(bp_follow_decide(&f, &t, word(2), 1400), BP_FOLLOW_MAC);
	t.mtu = 9000;
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 1400), BP_FOLLOW_MTU);
	t.mac = word(1);
	t.mtu = 1500;
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 9000), BP_FOLLOW_MAC | BP_FOLLOW_MTU);
	/* a refused change is not requested repeatedly */
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 9000), 0);
	/* invalid values for a port */
	t.mac = 0;
	t.mtu = 67;
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 9000), 0);
	t.mac = 0x01;
	t.mtu = 65536;
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 9000), 0);
	t.mtu = 68;
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 9000), BP_FOLLOW_MTU);
	/* a table that says nothing of the kernel */
	t.flags = BP_IF_PRESENT | BP_IF_UP;
	t.mac = word(4);
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 9000), 0);
	t.flags = BP_IF_KERNEL;
	assert_int_equal(bp_follow_decide(&f, &t, word(3), 9000), BP_FOLLOW_MAC);
}

static struct bp_kernel_link link_of(unsigned i)
{
	struct bp_kernel_link l;

	assert_int_equal(bp_kernel_link_get(ifs.of[i]->ifindex, &l), 0);
	return l;
}

static uint64_t mac_of_port(unsigned p)
{
	struct rte_ether_addr a;

	assert_int_equal(rte_eth_macaddr_get((uint16_t)p, &a), 0);
	return bp_mac_word(a.addr_bytes);
}

static void table_set(unsigned i, uint64_t mac, uint32_t mtu)
{
	atomic_store(&table[i].mac, mac);
	atomic_store(&table[i].mtu, mtu);
	table[i].info.ifindex = ifs.of[i] ? ifs.of[i]->ifindex : 0;
	atomic_store(&table[i].flags, BP_IF_PRESENT | BP_IF_KERNEL);
}

static void opens_configured_ports(void **state)
{
	char text[256] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_int_equal(ifs.n, 3);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		assert_int_equal(bp_exception_has(exception, i), i == 0 || i == 1 || i == HOST);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(bp_mac_word(link_of(i).mac), mac_of_port(i));
		assert_int_equal(link_of(i).mtu, ports[i].mtu);
	}
	assert_int_equal(bp_mac_word(link_of(HOST).mac), mac_of_port(3));
	assert_int_equal(link_of(HOST).mtu, 1300); /* the smaller of its ports' */
	assert_true(ifs.of[0]->pieces);
	assert_false(ifs.of[HOST]->pieces); /* one of its ports takes only one buffer */
	bp_kernel_ifs_print(&ifs, f);
	fclose(f);
	assert_string_equal(text, "  kernel interfaces: f0 (tap), f1 (tap), br-host (tap)\n");
}

static void follows_the_kernel(void **state)
{
	uint64_t mac = mac_of_port(0);

	assert_int_equal(bp_follow_poll(&follow), 0);
	assert_int_equal(mac_of_port(0), mac); /* not what the table had from before */
	table_set(0, mac, ports[0].mtu);
	assert_int_equal(bp_follow_poll(&follow), 0);
	table_set(0, word(9), 1200);
	assert_int_equal(bp_follow_poll(&follow), 1u << 0);
	assert_int_equal(mac_of_port(0), word(9));
	assert_int_equal(ports[0].mtu, 1200);
	assert_int_equal(bp_follow_poll(&follow), 0);
	/* an interface that was removed and created again is not ours */
	table_set(0, word(7), 1300);
	table[0].info.ifindex++;
	assert_int_equal(bp_follow_poll(&follow), 0);
	assert_int_equal(mac_of_port(0), word(9));
	/* larger than a buffer, and the driver cannot scatter: not even asked for */
	table_set(0, word(9), 9000);
	assert_int_equal(bp_follow_poll(&follow), 0);
	assert_int_equal(ports[0].mtu, 1200);
	/* a bridge's host interface has no port of its own */
	table_set(HOST, word(8), 1100);
	assert_int_equal(bp_follow_poll(&follow), 0);
	assert_int_not_equal(mac_of_port(3), word(8));
}

static void up(const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {.ifr_flags = IFF_UP};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
	close(fd);
}

static void carrier_follows(void **state)
{
	assert_int_equal(bp_follow_poll(&follow), 0);
	assert_true(link_of(0).carrier);
	assert_true(link_of(HOST).carrier);
	assert_int_equal(rte_eth_dev_stop(0), 0); /* its link goes down */
	assert_int_equal(rte_eth_dev_stop(3), 0);
	bp_follow_poll(&follow);
	assert_int_equal(bp_link_get(0), BP_LINK_UNCERTAIN);
	assert_false(link_of(0).carrier);
	assert_true(link_of(1).carrier);
	assert_true(link_of(HOST).carrier); /* its other port is up */
	assert_int_equal(rte_eth_dev_stop(2), 0);
	bp_follow_poll(&follow);
	assert_false(link_of(HOST).carrier);
	assert_int_equal(rte_eth_dev_start(2), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	bp_follow_poll(&follow);
	assert_true(link_of(0).carrier);
	assert_true(link_of(HOST).carrier);
	assert_int_equal(rte_eth_dev_start(3), 0);
	/* a wrong link state of a driver does not change the kernel interface */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	ports[1].driver = bp_driver_find("net_tap");
	bp_follow_poll(&follow);
	assert_int_equal(bp_link_get(1), BP_LINK_UNCERTAIN);
	assert_true(link_of(1).carrier);
	ports[1].driver = bp_driver_find("net_null");
	bp_follow_poll(&follow);
	assert_false(link_of(1).carrier);
	assert_int_equal(rte_eth_dev_start(1), 0);
}

/* A port on a kernel interface: the link state of the kernel counts. */
static void kernel_link_state_takes_precedence(void **state)
{
	unsigned ifindex = ifs.of[HOST]->ifindex;

	bp_follow_poll(&follow);
	assert_true(link_of(0).carrier);
	bp_link_watch(0, ifindex);
	bp_follow_poll(&follow);
	assert_int_equal(bp_link_get(0), BP_LINK_UNCERTAIN); /* it is administratively down */
	assert_false(link_of(0).carrier);
	up("br-host");
	bp_follow_poll(&follow);
	assert_int_equal(bp_link_get(0), BP_LINK_UP);
	assert_true(link_of(0).carrier);
	assert_int_equal(bp_kernel_link_set_carrier(ifindex, false), 0);
	bp_follow_poll(&follow);
	assert_false(link_of(0).carrier);
	/* whatever the driver says */
	ports[0].driver = bp_driver_find("net_tap");
	bp_follow_poll(&follow);
	assert_false(link_of(0).carrier);
	bp_link_watch(0, 0x7fffffff); /* as of an interface in another namespace */
	bp_follow_poll(&follow);
	assert_true(link_of(0).carrier);
	bp_link_watch(0, 0);
	assert_int_equal(bp_kernel_link_set_carrier(ifindex, true), 0);
}

static bool write_sysctl(const char *path, const char *value)
{
	FILE *f = fopen(path, "we");
	bool done = f && fputs(value, f) >= 0;

	return f ? fclose(f) == 0 && done : false;
}

/* Whether to warn that the kernel's IP stack receives the frames of a port, too. */
static void kernel_takes_frames(void **state)
{
	if (!write_sysctl("/proc/sys/net/ipv4/conf/all/rp_filter", "0"))
		skip(); /* a container that may not */
	assert_true(write_sysctl("/proc/sys/net/ipv4/conf/f0/rp_filter", "0"));
	assert_true(bp_interface_query("f0").takes_ip4);
	assert_true(write_sysctl("/proc/sys/net/ipv4/conf/f0/rp_filter", "1"));
	assert_false(bp_interface_query("f0").takes_ip4);
	assert_true(write_sysctl("/proc/sys/net/ipv4/conf/all/rp_filter", "2"));
	assert_true(bp_interface_query("f0").takes_ip4); /* loose: any way back will do */
	if (access("/proc/sys/net/ipv6/conf/f0", F_OK) == 0) {
		assert_true(write_sysctl("/proc/sys/net/ipv6/conf/f0/disable_ipv6", "0"));
		assert_true(bp_interface_query("f0").takes_ip6);
		assert_true(write_sysctl("/proc/sys/net/ipv6/conf/f0/disable_ipv6", "1"));
	}
	assert_false(bp_interface_query("f0").takes_ip6);
	assert_false(bp_interface_query("no-such-iface").takes_ip4);
}

static void remove_interface(const char *name)
{
	char command[64];

	snprintf(command, sizeof(command), "ip link del %s", name);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a name of this test */
}

/* Removed from outside, an interface is created again; the port keeps its MAC, regardless of what
 * the table says meanwhile of the one that the control plane creates. */
static void removed_interface_is_restored(void **state)
{
	const unsigned before = ifs.of[0]->ifindex;
	const uint64_t mac = mac_of_port(0);
	struct bp_counters counters = {0};
	struct bp_exception_thread *t;
	uint64_t now = 1;
	char err[256];

	table_set(0, mac, ports[0].mtu);
	bp_follow_poll(&follow);
	t = bp_exception_thread_start(exception, ifs.of, &config.punt, &counters, err, sizeof(err));
	assert_non_null(t);
	remove_interface("f0");
	do {
		now += 1000000000;
		bp_kernel_ifs_restore(&ifs, t, now);
		sched_yield();
	} while (!ifs.of[0] || ifs.of[0]->ifindex == before);
	while (!bp_exception_has(exception, 0))
		sched_yield();
	assert_int_equal(link_of(0).mtu, ports[0].mtu);
	assert_int_equal(bp_mac_word(link_of(0).mac), mac);

	table_set(0, word(77), 1500); /* before the data plane set its values */
	assert_int_equal(bp_follow_poll(&follow), 0);
	assert_true(link_of(0).carrier);
	assert_int_equal(mac_of_port(0), mac);
	table_set(0, mac, ports[0].mtu);
	assert_int_equal(bp_follow_poll(&follow), 0);
	table_set(0, word(78), ports[0].mtu); /* the operator */
	assert_int_equal(bp_follow_poll(&follow), 1u << 0);
	assert_int_equal(mac_of_port(0), word(78));
	bp_exception_thread_stop(t);
}

/* Another program changes a new interface before the table had what it got from its port. */
static void new_interface_is_changed_at_once(void **state)
{
	unsigned polls = 0;

	follow.of[0].ifindex = 0; /* as before it was created again */
	table_set(0, word(79), ports[0].mtu);
	while (bp_follow_poll(&follow) == 0) {
		assert_int_equal(mac_of_port(0), word(78));
		assert_in_range(++polls, 1, 1000);
	}
	assert_in_range(polls, 10, 1000);
	assert_int_equal(mac_of_port(0), word(79));
}

static void add_port(unsigned p)
{
	struct rte_eth_conf conf = {0};
	char name[32];
	uint16_t id;

	snprintf(name, sizeof(name), "net_null%u", p);
	assert_int_equal(rte_eal_hotplug_add("vdev", name, ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(name, &id), 0);
	assert_int_equal(id, p);
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(id, 0, 64, 0, NULL, mempool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(id, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(id), 0);
	snprintf(config.port[p].name, sizeof(config.port[p].name), "p%u", p);
	snprintf(config.port[p].device, sizeof(config.port[p].device), "%s", name);
	snprintf(config.port[p].interface.kernel_name, sizeof(config.port[p].interface.kernel_name),
		"f%u", p);
	config.port[p].interface.backend = p == 4 ? BP_BACKEND_OFF : BP_BACKEND_TAP;
	ports[p].config = &config.port[p];
	ports[p].driver = bp_driver_find("net_null");
	ports[p].mtu = 1500 - p * 100;
	ports[p].pieces = p != 3;
}

/* Ports 0 and 1 route, with kernel interfaces; 4 without; 2 and 3 are a bridge with a host
 * interface. */
static void configure(void)
{
	struct bp_config_bridge *b = &config.bridge[0];

	config.n_workers = 1;
	config.n_ports = 5;
	for (unsigned p = 0; p < config.n_ports; p++)
		add_port(p);
	config.n_bridges = 1;
	b->n = 2;
	b->port[0] = 3;
	b->port[1] = 2;
	ports[3].mtu = 1300;
	b->has_host_interface = true;
	snprintf(b->name, sizeof(b->name), "host");
	snprintf(b->host_interface.kernel_name, sizeof(b->host_interface.kernel_name), "br-host");
	b->host_interface.backend = BP_BACKEND_TAP;
	for (unsigned i = 0; i < BP_EX_CLASSES; i++)
		config.punt.policer[i].queue_len = 16;
}

static int begin(void **state)
{
	char err[512] = "";

	if (unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0) {
		printf("needs root and /dev/net/tun: skipped\n");
		exit(77);
	}
	if (bp_ring_eal(err, sizeof(err)) == 0)
		mempool = rte_pktmbuf_pool_create("follow", 1023, 0, 0, 2176, SOCKET_ID_ANY);
	if (!mempool)
		return -1;
	pools = (struct bp_pools){.pool = {mempool}, .data_room = 2176, .n = 1};
	configure();
	bp_link_reset();
	table_set(0, word(7), 1234);
	exception = bp_exception_create(&config, NULL, err, sizeof(err));
	if (!exception || bp_kernel_ifs_open(
				  &ifs, exception, &config, ports, &pools, err, sizeof(err)) != 0) {
		printf("%s\n", err);
		return -1;
	}
	bp_follow_init(&follow, &config, ports, &pools, &ifs, table);
	return 0;
}

static int end(void **state)
{
	bp_kernel_ifs_close(&ifs, exception);
	if (if_nametoindex("f0") != 0 || bp_exception_has(exception, 0))
		return -1;
	bp_exception_free(exception);
	for (unsigned p = 0; p < config.n_ports; p++)
		rte_eal_hotplug_remove("vdev", config.port[p].device);
	rte_mempool_free(mempool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_changes_are_applied_to_the_port),
		cmocka_unit_test(opens_configured_ports),
		cmocka_unit_test(follows_the_kernel),
		cmocka_unit_test(carrier_follows),
		cmocka_unit_test(kernel_link_state_takes_precedence),
		cmocka_unit_test(kernel_takes_frames),
		cmocka_unit_test(removed_interface_is_restored),
		cmocka_unit_test(new_interface_is_changed_at_once),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
