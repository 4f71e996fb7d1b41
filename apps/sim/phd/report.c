/* SPDX-License-Identifier: BSD-3-Clause */
/* One report after the other: made, sent, repeated, answered or given up. */
#include <inttypes.h>
#include <time.h>

#include "apps/sim/phd/codes.h"
#include "apps/sim/phd/encode.h"
#include "apps/sim/phd/sim.h"

#define NS UINT64_C(1000000000)

static void log_values(struct sim *s, const struct sim_measurement *m)
{
	const char *comma = "";

	fputs(",\"values\":[", s->log);
	for (unsigned i = 0; i < m->n; i++) {
		const struct sim_observation *v = &m->of[i];
		const struct sim_object *o = v->object;

		fprintf(s->log, "%s{\"handle\":%u,\"code\":\"%u:%u\",\"unit\":%u,\"raw\":\"%0*x\"",
			comma, o->handle, o->partition, o->code, o->unit,
			o->value == SIM_SFLOAT ? 4 : 8, v->raw);
		if (v->special != NULL)
			fprintf(s->log, ",\"value\":null,\"why\":\"%s\"", v->special);
		else
			fprintf(s->log, ",\"value\":\"%s\"", v->text);
		if (sim_config_of(&s->o)->stamp)
			fprintf(s->log, ",\"stamp\":\"%s\"", m->stamp_text);
		if (v->person != 0)
			fprintf(s->log, ",\"person\":%u", v->person);
		if (o->active_period)
			fprintf(s->log, ",\"active\":%u", v->active_s);
		if (m->doubtful)
			fputs(",\"status\":\"questionable\"", s->log);
		fputs("}", s->log);
		comma = ",";
	}
	fputs("]", s->log);
}

static void log_report(struct sim *s, const struct sim_device *d, const struct sim_measurement *m)
{
	static const char *const kinds[] = {"fixed", "var", "mp-fixed", "mp-var"};

	if (s->log == NULL)
		return;
	sim_log_begin(s, d, "report");
	fprintf(s->log, ",\"number\":%" PRIu64 ",\"invoke\":%u,\"report\":%u,\"kind\":\"%s\"",
		m->number, d->report_invoke, d->report_no, kinds[m->report]);
	fprintf(s->log, ",\"confirmed\":%s", s->o.confirmed ? "true" : "false");
	log_values(s, m);
	fputs("}\n", s->log);
}

static uint64_t unix_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static void next(struct sim *s, struct sim_device *d)
{
	uint64_t period = s->o.rate > 0 ? (uint64_t)(s->o.count / s->o.rate * (double)NS) : 0;

	d->report_ns += period;
	sim_heap_moved(s, d);
}

void sim_report_send(struct sim *s, struct sim_device *d)
{
	struct sim_out out = {d->report, sizeof(d->report), 0, false};
	struct sim_measurement m;

	sim_measure(&m, &s->o, d->index, d->measured++, unix_ns());
	d->report_invoke = ++d->invoke;
	sim_put_report(
		&out, sim_config_of(&s->o), &m, s->o.confirmed, d->report_invoke, ++d->report_no);
	d->report_len = out.len;
	d->report_type = m.report;
	s->counts.reports++;
	s->counts.observations += m.n;
	log_report(s, d, &m);
	sim_net_send(s, d, d->report, d->report_len);
	if (s->o.confirmed) {
		d->pending = true;
		d->tries = 1;
		d->began_ns = s->now_ns;
		d->due_ns = s->now_ns + s->o.timeout_ns;
	}
	next(s, d);
}

void sim_report_repeat(struct sim *s, struct sim_device *d)
{
	d->tries++;
	s->counts.repeats++;
	sim_log(s, d, "repeat", ",\"invoke\":%u,\"report\":%u,\"try\":%u", d->report_invoke,
		d->report_no, d->tries);
	sim_net_send(s, d, d->report, d->report_len);
	d->due_ns = s->now_ns + s->o.timeout_ns;
	sim_heap_moved(s, d);
}

/* The manager doesn't answer a report: the standard ends the association. */
void sim_report_give_up(struct sim *s, struct sim_device *d)
{
	s->counts.given_up++;
	sim_log(s, d, "given-up", ",\"invoke\":%u,\"report\":%u", d->report_invoke, d->report_no);
	d->pending = false;
	sim_abort(s, d, SIM_ABORT_RESPONSE);
	sim_unassociated(s, d, s->o.again_ns);
}

void sim_settled(struct sim *s, struct sim_device *d)
{
	d->pending = false;
	d->due_ns = SIM_NEVER;
	if (d->report_ns < s->now_ns)
		d->report_ns = s->now_ns; /* late: what was missed is not made up for */
	sim_heap_moved(s, d);
	sim_device_go_on(s, d);
}
