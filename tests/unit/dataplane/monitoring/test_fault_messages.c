/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of each event: what happened, the remedy, and the subject, counts and times as fields.
 */
#include "tests/unit/dataplane/monitoring/fault_rig.h"

static const struct bp_config_monitoring settings = {.link_up_delay_ns = 10 * S,
	.mbuf_low_percent = 5,
	.poll_gap_warning_ns = 100 * MS,
	.worker_stall_timeout_ns = 2 * S,
	.log_interval_ns = 10 * S};

struct line {
	struct bp_fault_message message;
	enum bp_log_level level;
	const char *text;
};

#define FRAMES(kind_) .kind = BP_FAULT_##kind_, .subject = "wan", .events = 5678, .all = 6912
#define WORKER(kind_) .kind = BP_FAULT_WORKER_##kind_, .subject = "worker 2", .cpu = 9

static const struct line lines[] = {
	{{.kind = BP_FAULT_LINK_DOWN, .subject = "lan", .news = BP_FAULT_RAISED, .active = true},
		BP_LOG_WARNING,
		"link down: frames to this port are lost; check cable, transceiver and the peer "
		"device port=lan fault=link_down"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_RAISED,
		 .active = true,
		 .never = true,
		 .lasts_ns = 10 * S},
		BP_LOG_WARNING,
		"link has not come up since the start: frames to this port are lost; check cable, "
		"transceiver and the peer device port=lan down_ms=10000 fault=link_down"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_ONGOING,
		 .spells = 12,
		 .active = true,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"link flapping; check cable, transceiver and the peer device port=lan link=down "
		"count=12 interval_ms=10000 fault=link_down"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_ONGOING,
		 .spells = 1,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"link flapping; check cable, transceiver and the peer device port=lan link=up "
		"count=1 interval_ms=10000 fault=link_down"},
	{{.kind = BP_FAULT_LINK_DOWN,
		 .subject = "lan",
		 .news = BP_FAULT_CLEARED,
		 .lasts_ns = 3260 * MS},
		BP_LOG_INFO, "link up port=lan down_ms=3260 fault=link_down"},
	{{FRAMES(NIC_MISSED), .news = BP_FAULT_RAISED}, BP_LOG_WARNING,
		"frames dropped by the NIC because no worker received them in time (imissed); use "
		"more workers, or raise ports[].rx_descriptors port=wan count=5678 total=6912 "
		"fault=nic_missed"},
	{{FRAMES(NIC_MISSED), .news = BP_FAULT_ONGOING, .line_ns = 10 * S}, BP_LOG_WARNING,
		"frames dropped by the NIC because no worker received them in time (imissed); use "
		"more workers, or raise ports[].rx_descriptors port=wan count=5678 "
		"interval_ms=10000 total=6912 fault=nic_missed"},
	{{FRAMES(NIC_MISSED), .news = BP_FAULT_CLEARED}, BP_LOG_INFO,
		"the NIC drops no more frames (imissed) port=wan total=6912 fault=nic_missed"},
	{{FRAMES(NIC_NO_MBUF), .news = BP_FAULT_RAISED}, BP_LOG_WARNING,
		"no mbuf for received frames (rx_nombuf); raise mbufs, or see which service holds "
		"them in `biplane show drops`, `show lcl` and `show aggregates` port=wan "
		"count=5678 total=6912 fault=nic_no_mbuf"},
	{{FRAMES(NIC_NO_MBUF), .news = BP_FAULT_ONGOING, .line_ns = 10 * S}, BP_LOG_WARNING,
		"no mbuf for received frames (rx_nombuf); raise mbufs, or see which service holds "
		"them in `biplane show drops`, `show lcl` and `show aggregates` port=wan "
		"count=5678 interval_ms=10000 total=6912 fault=nic_no_mbuf"},
	{{FRAMES(NIC_NO_MBUF), .news = BP_FAULT_CLEARED}, BP_LOG_INFO,
		"mbufs for all received frames again (rx_nombuf) port=wan total=6912 "
		"fault=nic_no_mbuf"},
	{{FRAMES(NIC_ERRORS), .news = BP_FAULT_RAISED}, BP_LOG_WARNING,
		"frames received with errors, or not at all (ierrors); check cable, transceiver, "
		"duplex and the MTU of both ends port=wan count=5678 total=6912 fault=nic_errors"},
	{{.kind = BP_FAULT_MBUFS_LOW,
		 .subject = "p",
		 .news = BP_FAULT_RAISED,
		 .free = 203,
		 .size = 4096},
		BP_LOG_WARNING,
		"free mbufs are below monitoring.mbuf_low_percent; frames are lost when none is "
		"free; raise mbufs, or see which service holds them in `biplane show drops`, `show "
		"lcl` and `show aggregates` pool=p free=203 size=4096 low_percent=5 "
		"fault=mbufs_low"},
	{{.kind = BP_FAULT_MBUFS_LOW,
		 .subject = "p",
		 .news = BP_FAULT_ONGOING,
		 .free = 203,
		 .size = 4096,
		 .spells = 3,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"free mbufs are below monitoring.mbuf_low_percent; frames are lost when none is "
		"free; raise mbufs, or see which service holds them in `biplane show drops`, `show "
		"lcl` and `show aggregates` pool=p free=203 size=4096 low_percent=5 low=no count=3 "
		"interval_ms=10000 fault=mbufs_low"},
	{{.kind = BP_FAULT_MBUFS_LOW,
		 .subject = "p",
		 .news = BP_FAULT_CLEARED,
		 .free = 1000,
		 .size = 4096,
		 .lasts_ns = 4500 * MS,
		 .worst = 12},
		BP_LOG_INFO,
		"free mbufs are above monitoring.mbuf_low_percent again pool=p free=1000 size=4096 "
		"min_free=12 duration_ms=4500 fault=mbufs_low"},
	{{WORKER(OVERRUN), .news = BP_FAULT_RAISED, .events = 1, .events_ns = 153 * MS},
		BP_LOG_WARNING,
		"poll gap above monitoring.poll_gap_warning: frames waited or were lost; give the "
		"worker a CPU of its own (workers: [CPU], isolcpus), or use more workers worker=2 "
		"cpu=9 count=1 gap_ms=153 limit_ms=100 fault=poll_gaps"},
	{{WORKER(OVERRUN), .news = BP_FAULT_ONGOING, .events = 14, .events_ns = 2100 * MS,
		 .line_ns = 10 * S},
		BP_LOG_WARNING,
		"poll gap above monitoring.poll_gap_warning: frames waited or were lost; give the "
		"worker a CPU of its own (workers: [CPU], isolcpus), or use more workers worker=2 "
		"cpu=9 count=14 interval_ms=10000 gap_ms=2100 limit_ms=100 fault=poll_gaps"},
	{{WORKER(OVERRUN), .news = BP_FAULT_CLEARED, .all = 15, .all_ns = 2253 * MS}, BP_LOG_INFO,
		"no more poll gaps worker=2 cpu=9 total=15 gap_ms=2253 fault=poll_gaps"},
	{{WORKER(STUCK), .news = BP_FAULT_RAISED, .active = true, .lasts_ns = 2100 * MS},
		BP_LOG_ERROR,
		"worker does not poll its queues: its ports forward nothing; if it does not "
		"resume, restart biplane and report it with the output of `biplane show nodes` "
		"worker=2 cpu=9 duration_ms=2100 fault=worker_stalls"},
	{{WORKER(STUCK), .news = BP_FAULT_ONGOING, .spells = 2, .line_ns = 12 * S}, BP_LOG_ERROR,
		"worker does not poll its queues: its ports forward nothing; if it does not "
		"resume, restart biplane and report it with the output of `biplane show nodes` "
		"worker=2 cpu=9 stalled=no count=2 interval_ms=12000 fault=worker_stalls"},
	{{WORKER(STUCK), .news = BP_FAULT_CLEARED, .lasts_ns = 5300 * MS}, BP_LOG_INFO,
		"worker polls its queues again worker=2 cpu=9 duration_ms=5300 "
		"fault=worker_stalls"},
};

static void each_fault_has_a_message(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct bp_fault_message message = lines[i].message;
		struct bp_fault_event event;
		char text[1024];

		message.settings = &settings;
		bp_fault_message_format(&message, &event);
		event_text(&event, text, sizeof(text));
		assert_string_equal(text, lines[i].text);
		assert_int_equal(event.level, lines[i].level);
	}
}

/* Of every kind and change: an event has a message and ends with the name of its fault, as in
 * `biplane show health`. */
static void every_event_names_its_fault(void **state)
{
	struct bp_fault_message message = {.subject = "worker 63", .settings = &settings};

	(void)state;
	for (unsigned kind = 0; kind < BP_FAULT_CONTROLPLANE_FIRST; kind++) {
		for (unsigned news = BP_FAULT_RAISED; news <= BP_FAULT_CLEARED; news++) {
			for (unsigned flags = 0; flags < 4; flags++) {
				struct bp_fault_event event;

				message.kind = kind;
				message.news = news;
				message.active = flags & 1;
				message.never = flags & 2;
				bp_fault_message_format(&message, &event);
				assert_in_range(strlen(event.message), 1, 511);
				assert_in_range(event.n_fields, 2, BP_FAULT_FIELDS_MAX);
				assert_null(event.field[event.n_fields].key);
				assert_string_equal(event.field[event.n_fields - 1].key, "fault");
				assert_string_equal(event.field[event.n_fields - 1].value,
					bp_fault_info[kind].name);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_has_a_message),
		cmocka_unit_test(every_event_names_its_fault),
	};

	return cmocka_run_group_tests_name("fault_messages", tests, NULL, NULL);
}
