/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of each line: whose, how much, since when, and what to do. */
#include "config/config.h"
#include "tests/unit/dataplane/test.h"

#include <string.h>

#include "dataplane/monitoring/fault_message.h"

#define MS 1000000ull
#define S 1000000000ull

static const struct bp_config_monitoring settings = {.link_up_delay_ns = 10 * S,
	.mbuf_low_percent = 5,
	.poll_gap_warning_ns = 100 * MS,
	.worker_stall_timeout_ns = 2 * S,
	.log_interval_ns = 10 * S};

struct line {
	struct bp_fault_message said;
	enum bp_log_level level;
	const char *text;
};

#define FRAMES(kind_) .kind = BP_FAULT_##kind_, .subject = "wan", .events = 5678, .all = 6912
#define WORKER(kind_) .kind = BP_FAULT_WORKER_##kind_, .subject = "worker 2", .cpu = 9

static const struct line lines[] = {
	{{.kind = BP_FAULT_LINK_DOWN, .subject = "lan", .news = BP_FAULT_RAISED, .active = true},
		BP_LOG_WARNING,
		"port lan: link down; what is to leave by it is lost; look at cable, transceiver "
		"and the device at the other end"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_RAISED,
		 .active = true,
		 .never = true,
		 .lasts_ns = 10 * S},
		BP_LOG_WARNING,
		"port lan: link has not come up since the start, 10.0 s ago; what is to leave by "
		"it is lost; look at cable, transceiver and the device at the other end"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_ONGOING,
		 .spells = 12,
		 .active = true,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"port lan: link went down 12 more times in the last 10.0 s, and is down now; look "
		"at cable, transceiver and the device at the other end"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_ONGOING,
		 .spells = 1,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"port lan: link went down 1 more time in the last 10.0 s, and is up now; look at "
		"cable, transceiver and the device at the other end"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_CLEARED,
		 .lasts_ns = 3260 * MS},
		BP_LOG_INFO, "port lan: link up again after 3.2 s"},
	{{FRAMES(NIC_MISSED), .news = BP_FAULT_RAISED}, BP_LOG_WARNING,
		"port wan: 5678 frames dropped by the NIC because no worker took them in time "
		"(imissed); the workers have too little time or CPU (`biplane show nodes`): more "
		"workers, or more ports[].rx_descriptors"},
	{{FRAMES(NIC_MISSED), .news = BP_FAULT_ONGOING, .line_ns = 10 * S}, BP_LOG_WARNING,
		"port wan: 5678 more frames dropped by the NIC because no worker took them in time "
		"(imissed) in the last 10.0 s, 6912 since it began; the workers have too little "
		"time or CPU (`biplane show nodes`): more workers, or more "
		"ports[].rx_descriptors"},
	{{FRAMES(NIC_MISSED), .news = BP_FAULT_CLEARED}, BP_LOG_INFO,
		"port wan: no more frames dropped by the NIC because no worker took them in time "
		"(imissed): none in the last 10.0 s, 6912 before"},
	{{FRAMES(NIC_NO_MBUF), .news = BP_FAULT_RAISED}, BP_LOG_WARNING,
		"port wan: no packet buffer for frames, 5678 times (rx_nombuf): they wait, or are "
		"lost; raise mbufs, or see in `biplane show drops`, `show lcl` and `show "
		"aggregates` who holds them"},
	{{FRAMES(NIC_NO_MBUF), .news = BP_FAULT_ONGOING, .line_ns = 10 * S}, BP_LOG_WARNING,
		"port wan: no packet buffer for frames, 5678 more times in the last 10.0 s "
		"(rx_nombuf), 6912 since it began; raise mbufs, or see in `biplane show drops`, "
		"`show lcl` and `show aggregates` who holds them"},
	{{FRAMES(NIC_NO_MBUF), .news = BP_FAULT_CLEARED}, BP_LOG_INFO,
		"port wan: packet buffers for all frames again (rx_nombuf): none was missing in "
		"the last 10.0 s, 6912 times before"},
	{{FRAMES(NIC_ERRORS), .news = BP_FAULT_RAISED}, BP_LOG_WARNING,
		"port wan: 5678 frames received damaged or not at all (ierrors); look at cable, "
		"transceiver, duplex, and the mtu of both ends"},
	{{.kind = BP_FAULT_MBUFS_LOW,
		 .subject = "p",
		 .news = BP_FAULT_RAISED,
		 .free = 203,
		 .size = 4096},
		BP_LOG_WARNING,
		"pool p: 203 of 4096 packet buffers are free, less than 5 % "
		"(monitoring.mbuf_low_percent); where none is free frames are lost; raise mbufs, "
		"or see in "
		"`biplane show drops`, `show lcl` and `show aggregates` who holds them"},
	{{.kind = BP_FAULT_MBUFS_LOW,
		 .subject = "p",
		 .news = BP_FAULT_ONGOING,
		 .free = 203,
		 .size = 4096,
		 .spells = 3,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"pool p: packet buffers fell below 5 % 3 more times in the last 10.0 s, and are "
		"not low now: 203 of 4096 are free; raise mbufs, or see in `biplane show drops`, "
		"`show lcl` and `show aggregates` who holds them"},
	{{.kind = BP_FAULT_MBUFS_LOW,
		 .subject = "p",
		 .news = BP_FAULT_CLEARED,
		 .free = 1000,
		 .size = 4096,
		 .lasts_ns = 4500 * MS,
		 .worst = 12},
		BP_LOG_INFO,
		"pool p: packet buffers are no longer low: 1000 of 4096 are free; they were low "
		"for 4.5 s, with 12 free at the least"},
	{{WORKER(OVERRUN), .news = BP_FAULT_RAISED, .events = 1, .events_ns = 153 * MS},
		BP_LOG_WARNING,
		"worker 2 on CPU 9: away from its queues 1 time for more than 100 ms "
		"(monitoring.poll_gap_warning), 153 ms in all; frames waited, or were lost; give "
		"it a "
		"CPU of its own (workers: [CPU], isolcpus), or less to do (more workers)"},
	{{WORKER(OVERRUN), .news = BP_FAULT_ONGOING, .events = 14, .events_ns = 2100 * MS,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"worker 2 on CPU 9: away from its queues 14 more times in the last 10.0 s, 2.1 s "
		"in all; frames waited, or were lost; give it a CPU of its own (workers: [CPU], "
		"isolcpus), or less to do (more workers)"},
	{{WORKER(OVERRUN), .news = BP_FAULT_CLEARED, .all = 15, .all_ns = 2253 * MS}, BP_LOG_INFO,
		"worker 2 on CPU 9: overran 15 times, 2.2 s in all, and not in the last 10.0 s"},
	{{WORKER(STUCK), .news = BP_FAULT_RAISED, .active = true, .lasts_ns = 2100 * MS},
		BP_LOG_ERROR,
		"worker 2 on CPU 9: stuck: it has not come back to its queues for 2.1 s; what it "
		"polls is not forwarded; if it does not come back, restart biplane and report it "
		"with what `biplane show nodes` says"},
	{{WORKER(STUCK), .news = BP_FAULT_ONGOING, .spells = 2, .line_ns = 12 * S}, BP_LOG_ERROR,
		"worker 2 on CPU 9: stuck 2 more times in the last 12.0 s, and runs now; what it "
		"polls is not forwarded; if it does not come back, restart biplane and report it "
		"with what `biplane show nodes` says"},
	{{WORKER(STUCK), .news = BP_FAULT_CLEARED, .lasts_ns = 5300 * MS}, BP_LOG_INFO,
		"worker 2 on CPU 9: back at its queues after 5.3 s"},
};

static void each_line_has_its_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct bp_fault_message said = lines[i].said;
		char line[BP_FAULT_LINE];

		said.settings = &settings;
		assert_int_equal(bp_fault_message_format(&said, line), lines[i].level);
		assert_string_equal(line, lines[i].text);
	}
}

/* The longest name, the greatest numbers: no line is cut. */
static void no_line_is_cut(void **state)
{
	const struct bp_config_monitoring longest = {.link_up_delay_ns = UINT64_MAX,
		.mbuf_low_percent = UINT32_MAX,
		.poll_gap_warning_ns = UINT64_MAX,
		.log_interval_ns = UINT64_MAX};
	struct bp_fault_message said = {.subject = "abcdefghijklmnopqrstuvwxyz01234",
		.settings = &longest,
		.spells = UINT64_MAX,
		.events = UINT64_MAX,
		.events_ns = UINT64_MAX,
		.all = UINT64_MAX,
		.all_ns = UINT64_MAX,
		.lasts_ns = UINT64_MAX,
		.line_ns = UINT64_MAX,
		.worst = UINT64_MAX,
		.free = UINT32_MAX,
		.size = UINT32_MAX,
		.cpu = UINT32_MAX,
		.connections = UINT32_MAX};

	(void)state;
	for (unsigned kind = 0; kind < BP_FAULT_CONTROLPLANE_FIRST; kind++) {
		for (unsigned news = BP_FAULT_RAISED; news <= BP_FAULT_CLEARED; news++) {
			for (unsigned flags = 0; flags < 4; flags++) {
				char line[BP_FAULT_LINE];

				said.kind = kind;
				said.news = news;
				said.active = flags & 1;
				said.never = flags & 2;
				bp_fault_message_format(&said, line);
				assert_in_range(strlen(line), 1, BP_FAULT_LINE - 2);
				assert_null(strchr(line, '\n'));
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_has_its_words),
		cmocka_unit_test(no_line_is_cut),
	};

	return cmocka_run_group_tests_name("trouble_words", tests, NULL, NULL);
}
