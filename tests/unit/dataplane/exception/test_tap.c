/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "dataplane/exception/kernel_if.h"
#include "dataplane/exception/kernel_link.h"
#include "dataplane/exception/thread.h"
#include "dataplane/ports/ring_ports.h"

/*
 * Taps in a network namespace of this process's own, which is gone with it. Frames of other types
 * than ours are the kernel's own announcements.
 */
#define TYPE 0x88b5 /* for local experiments */
#define ROOM 512    /* bytes of a buffer: a full frame is several */
#define WAIT_MS 10000

static const uint8_t mac[6] = {0x02, 0xb1, 0, 0, 0, 1};
static struct rte_mempool *pool;

static struct bp_kernel_if_spec spec(const char *name)
{
	struct bp_kernel_if_spec s = {
		.name = name, .kernel = name, .mtu = 1400, .pool = pool, .pieces = true};

	memcpy(s.mac, mac, sizeof(mac));
	return s;
}

static struct bp_kernel_if *open_tap(const char *name)
{
	struct bp_kernel_if_spec s = spec(name);
	char err[512] = "";
	struct bp_kernel_if *k = bp_tap_open(&s, err, sizeof(err));

	if (!k)
		fail_msg("%s", err);
	return k;
}

static void refused(const struct bp_kernel_if_spec *s, const char *word)
{
	char err[512] = "";

	assert_null(bp_tap_open(s, err, sizeof(err)));
	if (!strstr(err, word))
		fail_msg("\"%s\" does not say \"%s\"", err, word);
}

static void set_up(const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {0};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &r), 0);
	r.ifr_flags |= IFF_UP;
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
	close(fd);
}

/* The kernel's side: sees and sends the frames of our type. */
static int packet_socket(const char *name)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, rte_cpu_to_be_16(TYPE));
	struct sockaddr_ll a = {.sll_family = AF_PACKET,
		.sll_protocol = rte_cpu_to_be_16(TYPE),
		.sll_ifindex = (int)if_nametoindex(name)};

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

static void make(uint8_t *f, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		f[i] = (uint8_t)(i * 7 + seed);
	memset(f, 0xff, 6);
	memcpy(f + 6, mac, 6);
	f[12] = TYPE >> 8;
	f[13] = TYPE & 0xff;
}

static struct rte_mbuf *make_mbuf(uint32_t len, uint8_t seed)
{
	uint8_t bytes[2048];
	struct rte_mbuf *head = rte_pktmbuf_alloc(pool);

	assert_non_null(head);
	make(bytes, len, seed);
	for (uint32_t at = 0; at < len;) {
		struct rte_mbuf *m = at ? rte_pktmbuf_alloc(pool) : head;
		uint32_t n = RTE_MIN(len - at, (uint32_t)rte_pktmbuf_tailroom(m));

		memcpy(rte_pktmbuf_append(m, (uint16_t)n), bytes + at, n);
		if (at)
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
		at += n;
	}
	return head;
}

static bool ours(const struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	return m->data_len >= 14 && f[12] == TYPE >> 8 && f[13] == (TYPE & 0xff);
}

/* The next frame of our type that the kernel sent; NULL: it was lost. */
static struct rte_mbuf *next_read(struct bp_kernel_if *k, uint64_t *lost)
{
	uint64_t before = *lost;

	for (;;) {
		struct rte_mbuf *m;

		wait_readable(k->fd);
		if (k->ops->read(k, &m, 1, lost) == 1) {
			if (ours(m))
				return m;
			rte_pktmbuf_free(m);
		} else if (*lost != before) {
			return NULL;
		}
	}
}

static void expect_bytes(struct rte_mbuf *m, uint32_t len, uint8_t seed)
{
	uint8_t want[2048], copy[2048];

	assert_non_null(m);
	make(want, len, seed);
	assert_int_equal(m->pkt_len, len);
	assert_memory_equal(rte_pktmbuf_read(m, 0, len, copy), want, len);
	rte_mbuf_sanity_check(m, 1);
	rte_pktmbuf_free(m);
}

static void frames_in_both_directions(void **state)
{
	static const uint32_t lens[] = {
		60, 14, 300, ROOM - RTE_PKTMBUF_HEADROOM, ROOM - RTE_PKTMBUF_HEADROOM + 1, 1414};
	struct bp_kernel_if *k = open_tap("bp-frames");
	unsigned in_pool = rte_mempool_avail_count(pool);
	uint8_t bytes[2048], want[2048];
	uint64_t lost = 0;
	int fd;

	set_up("bp-frames");
	fd = packet_socket("bp-frames");
	for (unsigned i = 0; i < RTE_DIM(lens); i++) {
		struct rte_mbuf *m = make_mbuf(lens[i], (uint8_t)i);

		assert_int_equal(k->ops->write(k, &m, 1), 1);
		wait_readable(fd);
		assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), lens[i]);
		make(want, lens[i], (uint8_t)i);
		assert_memory_equal(bytes, want, lens[i]);
		assert_int_equal(send(fd, want, lens[i], 0), lens[i]);
		expect_bytes(next_read(k, &lost), lens[i], (uint8_t)i);
	}
	assert_int_equal(lost, 0);
	close(fd);
	assert_int_equal(rte_mempool_avail_count(pool), in_pool);
	k->ops->close(k);
}

/* An interface that is down takes nothing, and one of several frames that is wrong is alone lost.
 */
static void frames_refused(void **state)
{
	struct bp_kernel_if *k = open_tap("bp-refused");
	unsigned in_pool = rte_mempool_avail_count(pool);
	struct rte_mbuf *m[3] = {make_mbuf(60, 1), make_mbuf(60, 2), make_mbuf(60, 3)};

	assert_int_equal(k->ops->write(k, m, 3), 0);
	assert_int_equal(rte_mempool_avail_count(pool), in_pool);
	set_up("bp-refused");
	for (unsigned i = 0; i < 3; i++)
		m[i] = make_mbuf(60, (uint8_t)i);
	rte_pktmbuf_trim(m[1], 50); /* shorter than an Ethernet header */
	assert_int_equal(k->ops->write(k, m, 3), 2);
	assert_int_equal(rte_mempool_avail_count(pool), in_pool);
	k->ops->close(k);
}

/* Without buffers frames are taken and counted, so that they do not pile up; likewise those that
 * need several where the port sends only one. */
static void frames_lost(void **state)
{
	struct bp_kernel_if *k = open_tap("bp-lost");
	struct rte_mbuf *all[64];
	unsigned n = 0, in_pool;
	uint8_t bytes[2048];
	uint64_t lost = 0;
	int fd;

	set_up("bp-lost");
	fd = packet_socket("bp-lost");
	in_pool = rte_mempool_avail_count(pool);
	make(bytes, 1000, 1);
	k->pieces = false;
	assert_int_equal(send(fd, bytes, 1000, 0), 1000);
	assert_null(next_read(k, &lost));
	assert_int_equal(lost, 1);
	k->pieces = true;
	while (n < RTE_DIM(all) && (all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	assert_int_equal(n, in_pool);
	assert_int_equal(send(fd, bytes, 1000, 0), 1000);
	assert_null(next_read(k, &lost));
	rte_pktmbuf_free(all[--n]);
	assert_int_equal(send(fd, bytes, 1000, 0), 1000);
	assert_null(next_read(k, &lost));
	rte_pktmbuf_free_bulk(all, n);
	assert_int_equal(send(fd, bytes, 1000, 0), 1000);
	expect_bytes(next_read(k, &lost), 1000, 1);
	assert_int_equal(rte_mempool_avail_count(pool), in_pool);
	close(fd);
	k->ops->close(k);
}

static struct bp_kernel_link link_of(const struct bp_kernel_if *k)
{
	struct bp_kernel_link l;

	assert_int_equal(bp_kernel_link_get(k->ifindex, &l), 0);
	return l;
}

static void tap_has_its_attributes(void **state)
{
	static const uint8_t other[6] = {0x02, 0xb1, 0, 0, 0, 2};
	struct bp_kernel_if *k = open_tap("bp-attr");
	struct bp_kernel_link l = link_of(k);

	assert_true(l.tun);
	assert_int_equal(l.queues, 1);
	assert_int_equal(l.disabled_queues, 0);
	assert_memory_equal(l.mac, mac, 6);
	assert_int_equal(l.mtu, 1400);
	assert_false(l.flags & IFF_UP);
	set_up("bp-attr");
	assert_int_equal(bp_kernel_link_set_mac(k->ifindex, other), 0); /* while it is up, too */
	assert_int_equal(bp_kernel_link_set_mtu(k->ifindex, 9000), 0);
	assert_int_equal(bp_kernel_link_set_carrier(k->ifindex, false), 0);
	l = link_of(k);
	assert_memory_equal(l.mac, other, 6);
	assert_int_equal(l.mtu, 9000);
	assert_false(l.carrier);
	assert_true(l.flags & IFF_UP);
	assert_int_equal(bp_kernel_link_set_carrier(k->ifindex, true), 0);
	assert_true(link_of(k).carrier);
	assert_int_equal(bp_kernel_link_set_mtu(k->ifindex, 3), EINVAL);
	assert_int_equal(bp_kernel_link_set_mac(0x7fffffff, other), ENODEV);
	assert_int_equal(bp_kernel_link_get(0x7fffffff, &l), ENODEV);
	k->ops->close(k);
	assert_int_equal(if_nametoindex("bp-attr"), 0);
}

static int plain_tap(const char *name, short flags)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	struct ifreq r = {.ifr_flags = flags};

	assert_true(fd >= 0);
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	assert_int_equal(ioctl(fd, TUNSETIFF, &r), 0);
	return fd;
}

/* The control plane's disabled queue keeps the interface, and what is set on it. */
static void disabled_queue_keeps_the_interface(void **state)
{
	struct bp_kernel_if *k = open_tap("bp-held");
	unsigned ifindex = k->ifindex;
	struct ifreq off = {.ifr_flags = IFF_DETACH_QUEUE};
	int holder = plain_tap("bp-held", IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE);
	uint8_t bytes[2048];
	uint64_t lost = 0;
	int fd;

	assert_int_equal(ioctl(holder, TUNSETQUEUE, &off), 0);
	set_up("bp-held");
	k->ops->close(k);
	assert_int_equal(if_nametoindex("bp-held"), ifindex);
	k = open_tap("bp-held");
	assert_int_equal(k->ifindex, ifindex);
	assert_int_equal(link_of(k).queues, 1);
	assert_int_equal(link_of(k).disabled_queues, 1);
	assert_true(link_of(k).flags & IFF_UP);
	fd = packet_socket("bp-held");
	make(bytes, 200, 9);
	for (unsigned i = 0; i < 8; i++) { /* whatever the hash, our queue gets it */
		bytes[6 + 5] = (uint8_t)i;
		assert_int_equal(send(fd, bytes, 200, 0), 200);
		rte_pktmbuf_free(next_read(k, &lost));
	}
	assert_int_equal(lost, 0);
	close(fd);
	k->ops->close(k);
	close(holder);
	assert_int_equal(if_nametoindex("bp-held"), 0);
}

static void wrong_interface(void **state)
{
	struct bp_kernel_if_spec s = spec("lo");
	int fd;

	refused(&s, "exists already"); /* no tap at all */
	s = spec("bp-single");
	fd = plain_tap("bp-single", IFF_TAP | IFF_NO_PI);
	refused(&s, "exists already"); /* a tap without multi-queue */
	close(fd);
	s = spec("bp-served");
	fd = plain_tap("bp-served", IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE);
	refused(&s, "another process"); /* as a second instance of the same names would */
	close(fd);
	s = spec("bp-vnet");
	fd = plain_tap("bp-vnet", IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE | IFF_VNET_HDR);
	refused(&s, "vhost-net");
	close(fd);
	s = spec("bp-mac");
	memset(s.mac, 0, sizeof(s.mac));
	refused(&s, "MAC 00:00:00:00:00:00");
	s = spec("bp-mtu");
	s.mtu = 70000;
	refused(&s, "MTU 70000");
	assert_int_equal(if_nametoindex("bp-mac"), 0);
	assert_int_equal(if_nametoindex("bp-mtu"), 0);
}

static void send_frame(int fd, unsigned ifindex, uint8_t seed)
{
	const struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex};
	uint8_t bytes[80];

	make(bytes, sizeof(bytes), seed);
	assert_int_equal(
		sendto(fd, bytes, sizeof(bytes), 0, (const struct sockaddr *)&to, sizeof(to)),
		sizeof(bytes));
}

/* The next frame of our type that the thread read. */
static struct rte_mbuf *wait_from_kernel(struct bp_exception *x)
{
	struct rte_mbuf *m;

	for (;;) {
		while (bp_exception_take(x, 0, &m, 1) == 0)
			sched_yield();
		if (ours(m))
			return m;
		rte_pktmbuf_free(m);
	}
}

static void remove_link(unsigned ifindex)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
	} q = {.head = {.nlmsg_len = sizeof(q),
		       .nlmsg_type = RTM_DELLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.link = {.ifi_index = (int)ifindex}};
	char answer[4096];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	assert_int_equal(send(fd, &q, sizeof(q), 0), sizeof(q));
	assert_true(recv(fd, answer, sizeof(answer), 0) > 0);
	close(fd);
}

/* The interface is removed from outside: the thread continues with the others, and with one that
 * takes its place, and all frames are accounted for.
 */
static void removed_tap_does_not_stop_the_thread(void **state)
{
	struct bp_kernel_if *k = open_tap("bp-gone"), *other = open_tap("bp-stays");
	struct bp_kernel_if *interface[BP_MAX_INTERFACES] = {k, other};
	struct bp_config config = {.n_workers = 1, .n_ports = 2};
	struct bp_counters counters = {0};
	struct bp_exception_thread *t;
	struct bp_exception *x;
	struct rte_mbuf *m[2];
	uint8_t bytes[2048];
	char err[256] = "";
	int fd;

	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		config.punt.policer[c].rate_pps = config.punt.policer[c].burst =
			config.punt.policer[c].queue_len = 10;
	x = bp_exception_create(&config, NULL, err, sizeof(err));
	assert_non_null(x);
	atomic_store(&x->has[0], true);
	atomic_store(&x->has[1], true);
	t = bp_exception_thread_start(x, interface, &config.punt, &counters, err, sizeof(err));
	assert_non_null(t);
	set_up("bp-stays");
	fd = packet_socket("bp-stays");
	remove_link(k->ifindex);
	while (bp_exception_has(x, 0))
		sched_yield();
	assert_true(bp_exception_has(x, 1));
	for (unsigned i = 0; i < 2; i++) {
		m[i] = make_mbuf(100, (uint8_t)i);
		bp_exception_interface_set(m[i], i);
	}
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(bp_exception_put(x, BP_EX_LOCAL, i, &m[i], 1), 1);
	bp_exception_ring(x);
	wait_readable(fd);
	assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), 100);
	close(fd);

	while (!bp_exception_thread_released(t, 0, false))
		sched_yield();
	assert_false(bp_exception_thread_released(t, 1, false));
	k->ops->close(k);
	k = open_tap("bp-gone");
	set_up("bp-gone");
	fd = packet_socket("bp-gone");
	bp_exception_thread_replace(t, 0, k);
	while (!bp_exception_has(x, 0))
		sched_yield();
	m[0] = make_mbuf(90, 2);
	bp_exception_interface_set(m[0], 0);
	assert_int_equal(bp_exception_put(x, BP_EX_LOCAL, 0, &m[0], 1), 1);
	bp_exception_ring(x);
	wait_readable(fd);
	assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), 90);
	send_frame(fd, k->ifindex, 3);
	m[0] = wait_from_kernel(x);
	rte_pktmbuf_free(m[0]);

	bp_exception_thread_stop(t);
	assert_int_equal(counters.v[BP_C_PUNTED_LOCAL], 2);
	assert_int_equal(counters.v[BP_C_DROP_NO_HOST_INTERFACE], 1);
	close(fd);
	k->ops->close(k);
	other->ops->close(other);
	bp_exception_free(x);
}

static int begin(void **state)
{
	char err[512] = "";

	if (unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0) {
		printf("needs root and /dev/net/tun: skipped\n");
		exit(77);
	}
	if (bp_ring_eal(err, sizeof(err)) != 0) {
		printf("%s\n", err);
		return -1;
	}
	pool = rte_pktmbuf_pool_create("tap", 31, 0, 0, ROOM, SOCKET_ID_ANY);
	return pool ? 0 : -1;
}

static int end(void **state)
{
	rte_mempool_free(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_in_both_directions),
		cmocka_unit_test(frames_refused),
		cmocka_unit_test(frames_lost),
		cmocka_unit_test(tap_has_its_attributes),
		cmocka_unit_test(disabled_queue_keeps_the_interface),
		cmocka_unit_test(wrong_interface),
		cmocka_unit_test(removed_tap_does_not_stop_the_thread),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
