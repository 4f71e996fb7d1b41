/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/rates.h"

#include <math.h>
#include <stdlib.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"

#define POINTS_DEFAULT 60u
/* A sample may be newer than the time at which the reader began. */
#define LATER_NS 5000000000ull
#define HEAD (BP_HISTORY_CP_STARTED_NS + 1) /* words: the times of a sample */

enum kind {
	KIND_RATE,         /* of a counter of the data plane */
	KIND_RATE_CONTROL, /* of a counter that survives a restart of the data plane */
	KIND_SHARE,        /* of a time in ns */
	KIND_GAUGE,
	KIND_PERCENTILE, /* `at`: permille */
};

struct definition {
	const char *name, *unit;
	enum kind kind;
	uint32_t at; /* word of the sample; of a port or worker: of its values */
};

static const struct definition of_gateway[] = {
	{"drops", "frames/s", KIND_RATE, BP_HISTORY_DROPS},
	{"publishes", "packets/s", KIND_RATE, BP_HISTORY_PUBLISHES},
	{"matches", "matches/s", KIND_RATE, BP_HISTORY_MATCHES},
	{"alarms_raised", "alarms/s", KIND_RATE, BP_HISTORY_ALARMS_RAISED},
	{"alarms_cleared", "alarms/s", KIND_RATE, BP_HISTORY_ALARMS_CLEARED},
	{"alarms_lost", "alarms/s", KIND_RATE, BP_HISTORY_ALARMS_LOST},
	{"alarms_acknowledged", "alarms/s", KIND_RATE_CONTROL, BP_HISTORY_ALARMS_ACKNOWLEDGED},
	{"alarms_spooled", "alarms/s", KIND_RATE_CONTROL, BP_HISTORY_ALARMS_SPOOLED},
	{"alarm_delay_p50", "ns", KIND_PERCENTILE, 500},
	{"alarm_delay_p99", "ns", KIND_PERCENTILE, 990},
	{"alarms_in_flight", "alarms", KIND_GAUGE, BP_HISTORY_IN_FLIGHT},
	{"spool_rows", "alarms", KIND_GAUGE, BP_HISTORY_SPOOL_ROWS},
	{"spool_bytes", "bytes", KIND_GAUGE, BP_HISTORY_SPOOL_BYTES},
	{"connections", "connections", KIND_GAUGE, BP_HISTORY_CONNECTIONS},
};
static const struct definition of_port[] = {
	{"rx_packets", "packets/s", KIND_RATE, BP_HISTORY_RX_PACKETS},
	{"rx_bytes", "bytes/s", KIND_RATE, BP_HISTORY_RX_BYTES},
	{"tx_packets", "packets/s", KIND_RATE, BP_HISTORY_TX_PACKETS},
	{"tx_bytes", "bytes/s", KIND_RATE, BP_HISTORY_TX_BYTES},
	{"tx_dropped", "packets/s", KIND_RATE, BP_HISTORY_TX_DROPPED},
	{"nic_dropped", "packets/s", KIND_RATE, BP_HISTORY_NIC_DROPPED},
};
static const struct definition of_worker[] = {
	{"busy", "share", KIND_SHARE, BP_HISTORY_BUSY_NS},
	{"sleep", "share", KIND_SHARE, BP_HISTORY_SLEEP_NS},
};
#define N(array_) (sizeof(array_) / sizeof((array_)[0]))
#define SERIES_MAX (N(of_gateway) + BP_MAX_PORTS * N(of_port) + BP_MAX_WORKERS * N(of_worker))

struct series {
	const struct definition *of;
	uint32_t at;
	json_t *object, *values; /* values: borrowed */
};

struct rates {
	const struct bp_history *history;
	struct bp_history_sample a, b; /* the ends of an interval */
	double seconds;
	json_t *times, *durations, *missed, *restarted;
	unsigned n;
	struct series series[SERIES_MAX];
};

static void add_series(struct rates *r, const struct definition *d, uint32_t at, json_t *object)
{
	struct series *s = &r->series[r->n++];

	*s = (struct series){d, at, object, json_array()};
	json_object_set_new(object, "values", s->values);
}

static void add_all_series(struct rates *r, const struct bp_shm *m)
{
	const unsigned ports = bp_show_ports_in_use(m);
	const uint32_t workers = atomic_load(&m->global->dp_workers);

	for (unsigned i = 0; i < N(of_gateway); i++)
		add_series(r, &of_gateway[i], of_gateway[i].at,
			json_pack(
				"{ss ss}", "name", of_gateway[i].name, "unit", of_gateway[i].unit));
	for (unsigned p = 0; p < ports && p < r->history->ports; p++)
		for (unsigned i = 0; i < N(of_port); i++)
			add_series(r, &of_port[i], bp_history_port_at(p, of_port[i].at),
				json_pack("{ss ss so}", "name", of_port[i].name, "unit",
					of_port[i].unit, "port",
					bp_text_json(m->ports[p].name, sizeof(m->ports[p].name))));
	for (unsigned w = 0; w < workers && w < r->history->workers; w++)
		for (unsigned i = 0; i < N(of_worker); i++)
			add_series(r, &of_worker[i],
				bp_history_worker_at(r->history, w, of_worker[i].at),
				json_pack("{ss ss si}", "name", of_worker[i].name, "unit",
					of_worker[i].unit, "worker", (int)w));
}

/* Of the alarms that were acknowledged between the samples. */
static json_t *percentile(const struct rates *r, unsigned permille)
{
	uint64_t bucket[BP_HISTOGRAM_BUCKETS], count = 0;

	if (r->a.word[BP_HISTORY_CP_STARTED_NS] != r->b.word[BP_HISTORY_CP_STARTED_NS])
		return json_null();
	for (unsigned i = 0; i < BP_HISTOGRAM_BUCKETS; i++) {
		bucket[i] = bp_history_delay(r->history, &r->b, i) -
			    bp_history_delay(r->history, &r->a, i);
		bucket[i] &= UINT32_MAX;
		count += bucket[i];
	}
	if (count == 0)
		return json_null();
	return json_integer((json_int_t)bp_histogram_quantile(bucket, count, UINT64_MAX, permille));
}

static json_t *rounded(double v)
{
	return json_real(round(v * 1000) / 1000);
}

/* Some microseconds of a second are the load of a quiet gateway. */
static json_t *rounded_share(double v)
{
	return json_real(round(v * 1e6) / 1e6);
}

static json_t *value_of(const struct rates *r, const struct series *s)
{
	const bool is_word = s->of->kind != KIND_PERCENTILE;
	const uint64_t a = is_word ? r->a.word[s->at] : 0, b = is_word ? r->b.word[s->at] : 0;
	const bool same_run =
		r->a.word[BP_HISTORY_DP_STARTED_NS] == r->b.word[BP_HISTORY_DP_STARTED_NS];

	switch (s->of->kind) {
	case KIND_PERCENTILE:
		return percentile(r, s->at);
	case KIND_GAUGE:
		return json_integer((json_int_t)(b & INT64_MAX));
	case KIND_SHARE:
		if (!same_run || b < a)
			return json_null();
		return rounded_share(fmin((double)(b - a) / 1e9 / r->seconds, 1));
	case KIND_RATE:
		if (!same_run)
			return json_null();
		break;
	case KIND_RATE_CONTROL:
		break;
	}
	return b < a ? json_null() : rounded((double)(b - a) / r->seconds);
}

/* The interval from sample a to sample b. */
static void add_point(struct rates *r)
{
	const uint64_t *a = r->a.word, *b = r->b.word;
	const double missed =
		round(r->seconds) - (double)(b[BP_HISTORY_NUMBER] - a[BP_HISTORY_NUMBER]);

	json_array_append_new(r->times, rounded((double)b[BP_HISTORY_UNIX_NS] / 1e9));
	json_array_append_new(r->durations, rounded(r->seconds));
	json_array_append_new(r->missed, json_integer(missed > 0 ? (json_int_t)missed : 0));
	json_array_append_new(r->restarted,
		json_boolean(a[BP_HISTORY_DP_STARTED_NS] != b[BP_HISTORY_DP_STARTED_NS]));
	for (unsigned i = 0; i < r->n; i++)
		json_array_append_new(r->series[i].values, value_of(r, &r->series[i]));
}

/* The oldest sample that is not before `from`; the newest + 1 if there is none. */
static uint64_t first_sample(struct rates *r, uint64_t from, uint64_t now)
{
	const uint64_t newest = bp_history_newest(r->history);
	uint64_t left = newest == 0 ? 0 : newest - bp_history_oldest(r->history) + 1;
	uint64_t number = newest, later = now + LATER_NS;

	for (; left != 0; left--, number--) {
		if (!bp_history_read(r->history, number, &r->b, HEAD) ||
			r->b.word[BP_HISTORY_MONO_NS] < from ||
			r->b.word[BP_HISTORY_MONO_NS] > later)
			break;
		later = r->b.word[BP_HISTORY_MONO_NS];
	}
	return number + 1;
}

/* Every step-th sample; a sample that cannot be read makes an interval longer. */
static void add_points(struct rates *r, uint64_t first, uint32_t step)
{
	const uint64_t newest = bp_history_newest(r->history);
	uint64_t number = first + (step - first % step) % step;
	bool has_first = false;

	for (unsigned n = 0; n <= BP_RATES_POINTS_MAX && number >= first && number <= newest;
		n++, number += step) {
		if (!bp_history_read(r->history, number, &r->b, r->history->words))
			continue;
		if (has_first) {
			const uint64_t a = r->a.word[BP_HISTORY_MONO_NS];
			const uint64_t b = r->b.word[BP_HISTORY_MONO_NS];

			if (b <= a) /* damaged */
				continue;
			r->seconds = (double)(b - a) / 1e9;
			add_point(r);
		}
		has_first = true;
		r->a = r->b;
	}
}

/* Fewer seconds of step than requested would give more than the maximum of points. */
static uint32_t step_of(uint64_t since_ns, uint32_t requested)
{
	const uint64_t seconds = since_ns / BP_HISTORY_INTERVAL_NS;
	const unsigned points = requested == 0 ? POINTS_DEFAULT : BP_RATES_POINTS_MAX;
	const uint32_t minimum = (uint32_t)((seconds + points - 1) / points);

	return requested > minimum ? requested : minimum != 0 ? minimum : 1;
}

static json_t *result(struct rates *r, const struct bp_shm *m, uint64_t since_ns, uint32_t step)
{
	const uint64_t newest = bp_history_newest(&m->history);
	json_t *list = json_array();

	for (unsigned i = 0; i < r->n; i++)
		json_array_append(list, r->series[i].object);
	return json_pack("{sI sI sI sI sO sO sO sO so}", "since_s",
		(json_int_t)(since_ns / BP_HISTORY_INTERVAL_NS), "step_s", (json_int_t)step,
		"history_s", (json_int_t)(m->history.n_rows != 0 ? m->history.n_rows - 1 : 0),
		"samples",
		(json_int_t)(newest != 0 ? newest - bp_history_oldest(&m->history) + 1 : 0),
		"times", r->times, "seconds", r->durations, "missed", r->missed, "restarted",
		r->restarted, "series", list);
}

json_t *bp_rates_json(const struct bp_shm *m, uint64_t mono_ns, uint64_t since_ns, uint32_t step_s)
{
	struct rates *r = calloc(1, sizeof(*r));
	json_t *json;

	if (r == NULL)
		return NULL;
	if (since_ns > BP_RATES_SINCE_MAX_NS)
		since_ns = BP_RATES_SINCE_MAX_NS;
	step_s = step_of(since_ns, step_s < BP_RATES_STEP_MAX_S ? step_s : BP_RATES_STEP_MAX_S);
	r->history = &m->history;
	r->times = json_array();
	r->durations = json_array();
	r->missed = json_array();
	r->restarted = json_array();
	add_all_series(r, m);
	if (m->history.n_rows != 0)
		add_points(r, first_sample(r, mono_ns > since_ns ? mono_ns - since_ns : 0, mono_ns),
			step_s);
	json = result(r, m, since_ns, step_s);
	for (unsigned i = 0; i < r->n; i++)
		json_decref(r->series[i].object);
	json_decref(r->times);
	json_decref(r->durations);
	json_decref(r->missed);
	json_decref(r->restarted);
	free(r);
	return json;
}
