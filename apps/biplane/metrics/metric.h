/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_METRICS_METRIC_H
#define BP_APPS_BIPLANE_METRICS_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "apps/biplane/metrics/metrics.h"
#include "biplane/services.h"
#include "shm/histogram.h"

/*
 * Tables of metric families: one row a family. A row says what the family is, and has a function
 * that reads the values from the segment and adds a sample for each. The gateway's tables and those
 * of the services (bp_metrics_NAME) have the same form.
 */

enum bp_metric_type { BP_METRIC_COUNTER, BP_METRIC_GAUGE, BP_METRIC_HISTOGRAM, BP_METRIC_INFO };

struct bp_metrics;

struct bp_metric {
	const char *name; /* without "biplane_", "_total", "_info"; ends with the unit */
	enum bp_metric_type type;
	const char *unit;   /* "seconds", "bytes"; NULL: none */
	const char *labels; /* names with commas; "": none. NAME? is not on each sample */
	const char *help;   /* one line, without a period */
	/* Adds the samples; none: the family is left out. */
	void (*read)(struct bp_metrics *m, const struct bp_metric *row);
	/* For read(): */
	size_t at;            /* offset of a field, number of a counter */
	unsigned group;       /* of counters */
	const char *prefix;   /* of counters' names: the row has these counters of `group` */
	const char *selector; /* value of a label of this row */
	bool without_segment; /* also read while there is no segment: shm is NULL */
};

/* A section of the documentation. */
struct bp_metric_table {
	const char *title;
	const struct bp_metric *row; /* ends with name NULL */
};

/* The gateway's, ends with title NULL. */
extern const struct bp_metric_table bp_metrics_process[], bp_metrics_monitor[],
	bp_metrics_traffic[], bp_metrics_routing[], bp_metrics_fleet[], bp_metrics_fleet_agent[];
/* The services'; the same. */
#define X(name, NAME) extern const struct bp_metric_table bp_metrics_##name[];
BP_SERVICES(X)
#undef X

/* Calls `visit` for each family, in the order of the output. A row whose title differs from the
 * last begins a section. */
typedef void (*bp_metric_visit)(const struct bp_metric *row, const char *title, void *arg);
void bp_metrics_each(bp_metric_visit visit, void *arg);
/* Writes the families in the format of `m`: for apps/biplane/metrics/metrics.c. */
void bp_metrics_write_families(struct bp_metrics *m);

/* ---- reading, for read() of a row ---- */

/* A text from the segment as the value of a label: valid UTF-8 without control characters, escaped
 * for text and JSON alike. */
#define BP_METRIC_TEXT(max) (3 * (max) + 2)
void bp_metric_text(char *out, size_t size, const char *text, size_t max);

/* A rule and its counts over all workers. */
struct bp_metric_rule {
	char name[BP_METRIC_TEXT(BP_RULE_NAME_MAX)];
	uint64_t count[4]; /* in the order of struct bp_rule_stats */
};

/* The same of the policy. */
struct bp_metric_policy {
	char name[BP_METRIC_TEXT(BP_RULE_NAME_MAX)];
	const char *action; /* NULL: invalid */
	uint64_t decisions, undecided;
};

/* One rendering. */
struct bp_metrics {
	const struct bp_shm *shm;
	uint64_t unix_ns;                                     /* now */
	unsigned n_ports;                                     /* that the data plane has set up */
	char port[BP_MAX_PORTS][BP_METRIC_TEXT(BP_NAME_MAX)]; /* "": no name yet */
	struct bp_metric_rule *rule;
	uint32_t n_rules;
	struct bp_metric_policy *policy; /* and the default */
	uint32_t n_policy;               /* 0: no policy */
	/* of apps/biplane/metrics/metrics_out.c */
	FILE *out;
	enum bp_metrics_format format;
	const struct bp_metric *row;
	bool begun;  /* the row has a sample */
	bool any;    /* a family was written */
	bool failed; /* no memory */
};

bool bp_metrics_has_mqtt(const struct bp_metrics *m);

/* The active rules in m->rule, as `show rules` has them. False: no memory. */
bool bp_metrics_read_rules(struct bp_metrics *m);
/* The same of the policy, in m->policy. */
bool bp_metrics_read_policy(struct bp_metrics *m);
extern const struct bp_metric bp_metrics_policy[]; /* ends with name NULL */

/* Labels of a sample, their values valid as bp_metric_text() returns them; ends with name NULL. */
struct bp_metric_label {
	const char *name, *value;
};
#define BP_LABELS(...) ((const struct bp_metric_label[]){__VA_ARGS__, {NULL, NULL}})
#define BP_NO_LABELS ((const struct bp_metric_label[]){{NULL, NULL}})

/* "0", "1", ...: an index, of a worker or an entry, as a label. */
#define BP_METRIC_INDEX 12
const char *bp_metric_index(unsigned i, char out[BP_METRIC_INDEX]);

/* ---- samples of the row that is read ---- */

void bp_metric_count(struct bp_metrics *m, const struct bp_metric_label *labels, uint64_t value);
void bp_metric_seconds(struct bp_metrics *m, const struct bp_metric_label *labels, uint64_t ns);

/* A bound of a histogram in ns, and as OpenMetrics writes it in seconds. */
struct bp_metric_bound {
	uint64_t ns;
	const char *le;
};
/* 1 us to 60 s; ends with le NULL. */
extern const struct bp_metric_bound bp_metric_bounds[];

/*
 * A histogram with few bounds from one with many buckets. `upper` returns the last time in a
 * bucket, ns; the last bucket has no end. A bucket that a bound divides counts as above the bound:
 * the times that the result shows are never too short. sum_ns NULL: no sum is kept.
 */
struct bp_metric_buckets {
	const _Atomic uint64_t *count;
	unsigned n;
	uint64_t (*upper)(unsigned bucket);
	const uint64_t *sum_ns;
};
void bp_metric_histogram(struct bp_metrics *m, const struct bp_metric_label *labels,
	const struct bp_metric_buckets *b);

/* a + b, or UINT64_MAX: values of a damaged segment may have any size. */
static inline uint64_t bp_metric_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t bp_metric_load(const void *base, size_t at)
{
	return __atomic_load_n(
		(const uint64_t *)(const void *)((const char *)base + at), __ATOMIC_RELAXED);
}

/* Sum of the field at `at` over the workers' rows of `size` bytes, `step` rows apart. */
uint64_t bp_metric_sum(const struct bp_metrics *m, const void *rows, size_t size, size_t step,
	size_t index, size_t at);

/* read() of rows of counters: the counter `at` alone, or of each worker; those of `group` whose
 * name begins with `prefix`, with the rest of it as the label `labels`. */
void bp_metric_read_counter(struct bp_metrics *m, const struct bp_metric *row);
void bp_metric_read_worker_counter(struct bp_metrics *m, const struct bp_metric *row);
void bp_metric_read_group(struct bp_metrics *m, const struct bp_metric *row);
/* A word of struct bp_shm_control at `at`; selector, if any, is the value of the label. */
void bp_metric_read_control(struct bp_metrics *m, const struct bp_metric *row);

#endif
