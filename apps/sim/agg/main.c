/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * biplane-agg-sim: the gateway's aggregator under virtual time, and a queue behind it. See --help.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/agg/erlang.h"
#include "apps/sim/agg/min_rate.h"
#include "apps/sim/agg/merged.h"
#include "apps/sim/agg/options.h"
#include "apps/sim/sim_random.h"
#include "apps/sim/agg/server.h"

/* Results of a run: N-packets 0..count, and the times between them in units of the mean time
 * between two messages. */
struct run {
	const struct sim_options *o;
	struct sim_merged first; /* count + 1 */
	double *gap;             /* count */
	double *work;            /* count, of mean 1; NULL: fixed service times */
	size_t count;
};

static void fatal(const char *what)
{
	fprintf(stderr, "biplane-agg-sim: %s: %s\n", what, strerror(errno));
	exit(71);
}

static void begin(struct run *r, const struct sim_options *o)
{
	/* Not the seed that the first switch has: service times do not depend on arrivals. */
	struct sim_random random = {~o->first.seed};
	const size_t count = o->packets;

	*r = (struct run){.o = o};
	r->gap = malloc(count * sizeof(r->gap[0]));
	if (o->service == SIM_EXPONENTIAL) {
		r->work = malloc(count * sizeof(r->work[0]));
		for (size_t i = 0; r->work != NULL && i < count; i++)
			r->work[i] = sim_exponential(&random);
	}
	if (r->gap == NULL || (o->service == SIM_EXPONENTIAL && r->work == NULL) ||
		sim_merged_run(&r->first, &o->first, o->streams, o->warm_up, count + 1) != 0)
		fatal("memory for the N-packets");
	r->count = r->first.count - 1;
	for (size_t i = 0; i < r->count; i++)
		r->gap[i] = (double)(r->first.left[i + 1] - r->first.left[i]) * o->first.rate / 1e9;
}

static void write_samples(const struct run *r)
{
	FILE *f = fopen(r->o->samples, "we");

	if (f == NULL)
		fatal(r->o->samples);
	for (size_t i = 0; i < r->count; i++)
		fprintf(f, "%" PRIu64 "\n", r->first.left[i + 1] - r->first.left[i]);
	if (fclose(f) != 0)
		fatal(r->o->samples);
}

static void print_first(const struct run *r)
{
	const struct sim_first_counts *c = &r->first.counts;
	static const char *const flushed[] = {
#define X(id, name, help) name,
		BP_AGG_FLUSHES(X)
#undef X
	};

	printf("{\"messages\":%u,\"format\":\"%s\",\"packets\":%" PRIu64 ",\"wrong\":%" PRIu64
	       ",\"mean_messages\":%.6f,\"mean_delay_ns\":%.3f,",
		r->o->first.messages,
		r->o->first.format == BP_AGG_FORMAT_LIN2018 ? "lin2018" : "full", c->packets,
		c->wrong, (double)c->messages / (double)c->packets,
		(double)c->wait_ns / (double)c->messages);
	printf("\"bytes\":{\"payload\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"packets\":%" PRIu64
	       "},\"goodput_ratio\":%.9f,\"flushed\":{",
		c->payload_bytes, c->message_bytes, c->bytes,
		(double)c->payload_bytes / (double)c->bytes);
	for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++)
		printf("%s\"%s\":%" PRIu64, i != 0 ? "," : "", flushed[i], r->first.flushed[i]);
	printf("},\"mean_gap_ns\":%.3f,",
		(double)(r->first.left[r->count] - r->first.left[0]) / (double)r->count);
}

static void print_second(const struct run *r)
{
	const struct sim_options *o = r->o;
	struct sim_server s;
	double now = 0;

	if (sim_server_init(&s, o->buffer) != 0)
		fatal("memory for the buffer");
	for (size_t i = 0; i < r->count; i++) {
		(void)sim_server_arrive(&s, now, (r->work != NULL ? r->work[i] : 1) / o->mu);
		now += r->gap[i];
	}
	printf("\"second\":{\"mu\":%g,\"accepted\":%" PRIu64 ",\"refused\":%" PRIu64
	       ",\"utilisation\":%.9f,\"mean_wait\":%.9f,\"mean_wait_ns\":%.3f},",
		o->mu, s.accepted, s.refused, sim_server_utilisation(&s), sim_server_mean_wait(&s),
		sim_server_mean_wait(&s) * 1e9 / o->first.rate);
	sim_server_free(&s);
}

static void print_min_rate(const struct run *r)
{
	const struct sim_options *o = r->o;

	fputs("\"minimum_mu\":[", stdout);
	for (unsigned i = 0; i < o->n_betas; i++)
		printf("%s{\"beta\":%g,\"mu\":%.9f,\"model\":%.9f}", i != 0 ? "," : "", o->beta[i],
			sim_min_mu(r->gap, r->work, r->count, o->beta[i]),
			sim_model_min_mu(o->service, o->first.messages, o->beta[i]));
	fputs("],", stdout);
}

int main(int argc, char **argv)
{
	struct sim_options o;
	struct run r;
	struct sim_ks ks;
	bool well;

	sim_options_read(&o, argc, argv);
	begin(&r, &o);
	if (o.samples != NULL)
		write_samples(&r);
	print_first(&r);
	if (o.mu != 0)
		print_second(&r);
	if (o.n_betas != 0)
		print_min_rate(&r);
	ks = sim_ks_erlang(r.gap, r.count, o.first.messages); /* sorts them: last */
	printf("\"erlang\":{\"statistic\":%.9f,\"p\":%.6g}}\n", ks.statistic, ks.p);
	well = r.first.counts.wrong == 0;
	free(r.first.left);
	free(r.gap);
	free(r.work);
	return well ? 0 : 1;
}
