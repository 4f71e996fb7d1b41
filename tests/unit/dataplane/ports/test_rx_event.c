/* SPDX-License-Identifier: BSD-3-Clause */
/* Event descriptors of receive queues: only a socket that the kernel confirms is one. */
#include "tests/unit/dataplane/test.h"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/ports/rx_event.h"

static int packet_socket(unsigned ifindex)
{
	const struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex};
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void packet_sockets_are_verified(void **state)
{
	const unsigned lo = if_nametoindex("lo");
	const int fd = packet_socket(lo), unbound = packet_socket(0);
	const int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(bp_rx_event_is_packet_socket(fd, lo));
	assert_false(bp_rx_event_is_packet_socket(fd, lo + 1));
	assert_false(bp_rx_event_is_packet_socket(fd, 0));
	assert_false(bp_rx_event_is_packet_socket(unbound, lo));
	assert_false(bp_rx_event_is_packet_socket(unbound, 0));
	assert_false(bp_rx_event_is_packet_socket(udp, lo));
	assert_false(bp_rx_event_is_packet_socket(file, lo));
	assert_false(bp_rx_event_is_packet_socket(-1, lo));
	close(file);
	close(udp);
	close(unbound);
	close(fd);
	assert_false(bp_rx_event_is_packet_socket(fd, lo));
}

static void sockets_are_listed_by_family(void **state)
{
	const int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int a = packet_socket(0);
	int before[8], after[8], first[1];
	const unsigned n = bp_rx_event_sockets(AF_PACKET, before, 8);
	int b;

	assert_int_equal(n, 1);
	assert_int_equal(before[0], a);
	b = packet_socket(0);
	assert_int_equal(bp_rx_event_sockets(AF_PACKET, after, 8), 2);
	assert_int_equal(bp_rx_event_added(before, n, after, 2), b);
	assert_int_equal(bp_rx_event_sockets(AF_PACKET, first, 1), 1);
	close(udp);
	close(a);
	close(b);
	assert_int_equal(bp_rx_event_sockets(AF_PACKET, after, 8), 0);
}

static void added_socket_is_unambiguous(void **state)
{
	static const int before[] = {3, 7}, one[] = {3, 5, 7}, two[] = {3, 5, 7, 9}, other[] = {7};

	assert_int_equal(bp_rx_event_added(before, 2, one, 3), 5);
	assert_int_equal(bp_rx_event_added(before, 2, two, 4), -1);
	assert_int_equal(bp_rx_event_added(before, 2, before, 2), -1);
	assert_int_equal(bp_rx_event_added(before, 2, other, 1), -1);
	assert_int_equal(bp_rx_event_added(before, 0, other, 1), 7);
	assert_int_equal(bp_rx_event_added(before, 0, other, 0), -1);
}

static int begin(void **state)
{
	if (unshare(CLONE_NEWNET) == 0)
		return 0;
	printf("SKIP: no network namespace of its own\n");
	return -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_sockets_are_verified),
		cmocka_unit_test(sockets_are_listed_by_family),
		cmocka_unit_test(added_socket_is_unambiguous),
	};

	if (begin(NULL) != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
