/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "bench/routes/route_frames.h"
#include "proto/net/frame.h"
#include "proto/net/ip.h"

#define ETHER_CHECK 4u

static void is_whole(const uint8_t *frame, uint32_t bytes)
{
	const uint8_t *ip = frame + BP_ETHER_HDR, *udp = ip + BP_IP4_HDR;

	assert_int_equal(bp_be16(ip + BP_IP4_TOTAL), bytes - BP_ETHER_HDR);
	assert_int_equal(bp_sum_fold(bp_sum(ip, BP_IP4_HDR, 0)), 0xffff);
	assert_int_equal(bp_be16(udp + 4), bytes - BP_ETHER_HDR - BP_IP4_HDR);
	/* to one of the 16 routes */
	assert_in_range(ip[BP_IP4_DST], 16, 31);
}

/* All frames of a capture have that size, without the check sequence, which captures do not have.
 */
static void of_size(uint32_t wire_bytes)
{
	char path[] = "/tmp/test-route-frames-XXXXXX", err[PCAP_ERRBUF_SIZE];
	const int fd = mkstemp(path);
	struct pcap_pkthdr *header;
	const uint8_t *frame;
	uint32_t n = 0;
	pcap_t *p;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(bench_route_pcap_sized(wire_bytes, path), 0);
	p = pcap_open_offline(path, err);
	assert_non_null(p);
	while (pcap_next_ex(p, &header, &frame) == 1) {
		assert_int_equal(header->caplen, wire_bytes - ETHER_CHECK);
		assert_int_equal(header->len, wire_bytes - ETHER_CHECK);
		is_whole(frame, header->caplen);
		n++;
	}
	assert_int_equal(n, BENCH_ROUTE_FLOWS);
	pcap_close(p);
	unlink(path);
}

static void frames_of_every_size(void **state)
{
	static const uint32_t sizes[] = {
		BENCH_ROUTE_WIRE_MIN, 65, 128, 512, 1280, BENCH_ROUTE_WIRE_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		of_size(sizes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(frames_of_every_size)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
