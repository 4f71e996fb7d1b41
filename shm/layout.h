/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_LAYOUT_H
#define BP_SHM_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "biplane/alarm.h"
#include "biplane/counters.h"
#include "biplane/limits.h"
#include "biplane/offloads.h"
#include "shm/aggregation/agg.h"
#include "shm/events/event_ring.h"
#include "shm/capture/capture.h"
#include "shm/histogram.h"
#include "shm/history.h"
#include "shm/fib/fib.h"
#include "shm/fib/fib_tables.h"
#include "shm/lcl/lcl.h"
#include "shm/health/phd.h"
#include "shm/process_use.h"
#include "shm/ring.h"
#include "shm/generation.h"
#include "shm/rules/part_state.h"
#include "shm/rules/policy_connections.h"
#include "shm/rules/policy_rate.h"
#include "shm/rules/rule_state.h"
#include "shm/rules/sparkplug_state.h"
#include "shm/rules/watch.h"
#include "shm/rules/ruleset.h"
#include "shm/rules/window.h"
#include "shm/segment.h"
#include "shm/service.h"
#include "shm/transform/transform.h"
#include "shm/fault.h"
#include "shm/fleet.h"
#include "shm/fleet_agent.h"

/*
 * Which tables are in the segment, and who writes them. DP: data plane, CP: control plane, RUN: the
 * supervisor. Everybody may read. Tables of DP alone and of CP alone lie in files of their own,
 * which the other plane cannot write.
 *
 *   table        writer        element
 *   global       DP            struct bp_shm_global, one
 *   control      CP            struct bp_shm_control, one
 *   shared       see fields    struct bp_shm_shared, one
 *   counters     DP            struct bp_counters, one per worker, then the exception thread's, the
 *                              last the main thread's
 *   port_stats   DP worker     struct bp_port_stats, [worker * BP_MAX_PORTS + port]
 *   port_drops   DP worker     struct bp_port_drops, [worker * BP_MAX_PORTS + port]
 *   ports        DP main       struct bp_port_info, one per port
 *   nodes        DP main       struct bp_node_info, [worker * BP_MAX_NODES + node]
 *   trouble      DP main       struct bp_fault_row, see shm/fault.h
 *   cp_faults    CP            the same, of the control plane's faults
 *   events       DP            broadcast rings of records, see shm/events/event_ring.h: one per
 *                              worker, the last the main thread's
 *   cp_events    CP            the same: the main thread's, and that of the sessions of health
 *                              devices
 *   history      DP main       samples of counters, one a second: shm/history.h (element: a word)
 *   rules        CP            two banks of an image, see shm/rules/ruleset.h
 *   rule_stats   DP worker     struct bp_rule_stats, [worker * max_rules + slot]
 *   policy_stats DP worker     struct bp_policy_stats, [worker * policy_slots + slot];
 *                              slot 0: packets that match no rule of the policy
 *   policy_rates DP worker     token buckets: shm/rules/policy_rate.h; shared by workers with
 *                              compare-and-swap
 *   policy_connections         DP worker: shm/rules/policy_connections.h; shared likewise
 *   rule_state   DP worker     state of (rule, topic); shared likewise
 *   sparkplug    DP worker     births of Sparkplug B: shm/rules/sparkplug_state.h; shared likewise
 *   watch        DP worker     time of the last publication on topics of absence rules; shared
 *                              likewise
 *   watch_topic  DP worker     the text of these topics
 *   part_state   DP worker     truths of parts of combinations; shared likewise
 *   window_buckets, windows    DP worker, windows of (rule, topic): shm/rules/window.h
 *   alarm_ring   DP worker     byte rings, one per worker: see shm/ring.h
 *   alarm_tail   CP            struct bp_ring_tail, one per worker: how far the rings were read
 *   alarm_log    CP            the last alarms, for `biplane show alarms`
 *   alarm_latency CP           struct bp_alarm_latency, one for each destination
 *   flows        DP worker     the flow tables (element: one byte; laid out by services/mqtt)
 *   reassembly   DP worker     what inspection keeps of streams (element: one byte; services/mqtt)
 *   adopt_requests DP worker   connections that a gateway of the fleet may know, one part per
 * worker: shm/mqtt/mqtt_tables.h adopt_offers CP            the answers, likewise fib ...      CP
 * the forwarding tables: shm/fib/fib.h phd ...      see there     the sessions of personal health
 * devices: shm/health/phd.h agg ...      see there     aggregation: shm/aggregation/agg.h transform
 * see there     coordinate transformation: shm/transform/transform.h lcl ...      see there     LCL
 * scheduling: shm/lcl/lcl.h capture ...  see there     live captures and traces:
 * shm/capture/capture.h
 */

/* At the start of a worker's reassembly memory: the changes in progress when its process ended. */
#define BP_JOURNAL_BYTES 28672u

/*
 * Use of the memory and tables that belong to the process of the data plane. DP main writes it once
 * a second.
 */
#define BP_NOT_INSPECTED_REASONS 32 /* more than there are: services/mqtt/flow_show.h */
struct bp_shm_usage {
	struct {
		_Atomic uint64_t mbufs, free; /* mbufs 0: no pool on this NUMA node */
	} pool[BP_FAULT_POOLS];
	struct {
		_Atomic uint64_t entries, capacity; /* capacity 0: the bridge does not learn */
		char name[64];
	} fdb[BP_MAX_BRIDGES];
	/* MQTT connections of the last scan, which needs several seconds for a large table */
	_Atomic uint64_t inspected, not_inspected[BP_NOT_INSPECTED_REASONS];
};

/* Heartbeats and one-word facts of the data plane. */
struct bp_shm_global {
	/* DP main */
	_Atomic uint64_t dp_pid, dp_started_ns, dp_heartbeat_ns;
	struct bp_process_use dp_use;
	_Atomic uint32_t dp_workers, dp_ports;
	/* Written by the process that creates the segment: key of the hashes of the data plane's
	 * tables */
	uint64_t hash_key[2];
	/* DP: the control plane's key as the data plane uses it, for a part of the control plane
	 * that is recreated while the data plane runs; zero: none */
	uint64_t control_key[2];
	/* DP worker w: the last value of rules_active with which it began a graph walk
	 * (shm/generation.h). */
	_Atomic uint64_t rules_seen[BP_MAX_WORKERS];
	struct bp_shm_usage usage;
};

/* Destinations of alarms: the broker of mqtt.publisher, the cluster of mqtt.kafka. */
enum bp_alarm_destination { BP_TO_MQTT, BP_TO_KAFKA, BP_DESTINATIONS };

/* Counters and gauges of the publisher of a destination. */
struct bp_publisher_counters {
	_Atomic uint64_t acked, spooled, unspooled;
	_Atomic uint64_t dropped_size, dropped_age, invalid, unordered;
	_Atomic uint64_t dropped_disk; /* neither sent nor spooled, while another destination had
					  finished them */
	_Atomic uint64_t rejected;     /* by the destination, for ever */
	_Atomic uint64_t spool_rows, spool_bytes, spool_errors, inflight;
	_Atomic uint64_t spool_max_bytes, max_inflight; /* as configured; max_inflight 0: there is
							   no such destination */
	_Atomic uint64_t connects, disconnects;
	_Atomic uint32_t connected;
	_Atomic uint32_t brokers, brokers_connected; /* of Kafka: that the client knows */
};

/* The name of a destination, also as a label. */
extern const char *const bp_destination_name[BP_DESTINATIONS];

/* The control plane's. */
struct bp_shm_control {
	_Atomic uint64_t cp_pid, cp_started_ns, cp_heartbeat_ns;
	struct bp_process_use cp_use;
	_Atomic uint64_t cp_alarms_read;
	struct bp_publisher_counters publisher[BP_DESTINATIONS];
	_Atomic uint64_t cp_reloads, cp_reloads_refused;
	/* CP's sync manager (controlplane/sync) */
	_Atomic uint32_t cp_sync_state;     /* enum bp_sync_state: 2: in sync with the kernel */
	_Atomic uint32_t cp_sync_punted;    /* prefixes that the tables cannot represent, see
						   sync/nl_cache.h */
	_Atomic uint64_t cp_sync_events;    /* Netlink messages applied, except those of dumps */
	_Atomic uint64_t cp_sync_resyncs;   /* whole dumps after the first */
	_Atomic uint64_t cp_sync_overruns;  /* number of times that events were lost (ENOBUFS) */
	_Atomic uint64_t cp_sync_loaded_ns; /* duration of the last load, from the request on */
	_Atomic uint64_t cp_sync_probes; /* neighbors for which the kernel was requested to probe */
	/* Written by the process that creates the segment: key of the hashes of the control plane's
	 * tables */
	uint64_t hash_key[2];
	/* The active rules (shm/generation.h). */
	_Atomic uint64_t rules_active;
	/* Parts that the control plane found damaged, and set aside or restored; part of the
	 * counter segment_quarantined. */
	_Atomic uint64_t cp_segment_quarantined;
	/* Odd while the control plane sleeps: shm/doorbell.h. */
	_Atomic uint64_t cp_sleeps;
	/* Log settings of the data plane since the last reload: 1 + level + 16 * format (section
	 * log of the configuration); 0: as in its own file. */
	_Atomic uint32_t cp_log;
	/* Hash of the running configuration, bp_config_hash(), by which the monitor detects that
	 * the file is another one; 0: not known. */
	_Atomic uint64_t cp_config_hash;
	/* Grows with each change of table captures. */
	_Atomic uint64_t captures_changed;
	struct bp_shm_fleet fleet;
	struct bp_fleet_agent fleet_agent;
};

struct bp_shm_shared {
	/* RUN */
	_Atomic uint32_t run_dp_restarts, run_cp_restarts;
	_Atomic uint32_t run_dp_hung, run_cp_hung; /* of these, because of missing heartbeats */
	_Atomic uint64_t run_pid;
	/* DP workers: the next alarm's id, fetched and added; CP raises it above the spool's last
	 */
	_Atomic uint64_t next_alarm_id;
	/* DP workers set bits, CP takes them: clients with reports of holds that were lost */
	_Atomic uint64_t holds_lost[BP_HOLD_LOST_WORDS];
};

struct bp_port_stats {
	_Atomic uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, tx_dropped;
	/* bridges: addresses that moved to this port, moves that were rejected, and addresses
	 * without a free entry for this port */
	_Atomic uint64_t mac_moves, mac_moves_refused, mac_table_full;
} __attribute__((aligned(64)));

/*
 * Drops of a port by reason: of frames that it received, or, where its queue or its driver is the
 * reason, of those that it was to send. The counters of group DROP have them too, and those of
 * frames without a port.
 */
#define BP_DROP_REASONS 128
struct bp_port_drops {
	uint64_t n[BP_DROP_REASONS]; /* by bp_drop_slot[]; written as struct bp_counters is */
} __attribute__((aligned(64)));

/* The index of each counter of group DROP in struct bp_port_drops. */
extern const uint8_t bp_drop_slot[BP_C_COUNT];

struct bp_port_info {
	char name[BP_NAME_MAX + 1];
	char device[128];
	char driver[32];
	char bridge[64]; /* its name, or "" */
	uint8_t mac[6];
	uint8_t link_up;
	uint8_t full_duplex;
	uint32_t speed_mbps;
	uint32_t mtu;
	int32_t numa;
	uint16_t rx_queues, tx_queues;
	uint64_t workers; /* bit per worker that polls it */
	/* as the driver reports: bytes, and frames lost before biplane received them */
	uint64_t hw_rx_bytes, hw_tx_bytes, hw_imissed, hw_ierrors, hw_oerrors, hw_rx_nombuf;
	struct bp_port_offload offload[BP_OFFLOADS];
};

struct bp_node_info {
	char name[48];
	uint32_t worker;
	uint32_t pad;
	_Atomic uint64_t calls, objects, cycles;
};

struct bp_rule_stats {
	_Atomic uint64_t matched, no_value, raised, cleared;
};

/* Of a rule of the policy. */
struct bp_policy_stats {
	_Atomic uint64_t matched;    /* packets that it decided about */
	_Atomic uint64_t undecided;  /* it would have, but who the client is is not known */
	_Atomic uint64_t matched_ns; /* Unix time of the latest one with action observe */
};

#define BP_ALARM_LOG_LEN 4096
struct bp_alarm_log {
	_Atomic uint64_t seq; /* odd while CP writes it; seq/2 = position + 1 in the log's order */
	uint64_t id, time_ns;
	double value;
	uint8_t state, flags;
	uint16_t client_port;
	uint8_t client_ip[16];
	uint8_t severity;
	struct bp_alarm_flow flow; /* broker_port 0: unknown */
	uint8_t value_text;        /* as in struct bp_alarm */
	char value_string[BP_VALUE_STRING_MAX];
	char rule[BP_RULE_NAME_MAX + 1];
	char client_id[64]; /* cut to fit, as topic and to are */
	char topic[160];
	char to[160];
};

/*
 * Delay of alarms by stage, since the start of the control plane; the alarms that it sent from a
 * ring and that the broker acknowledged.
 */
enum bp_alarm_stage {
	BP_ALARM_EVALUATE,    /* frame received to record written, in the worker */
	BP_ALARM_HANDOVER,    /* to the publisher's first reading */
	BP_ALARM_PUBLISH,     /* to the write to the connection that was acknowledged */
	BP_ALARM_ACKNOWLEDGE, /* to the PUBACK */
	BP_ALARM_TOTAL,
	BP_ALARM_STAGES,
};
struct bp_alarm_latency {
	_Atomic uint64_t invalid; /* alarms with impossible times, which no stage counts */
	struct bp_histogram stage[BP_ALARM_STAGES];
};

/* How many elements the tables have; from the configuration: config/segment.h. */
struct bp_shm_capacities {
	uint64_t workers, ports; /* minimum 1 */
	uint64_t events;         /* of each ring; 0: 1 */
	uint64_t history_rows;   /* 0: no history */
	uint64_t capture_ring;   /* bytes per worker: 0, or a power of two */
	uint64_t fib[BP_FIB_TABLES];
	uint64_t service[BP_SERVICE_COUNT][BP_TABLES_OF_SERVICE];
};

/* Fills the specs of all tables for bp_segment_open(); returns how many. */
#define BP_SHM_SPECS_MAX 192
unsigned bp_shm_table_specs(const struct bp_shm_capacities *c, struct bp_seg_spec *specs);

/* Every table at its address; from bp_shm_map(). */
struct bp_shm {
	struct bp_segment *segment;
	struct bp_shm_global *global;
	struct bp_shm_control *control;
	struct bp_shm_shared *shared;
	struct bp_counters *counters;
	struct bp_port_stats *port_stats;
	struct bp_port_drops *port_drops;
	struct bp_port_info *ports;
	struct bp_node_info *nodes;
	struct bp_fault_row *faults;
	uint32_t fault_rows;
	struct bp_fault_row *cp_faults; /* BP_FAULT_OF_CONTROLPLANE */
	struct bp_event_slot *events;   /* bp_shm_events() */
	struct bp_event_slot *cp_events;
	uint32_t event_slots; /* of each ring */
	/* The writer of this process's main thread, after bp_shm_events_begin(). */
	struct bp_event_ring main_events;
	struct bp_history history;
	struct bp_generation rules; /* images: struct bp_ruleset */
	struct bp_rule_stats *rule_stats;
	uint32_t max_rules;
	struct bp_policy_stats *policy_stats;
	uint32_t max_policy_rules, policy_slots; /* bp_policy_stat_slots() */
	struct bp_policy_rates policy_rates;
	struct bp_policy_connections policy_connections;
	struct bp_rule_state *rule_state;
	uint64_t rule_state_len;
	struct bp_sparkplug_state *sparkplug;
	uint64_t sparkplug_len;
	struct bp_part_state *part_state;
	uint64_t part_state_len;
	struct bp_watch watch; /* start_ns: 0 */
	struct bp_window_table windows;
	struct bp_ring *alarm_ring;                    /* [workers]; this process's view */
	struct bp_ring *adopt_requests, *adopt_offers; /* [workers]; likewise */
	struct bp_fleet_changes *fleet_changes; /* of the data plane's process: fleet_states.c */
	struct bp_alarm_log *alarm_log;
	struct bp_alarm_latency *alarm_latency;
	uint8_t *flows;
	uint64_t flows_len;
	uint8_t *reassembly; /* worker w: reassembly + w * (reassembly_len / workers) */
	uint64_t reassembly_len;
	uint32_t workers;      /* capacity of the per-worker tables */
	uint32_t counter_rows; /* workers + BP_COUNTER_ROWS_EXTRA */
	struct bp_fib fib;
	struct bp_phd_tables phd;
	struct bp_agg_tables agg;
	struct bp_transform_tables transform;
	struct bp_lcl_tables lcl;
	struct bp_capture_tables capture;
	/* Private data of the other services, from their map() with bp_segment_private(). */
	void *service[BP_SERVICE_COUNT];
};
/*
 * Returns 0, or -1 with a sentence. The first process that maps a new segment initialises its
 * tables; other processes wait for it.
 */
int bp_shm_map(struct bp_shm *m, struct bp_segment *s, char *err, size_t err_size);

/* Returns why the contents of a part cannot be its writer's, or NULL. For the writer, before it
 * continues with them. A process that only reads a part bounds each value that it reads. */
const char *bp_shm_unsound(const struct bp_shm *m, unsigned part);

/* Describes how opening the segment changed an existing part, which data was lost, and the path of
 * the copy of a damaged file. False: no change. */
bool bp_shm_change_text(const struct bp_segment *s, unsigned part, char *out, size_t size);

/* The rows of counters behind the workers'. */
enum { BP_COUNTER_ROW_EXCEPTION, BP_COUNTER_ROW_MAIN, BP_COUNTER_ROWS_EXTRA };
static inline struct bp_counters *bp_shm_counters_main(const struct bp_shm *m, unsigned which)
{
	return &m->counters[m->workers + which];
}

/* Ports that the data plane has set up, at most as many as the table has: that of faults has
 * BP_FAULT_OF_PORT rows for each. */
static inline unsigned bp_shm_ports_in_use(const struct bp_shm *m)
{
	const uint32_t n = atomic_load_explicit(&m->global->dp_ports, memory_order_acquire);
	const uint32_t max = (m->fault_rows - bp_fault_rows(0, m->workers)) / BP_FAULT_OF_PORT;

	return n < max ? n : max;
}

/* The sum of a counter over all rows. The rows grow meanwhile: sums of different counters are not
 * from one instant. */
uint64_t bp_shm_counter(const struct bp_shm *m, bp_counter_t c);
/* Those of a counter of group DROP that struct bp_port_drops has for a port, of all workers. */
uint64_t bp_shm_port_drops(const struct bp_shm *m, unsigned port, bp_counter_t c);
/* The ring of events of a worker; its writer opens it with bp_event_ring_open(). */
static inline struct bp_event_ring bp_shm_events(const struct bp_shm *m, unsigned worker)
{
	return (struct bp_event_ring){
		.slot = m->events + (uint64_t)worker * m->event_slots, .size = m->event_slots};
}
/* The other rings: devices can cause session events, and must not overwrite those of faults. */
enum { BP_EVENTS_DATAPLANE, BP_EVENTS_CONTROLPLANE, BP_EVENTS_SESSIONS, BP_EVENTS_OTHERS };
static inline struct bp_event_ring bp_shm_events_of(const struct bp_shm *m, unsigned which)
{
	struct bp_event_ring r = {.slot = m->cp_events, .size = m->event_slots};

	if (which == BP_EVENTS_DATAPLANE)
		return bp_shm_events(m, m->workers);
	if (which == BP_EVENTS_SESSIONS)
		r.slot += m->event_slots;
	return r;
}
/* The main thread of a plane, before its first event: opens m->main_events. */
static inline void bp_shm_events_begin(struct bp_shm *m, unsigned which)
{
	m->main_events = bp_shm_events_of(m, which);
	bp_event_ring_open(&m->main_events);
}
static inline struct bp_ring *bp_shm_ring(const struct bp_shm *m, unsigned worker)
{
	return &m->alarm_ring[worker];
}
_Static_assert(offsetof(struct bp_ruleset, generation) == offsetof(struct bp_image, generation) &&
		       offsetof(struct bp_ruleset, size) == offsetof(struct bp_image, size),
	"rules are handed over as images");
static inline const struct bp_ruleset *bp_shm_rules(const struct bp_shm *m, uint64_t active)
{
	return (const struct bp_ruleset *)bp_generation_bank(&m->rules, active);
}

#endif
