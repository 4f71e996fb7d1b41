/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory for buffers a configuration asks for, before any device is known. */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"
#include "dataplane/workers/pools.h"

#include <string.h>

#define PORTS                                                                                      \
	"workers: 3\n"                                                                             \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"
#define ENTRY(rest_)                                                                               \
	"  encapsulate:\n  - {port: a, to: {address: \"fd01::9\", udp_port: 5555}" rest_ "}\n"
#define LIMITS(streams_, queue_)                                                                   \
	"aggregation:\n  max_streams: " #streams_ "\n  pacing_queue_len: " #queue_ "\n"
#define ROOM 2048u /* of a buffer, at least */

static uint64_t estimate(const char *yaml)
{
	struct bp_config *c = bp_config_parse("test", yaml, strlen(yaml), stderr);
	uint64_t bytes;

	assert_non_null(c);
	bytes = bp_pools_estimate(c);
	bp_config_free(c);
	return bytes;
}

/* Streams and what waits for its pace hold buffers, at each worker. */
static void aggregation_needs_buffers(void **state)
{
	const uint64_t none = estimate(PORTS);
	const uint64_t some = estimate(PORTS LIMITS(100, 16) ENTRY(""));
	const uint64_t streams = estimate(PORTS LIMITS(10100, 16) ENTRY(""));
	const uint64_t queue = estimate(PORTS LIMITS(100, 10016) ENTRY(""));
	const uint64_t queues = estimate(
		PORTS LIMITS(100, 10016) "  decapsulate:\n"
					 "  - {port: b, to: {address: 10.1.0.9, udp_port: 1}, "
					 "allowed_senders: [10.0.0.0/24], pacing_gap: 10us}\n"
					 "  - {port: b, to: {address: 10.1.0.9, udp_port: 2}, "
					 "allowed_senders: [10.0.0.0/24], pacing_gap: 10us}\n"
					 "  - {port: b, to: {address: 10.1.0.9, udp_port: 3}, "
					 "allowed_senders: [10.0.0.0/24], pacing_gap: off}\n");

	assert_true(some > none);
	assert_true(streams >= some + 3u * 10000 * ROOM);
	assert_true(queue >= some + 3u * 10000 * ROOM);
	assert_true(queues >= queue + 3u * 10000 * ROOM);
	/* without entries the bounds cost nothing */
	assert_int_equal(estimate(PORTS "aggregation: {max_streams: 10100}\n"), none);
}

/* mbufs in schedulers and their rings are added to all others. */
static void schedulers_need_buffers(void **state)
{
#define LCL(queues_, frames_, best_effort_, handover_)                                             \
	PORTS "lcl:\n  ports:\n"                                                                   \
	      "    - {port: b, slot: 10us, link_rate: 10Gbps, queues: " queues_                    \
	      ", slot_queue_len: " frames_ ", best_effort_queue_len: " best_effort_                \
	      ", handover_queue_len: " handover_ "}\n"
	const uint64_t none = estimate(PORTS);
	const uint64_t some = estimate(LCL("4", "16", "16", "64"));

	assert_true(some >= none + (4u * 16 + 16 + 64) * ROOM);
	assert_true(estimate(LCL("4", "4096", "16", "64")) >= some + 4u * (4096 - 16) * ROOM);
	assert_true(estimate(LCL("64", "16", "16", "64")) >= some + 60u * 16 * ROOM);
	assert_true(estimate(LCL("4", "16", "8192", "64")) >= some + (8192u - 16) * ROOM);
	assert_true(estimate(LCL("4", "16", "16", "8192")) >= some + (8192u - 64) * ROOM);
#undef LCL
}

/* An aggregate as long as its MTU is built behind a gap for the longest directory. */
static void long_aggregates_need_headroom(void **state)
{
	const uint64_t few = estimate(PORTS "aggregation:\n" ENTRY(", max_messages: 8"));
	const uint64_t many = estimate(PORTS "aggregation:\n" ENTRY(", max_messages: 255"));
	const uint64_t jumbo =
		estimate(PORTS "aggregation:\n" ENTRY(", max_messages: 8, mtu: 9000"));

	assert_true(many > few * 2); /* 255 * 22 + 1500 bytes instead of 2048 */
	assert_true(jumbo > few * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aggregation_needs_buffers),
		cmocka_unit_test(schedulers_need_buffers),
		cmocka_unit_test(long_aggregates_need_headroom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
