/* SPDX-License-Identifier: BSD-3-Clause */
/* `show aggregates`: its entries. test_show_streams.c tests its streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/apps/biplane/agg_tables.h"
#include "tests/unit/apps/biplane/view_out.h"

static struct bp_agg_stats *made(unsigned worker, unsigned rule)
{
	return &shm.agg.stats[worker * BP_AGG_RULES_MAX + rule];
}

static struct bp_disagg_stats *split(unsigned worker, unsigned rule)
{
	return &shm.agg.disagg_stats[worker * BP_AGG_RULES_MAX + rule];
}

/* Two workers' figures of the first entries. */
static void count(void)
{
	for (unsigned w = 0; w < WORKERS; w++) {
		struct bp_agg_stats *a = made(w, 0);
		struct bp_disagg_stats *d = split(w, 0);

		atomic_store(&a->messages, 400 + w);
		atomic_store(&a->message_bytes, 23200 + 58 * w);
		atomic_store(&a->aggregates, 50);
		atomic_store(&a->aggregate_bytes, 11150);
		atomic_store(&a->flushed[BP_AGG_FLUSH_FULL], 48 + w);
		atomic_store(&a->flushed[BP_AGG_FLUSH_TIME], 2 - w);
		atomic_store(&a->delay_ns, 40000000);
		atomic_store(&a->delay[0], 4 * w);
		atomic_store(&a->delay[7], 10);
		atomic_store(&a->delay[9], 40 - 4 * w);
		atomic_store(&a->passed, 3);
		atomic_store(&a->begun, 5);
		atomic_store(&a->streams, 2);
		atomic_store(&a->waiting, w);
		atomic_store(&d->aggregates, 100);
		atomic_store(&d->aggregate_bytes, 22300);
		atomic_store(&d->messages, 790);
		atomic_store(&d->message_bytes, 45820);
		atomic_store(&d->plain, 1);
		atomic_store(&d->refused, 2);
		atomic_store(&d->missing, 5);
		atomic_store(&d->late, 2);
		atomic_store(&d->duplicate, 3);
		atomic_store(&d->stale, 4);
		atomic_store(&d->lives, 6);
		atomic_store(&d->forgotten, 7 * w);
		atomic_store(&d->paced, 700);
		atomic_store(&d->pace_ns, 21000000);
		atomic_store(&d->pace[5], 700);
		atomic_store(&d->early, 1);
		atomic_store(&d->waiting, 8);
	}
}

static json_int_t in_bucket(const json_t *histogram, size_t i, json_int_t below_us)
{
	const json_t *b = json_array_get(histogram, i);

	assert_int_equal(json_array_size(histogram), BP_AGG_DELAYS);
	assert_int_equal(json_integer_value(json_object_get(b, "below_us")), below_us);
	return json_integer_value(json_object_get(b, "count"));
}

static void missing_section_is_reported(void **state)
{
	json_t *v, *want;

	(void)state;
	says("no entry in section aggregation\n");
	want = json_pack("{si sn s[] s[] s[] s[] si}", "schema_version", 1, "generation",
		"encapsulate", "decapsulate", "workers", "streams", "total", 0);
	for (int compact = 0; compact < 2; compact++) {
		v = parsed(compact);
		assert_true(json_equal(v, want));
		json_decref(v);
	}
	json_decref(want);
}

static void what_is_made_is_summed(void **state)
{
	json_t *v, *row;

	(void)state;
	tell_rules();
	count();
	v = parsed(false);
	has(v, json_pack("{si}", "generation", 1));
	row = entry(v, "encapsulate", 0);
	has(row, json_pack("{si ss ss sn sn ss si si si sn}", "entry", 0, "port", "devices", "to",
			 "10.1.0.9:5555", "source", "allowed_senders", "format", "full",
			 "max_messages", 8, "max_delay_ns", 1000000, "max_message_size", 1024,
			 "mtu"));
	/* the one that waits has not been in an aggregate yet */
	has(row, json_pack("{si si si si sf si sf}", "messages", 801, "message_bytes", 46458,
			 "aggregates", 100, "aggregate_bytes", 22300, "avg_messages", 8.0,
			 "saved_bytes", 24158, "savings_percent", 52.0));
	has(row, json_pack("{si si si si si sf}", "bypassed", 6, "streams", 4, "streams_created",
			 10, "streams_evicted", 0, "queued", 1, "avg_delay_us", 100.0));
	has(json_object_get(row, "flush_reasons"),
		json_pack("{si si si si si si si si si}", "full", 97, "size", 0, "time", 3, "order",
			0, "header", 0, "evicted", 0, "reload", 0, "link", 0, "stop", 0));
	assert_int_equal(in_bucket(json_object_get(row, "delay"), 0, 1), 4);
	assert_int_equal(in_bucket(json_object_get(row, "delay"), 7, 128), 20);
	assert_int_equal(in_bucket(json_object_get(row, "delay"), 9, 512), 76);
	assert_int_equal(in_bucket(json_object_get(row, "delay"), 23, 0), 0);
	json_decref(v);
}

static void what_is_taken_apart_is_summed(void **state)
{
	json_t *v, *row;

	(void)state;
	tell_rules();
	count();
	v = parsed(true);
	row = entry(v, "decapsulate", 0);
	has(row, json_pack("{si ss ss ss s[ss] si}", "entry", 0, "port", "wan", "to",
			 "10.1.0.0/24:5000-5999", "format", "full", "allowed_senders",
			 "10.0.0.0/24", "10.2.0.0/16", "pacing_gap_ns", 10000));
	has(row, json_pack("{si si si si sf si si}", "aggregates", 200, "aggregate_bytes", 44600,
			 "messages", 1580, "message_bytes", 91640, "avg_messages", 7.9, "bypassed",
			 2, "dropped", 4));
	has(row, json_pack("{si si si si si si si}", "missing", 10, "late", 4, "lost", 6,
			 "duplicate", 6, "stale", 8, "streams_created", 12, "streams_expired", 7));
	has(row, json_pack("{si si si sf}", "paced", 1400, "queued", 16, "early_flush", 2,
			 "avg_pacing_delay_us", 30.0));
	assert_int_equal(in_bucket(json_object_get(row, "pacing_delay"), 5, 32), 1400);
	/* without pace there is no gap; a rule of no one has nothing to divide */
	has(entry(v, "decapsulate", 1),
		json_pack("{si ss ss s[] sn sn sn}", "entry", 1, "to", "[fd01::9]:5555", "format",
			"lin2018", "allowed_senders", "pacing_gap_ns", "avg_messages",
			"avg_pacing_delay_us"));
	has(entry(v, "workers", 1),
		json_pack("{si si si si si si si si si si}", "worker", 1, "messages", 401,
			"aggregates", 50, "queued", 1, "streams", 2, "streams_max", STREAMS,
			"streams_evicted", 0, "restored", 790, "dropped", 2, "pacing_queued", 8));
	json_decref(v);
}

static void people_see_tables_and_bars(void **state)
{
	char *text;

	(void)state;
	tell_rules();
	count();
	write_row(1, 3, 7, "10.1.0.9", 0);
	text = view_written(&bp_show_aggregates, &source, false, false);
	assert_string_equal(text,
		"encapsulate\n"
		"ENTRY  PORT     TO             FORMAT  MAX-MSGS  MAX-DELAY  MESSAGES  AGGREGATES  "
		"AVG-MSGS  SAVED-BYTES  SAVINGS-%  BYPASSED  STREAMS  QUEUED\n"
		"    0  devices  10.1.0.9:5555  full           8       1 ms       801         100  "
		"       8        24158         52         6        4       1\n"
		"\n"
		"flush reasons\n"
		"ENTRY  full  size  time  order  header  evicted  reload  link  stop\n"
		"    0    97     0     3      0       0        0       0     0     0\n"
		"\n"
		"entry 0: average queueing delay of messages 100 us; aggregates by the delay of "
		"their oldest message\n"
		"  <     1 us           4  ###\n"
		"  <     2 us           0\n"
		"  <     4 us           0\n"
		"  <     8 us           0\n"
		"  <    16 us           0\n"
		"  <    32 us           0\n"
		"  <    64 us           0\n"
		"  <   128 us          20  ###########\n"
		"  <   256 us           0\n"
		"  <   512 us          76  ########################################\n"
		"\n"
		"decapsulate\n"
		"ENTRY  PORT  TO                     FORMAT   ALLOWED-SENDERS          PACING-GAP  "
		"AGGREGATES  MESSAGES  AVG-MSGS  BYPASSED  DROPPED\n"
		"    0  wan   10.1.0.0/24:5000-5999  full     10.0.0.0/24,10.2.0.0/16       10 us  "
		"       200      1580       7.9         2        4\n"
		"    1  wan   [fd01::9]:5555         lin2018  none                              -  "
		"         0         0         -         0        0\n"
		"\n"
		"sequence numbers of aggregates, and pacing\n"
		"ENTRY  MISSING  LATE  LOST  DUPLICATE  STALE  STREAMS-CREATED  STREAMS-EXPIRED  "
		"PACED  QUEUED  EARLY-FLUSH\n"
		"    0       10     4     6          6      8               12                7   "
		"1400      16            2\n"
		"    1        0     0     0          0      0                0                0    "
		"  0       0            0\n"
		"\n"
		"entry 0: average pacing delay of messages 30 us; messages by pacing delay\n"
		"  <    32 us        1400  ########################################\n"
		"\n"
		"workers\n"
		"WORKER  MESSAGES  AGGREGATES  QUEUED  STREAMS  STREAMS-MAX  EVICTED  RESTORED  "
		"DROPPED  PACING-QUEUED\n"
		"     0       400          50       0        2        20000        0       790     "
		"   2              8\n"
		"     1       401          50       1        2        20000        0       790     "
		"   2              8\n"
		"warning: entry 1 of decapsulate has no allowed senders: it drops every aggregate\n"
		"\n"
		"streams\n"
		"TO             DSCP  ENTRY  WORKER  STREAM  MESSAGES  AGGREGATES  AVG-MSGS  "
		"SAVED-BYTES  IDLE-MS\n"
		"10.1.0.9:5555    46      0       1  5eed          25           4      6.25        "
		"  676      500\n");
	free(text);
}

static void the_longest_waits_have_words(void **state)
{
	(void)state;
	tell_rules();
	atomic_store(&made(0, 0)->messages, 2);
	atomic_store(&made(0, 0)->aggregates, 2);
	atomic_store(&made(0, 0)->delay_ns, 12000000000ull);
	atomic_store(&made(0, 0)->delay[BP_AGG_DELAYS - 1], 1);
	atomic_store(&made(0, 0)->delay[BP_AGG_DELAYS - 2], 1);
	says("entry 0: average queueing delay of messages 6 s;");
	says("\n  <   4.19 s           1  ####");
	says("\n  >=  4.19 s           1  ####");
}

/* An aggregate of one message is longer than the message. */
static void a_loss_is_no_saving(void **state)
{
	json_t *v;

	(void)state;
	tell_rules();
	atomic_store(&made(0, 0)->messages, 10);
	atomic_store(&made(0, 0)->aggregates, 10);
	atomic_store(&made(0, 0)->message_bytes, 580);
	atomic_store(&made(0, 0)->aggregate_bytes, 830);
	v = parsed(false);
	has(entry(v, "encapsulate", 0), json_pack("{si sf sf}", "saved_bytes", -250,
						"savings_percent", -43.1, "avg_messages", 1.0));
	json_decref(v);
}

static void rules_are_those_in_force(void **state)
{
	json_t *v;

	(void)state;
	/* no entries published: counters are shown by entry number */
	atomic_store(&made(1, 2)->passed, 1);
	v = parsed(false);
	has(v, json_pack("{si s[]}", "generation", 0, "decapsulate"));
	assert_int_equal(json_array_size(json_object_get(v, "encapsulate")), 3);
	has(entry(v, "encapsulate", 2), json_pack("{si sn sn sn sn si}", "entry", 2, "port", "to",
						"allowed_senders", "max_messages", "bypassed", 1));
	json_decref(v);
	atomic_store(&split(0, 1)->refused, 1);
	v = parsed(false);
	assert_int_equal(json_array_size(json_object_get(v, "decapsulate")), 2);
	has(entry(v, "decapsulate", 1),
		json_pack("{sn sn si}", "allowed_senders", "pacing_gap_ns", "dropped", 1));
	json_decref(v);
	says("warning: entries not published by the control plane yet");
	says_not("has no senders");
	/* entries published, and then replaced */
	tell_rules();
	says("10.1.0.9:5555");
	says_not("has not told");
	rules.aggregate[0].to = destination("192.0.2.0/24", 7, 7);
	rules.aggregate[0].max_delay_ns = 0;
	rules.aggregate[0].mtu = 1400;
	rules.aggregate[0].from = (struct bp_address){.bytes = {10, 9, 0, 1}, .family = 4};
	rules.aggregate[0].from_udp = 5556;
	rules.aggregate[0].n_senders = 2;
	rules.aggregate[0].senders[0] = destination("10.0.0.0/24", 0, 0).address;
	rules.aggregate[0].senders[1] = destination("10.2.0.0/16", 0, 0).address;
	bp_seqlock_write(&shm.agg.plan->lock, &rules, sizeof(rules));
	v = parsed(false);
	has(v, json_pack("{si}", "generation", 2));
	has(entry(v, "encapsulate", 0),
		json_pack("{ss sn si ss s[ss]}", "to", "192.0.2.0/24:7", "max_delay_ns", "mtu",
			1400, "source", "10.9.0.1:5556", "allowed_senders", "10.0.0.0/24",
			"10.2.0.0/16"));
	json_decref(v);
	/* a control plane that was killed while it wrote */
	atomic_fetch_add(&shm.agg.plan->lock.generation, 1);
	says("warning: entries not published by the control plane yet");
}

static void streams_given_up_are_warned_of(void **state)
{
	(void)state;
	tell_rules();
	/* idle streams that give way cost nothing */
	atomic_store(&made(0, 0)->evicted, 30);
	says_not("were evicted");
	atomic_store(&made(0, 0)->flushed[BP_AGG_FLUSH_EVICTED], 3);
	atomic_store(&made(1, 0)->flushed[BP_AGG_FLUSH_EVICTED], 4);
	says("warning: 7 aggregates flushed because their streams were evicted: raise "
	     "aggregation.max_streams\n");
}

/* The segment is memory of another process: no value in it is trusted. */
static void a_damaged_segment_is_survived(void **state)
{
	struct bp_agg_stream_row *r = &shm.agg.rows[5];
	json_t *v;
	char *text;

	(void)state;
	memset(&rules, 0xff, sizeof(rules));
	bp_seqlock_write(&shm.agg.plan->lock, &rules, sizeof(rules));
	memset(shm.agg.stats, 0xff, sizeof(*shm.agg.stats) * WORKERS * BP_AGG_RULES_MAX);
	memset(shm.agg.disagg_stats, 0xff,
		sizeof(*shm.agg.disagg_stats) * WORKERS * BP_AGG_RULES_MAX);
	memset(r, 0xff, sizeof(*r));
	memset(shm.ports, 0xff, sizeof(*shm.ports) * 2);
	atomic_store(&shm.global->dp_ports, UINT32_MAX);
	v = parsed(false);
	assert_int_equal(json_array_size(json_object_get(v, "encapsulate")), BP_AGG_RULES_MAX);
	assert_int_equal(json_array_size(json_object_get(v, "decapsulate")), BP_AGG_RULES_MAX);
	has(entry(v, "encapsulate", 31), json_pack("{ss sn}", "format", "unknown", "port"));
	assert_int_equal(
		json_array_size(json_object_get(entry(v, "decapsulate", 3), "allowed_senders")),
		BP_AGG_SENDERS_MAX);
	assert_int_equal(
		json_array_size(json_object_get(entry(v, "encapsulate", 3), "allowed_senders")),
		BP_AGG_SENDERS_MAX);
	has(entry(v, "streams", 0), json_pack("{si ss}", "entry", 255, "stream", "ffff"));
	json_decref(v);
	text = view_written(&bp_show_aggregates, &source, false, false);
	assert_non_null(strstr(text, "\nstreams\n"));
	free(text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, agg_tables_begin, agg_tables_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			missing_section_is_reported, agg_tables_begin_without, agg_tables_end),
		CASE(what_is_made_is_summed),
		CASE(what_is_taken_apart_is_summed),
		CASE(people_see_tables_and_bars),
		CASE(the_longest_waits_have_words),
		CASE(a_loss_is_no_saving),
		CASE(rules_are_those_in_force),
		CASE(streams_given_up_are_warned_of),
		CASE(a_damaged_segment_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
