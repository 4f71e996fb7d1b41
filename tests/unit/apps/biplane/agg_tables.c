/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "tests/unit/apps/biplane/agg_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "config/segment.h"
#include "apps/biplane/show/fib_text.h"
#include "tests/unit/apps/biplane/view_out.h"

struct bp_shm shm;
struct bp_show_source source;
struct bp_agg_rules rules;

static char err[512];

struct bp_agg_to destination(const char *text, uint16_t first, uint16_t last)
{
	struct bp_agg_to to = {.udp_first = first, .udp_last = last};
	bool has_length;

	assert_true(bp_text_to_prefix(text, &to.address, &has_length));
	return to;
}

static int set_up_with(unsigned entries)
{
	static struct bp_config config;
	static struct bp_config_aggregation aggregation;
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;

	memset(&config, 0, sizeof(config));
	config.n_workers = WORKERS;
	config.n_ports = 2;
	aggregation.rules.n_aggregate = entries;
	aggregation.max_streams = STREAMS;
	config.service[BP_SERVICE_AGGREGATION] = &aggregation;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	strcpy(shm.ports[0].name, "devices");
	strcpy(shm.ports[1].name, "wan");
	atomic_store(&shm.global->dp_ports, 2);
	memset(&rules, 0, sizeof(rules));
	source = (struct bp_show_source){.shm = &shm, .unix_ns = 9000000000ull};
	return 0;
}

int agg_tables_begin(void **state)
{
	(void)state;
	return set_up_with(1);
}

int agg_tables_begin_without(void **state)
{
	(void)state;
	return set_up_with(0);
}

int agg_tables_end(void **state)
{
	(void)state;
	bp_segment_close(shm.segment);
	return 0;
}

void tell_rules(void)
{
	rules.n_aggregate = 1;
	rules.aggregate[0] = (struct bp_agg_rule){.max_delay_ns = 1000000,
		.to = destination("10.1.0.9", 5555, 5555),
		.max_message = 1024,
		.messages = 8,
		.format = BP_AGG_FORMAT_FULL};
	rules.n_disaggregate = 2;
	rules.disaggregate[0] = (struct bp_disagg_rule){.gap_ns = 10000,
		.to = destination("10.1.0.0/24", 5000, 5999),
		.n_senders = 2,
		.port = 1,
		.format = BP_AGG_FORMAT_FULL};
	rules.disaggregate[0].senders[0] = destination("10.0.0.0/24", 0, 0).address;
	rules.disaggregate[0].senders[1] = destination("10.2.0.0/16", 0, 0).address;
	rules.disaggregate[1] = (struct bp_disagg_rule){.to = destination("fd01::9", 5555, 5555),
		.port = 1,
		.format = BP_AGG_FORMAT_LIN2018};
	bp_seqlock_write(&shm.agg.plan->lock, &rules, sizeof(rules));
}

void write_row(unsigned worker, unsigned i, uint64_t life, const char *address, uint8_t rule)
{
	struct bp_agg_stream_row *r = &shm.agg.rows[worker * STREAMS + i];
	const bool six = strchr(address, ':') != NULL;

	atomic_store(&r->life, 0);
	assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, address, r->address), 1);
	r->family = six ? 6 : 4;
	r->udp = 5555;
	r->stream = 0x5eed;
	r->tos = 46 << 2 | 1;
	r->dont_fragment = 1;
	r->rule = rule;
	atomic_store(&r->messages, 25);
	atomic_store(&r->aggregates, 4);
	atomic_store(&r->message_bytes, 1450);
	atomic_store(&r->aggregate_bytes, 774);
	atomic_store(&r->last_ns, 8500000000ull);
	atomic_store(&r->life, life);
}

json_t *parsed(bool compact)
{
	return view_parsed(&bp_show_aggregates, &source, compact);
}

void says(const char *line)
{
	char *text = view_written(&bp_show_aggregates, &source, false, false);

	if (!strstr(text, line))
		fail_msg("no '%s' in:\n%s", line, text);
	free(text);
}

void says_not(const char *line)
{
	char *text = view_written(&bp_show_aggregates, &source, false, false);

	assert_null(strstr(text, line));
	free(text);
}

json_t *entry(const json_t *v, const char *list, size_t i)
{
	json_t *e = json_array_get(json_object_get(v, list), i);

	assert_non_null(e);
	return e;
}

void has(const json_t *object, json_t *members)
{
	const char *key;
	json_t *want;

	assert_non_null(members);
	json_object_foreach(members, key, want)
	{
		const json_t *got = json_object_get(object, key);

		if (!got || !json_equal((json_t *)got, want))
			fail_msg("%s: %s, not %s", key,
				got ? json_dumps(got, JSON_ENCODE_ANY) : "missing",
				json_dumps(want, JSON_ENCODE_ANY));
	}
	json_decref(members);
}
