/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent's state machine (20601, 8.4): its own actions. Its responses are in answers.c. */
#include <inttypes.h>
#include <time.h>

#include "apps/sim/phd/codes.h"
#include "apps/sim/phd/encode.h"
#include "apps/sim/phd/sim.h"

#define NS UINT64_C(1000000000)

/* ---- sent messages ---- */

void sim_send_reason(struct sim *s, struct sim_device *d, uint16_t apdu, uint16_t reason)
{
	uint8_t bytes[6];
	struct sim_out out = {bytes, sizeof(bytes), 0, false};

	sim_put_reason(&out, apdu, reason);
	sim_net_send(s, d, bytes, out.len);
}

void sim_abort(struct sim *s, struct sim_device *d, uint16_t reason)
{
	s->counts.aborts_sent++;
	sim_log(s, d, "abort", ",\"by\":\"device\",\"reason\":%u", reason);
	sim_send_reason(s, d, SIM_ABRT, reason);
}

static struct sim_out apdu_begin(struct sim_device *d)
{
	return (struct sim_out){d->signal, sizeof(d->signal), 0, false};
}

/* Sends a message that is repeated until it is answered. */
static void send_signal(struct sim *s, struct sim_device *d, size_t len, uint64_t timeout_ns)
{
	d->signal_len = len;
	d->tries = 1;
	sim_net_send(s, d, d->signal, len);
	d->due_ns = s->now_ns + timeout_ns;
	sim_heap_moved(s, d);
}

bool sim_may_repeat(const struct sim *s, const struct sim_device *d)
{
	return s->o.retries == 0 || d->tries <= s->o.retries;
}

/* ---- reports: created, sent, repeated, answered or abandoned ---- */

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

static void schedule_next(struct sim *s, struct sim_device *d)
{
	uint64_t period = s->o.rate > 0 ? (uint64_t)(s->o.count / s->o.rate * (double)NS) : 0;

	d->report_ns += period;
	sim_heap_moved(s, d);
}

static void report_send(struct sim *s, struct sim_device *d)
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
	schedule_next(s, d);
}

static void report_repeat(struct sim *s, struct sim_device *d)
{
	d->tries++;
	s->counts.repeats++;
	sim_log(s, d, "repeat", ",\"invoke\":%u,\"report\":%u,\"try\":%u", d->report_invoke,
		d->report_no, d->tries);
	sim_net_send(s, d, d->report, d->report_len);
	d->due_ns = s->now_ns + s->o.timeout_ns;
	sim_heap_moved(s, d);
}

/* The manager does not answer a report: the standard ends the association. */
static void report_give_up(struct sim *s, struct sim_device *d)
{
	s->counts.given_up++;
	sim_log(s, d, "given-up", ",\"invoke\":%u,\"report\":%u", d->report_invoke, d->report_no);
	d->pending = false;
	sim_abort(s, d, SIM_ABORT_RESPONSE);
	sim_unassociated(s, d, s->o.reconnect_ns);
}

/* ---- beginning ---- */

static void associate(struct sim *s, struct sim_device *d)
{
	struct sim_out out = apdu_begin(d);

	d->state = SIM_ASSOCIATING;
	sim_put_aarq(&out, &s->o, d->system_id);
	send_signal(s, d, out.len, s->o.association_timeout_ns);
}

static void begin(struct sim *s, struct sim_device *d)
{
	if (s->stopping && !d->pending) {
		sim_done(s, d);
		return;
	}
	if (d->fd < 0)
		sim_net_open(s, d);
	if (!s->o.tcp) {
		associate(s, d);
		return;
	}
	d->state = SIM_CONNECTING;
	d->due_ns = s->now_ns + s->o.association_timeout_ns;
	sim_heap_moved(s, d);
}

void sim_device_begin(struct sim *s, struct sim_device *d, unsigned index)
{
	d->index = index;
	d->system_id = s->o.system_id + index;
	d->fd = -1;
	d->state = SIM_IDLE;
	d->due_ns = s->now_ns + (uint64_t)((double)index / s->o.associations * (double)NS);
	d->report_ns = SIM_NEVER;
	sim_heap_moved(s, d);
}

void sim_device_connected(struct sim *s, struct sim_device *d)
{
	associate(s, d);
}

void sim_configure(struct sim *s, struct sim_device *d)
{
	struct sim_out out = apdu_begin(d);

	d->state = SIM_CONFIGURING;
	sim_put_config(&out, sim_config_of(&s->o), ++d->invoke, s->o.brief && !d->full_config);
	send_signal(s, d, out.len, s->o.timeout_ns);
}

void sim_operate(struct sim *s, struct sim_device *d)
{
	double period = s->o.rate > 0 ? s->o.count / s->o.rate * (double)NS : 0;

	s->counts.associations++;
	d->refusals = 0;
	d->state = SIM_OPERATING;
	d->due_ns = SIM_NEVER;
	/* The devices send in turn. */
	d->report_ns = s->now_ns + (uint64_t)(period * d->index / s->o.count);
	if (d->pending) {
		sim_log(s, d, "again", ",\"invoke\":%u,\"report\":%u", d->report_invoke,
			d->report_no);
		d->tries = 0;
		d->due_ns = s->now_ns;
	}
	sim_heap_moved(s, d);
	sim_device_go_on(s, d);
}

/* ---- ending ---- */

static void release(struct sim *s, struct sim_device *d)
{
	struct sim_out out = apdu_begin(d);

	d->report_ns = SIM_NEVER;
	if (s->o.no_release) {
		sim_done(s, d);
		return;
	}
	d->state = SIM_RELEASING;
	sim_put_reason(&out, SIM_RLRQ, SIM_RELEASE_NORMAL);
	send_signal(s, d, out.len, s->o.timeout_ns);
}

static bool all_measured(const struct sim *s, const struct sim_device *d)
{
	return s->stopping || (s->o.reports != 0 && d->measured >= s->o.reports);
}

void sim_device_go_on(struct sim *s, struct sim_device *d)
{
	if (d->state != SIM_OPERATING || d->pending)
		return;
	if (!all_measured(s, d)) {
		if (d->report_ns <= s->now_ns)
			report_send(s, d);
		return;
	}
	d->report_ns = SIM_NEVER;
	if (s->o.stay_associated && !s->stopping)
		sim_heap_moved(s, d);
	else
		release(s, d);
}

void sim_done(struct sim *s, struct sim_device *d)
{
	if (d->state == SIM_DONE)
		return;
	sim_net_close(s, d);
	d->state = SIM_DONE;
	d->due_ns = d->report_ns = SIM_NEVER;
	sim_heap_moved(s, d);
	s->done++;
}

void sim_unassociated(struct sim *s, struct sim_device *d, uint64_t wait_ns)
{
	if (s->o.tcp)
		sim_net_close(s, d);
	d->report_ns = SIM_NEVER;
	d->full_config = false;
	if (all_measured(s, d) && !d->pending) {
		sim_done(s, d);
		return;
	}
	d->state = SIM_IDLE;
	d->due_ns = s->now_ns + wait_ns;
	sim_heap_moved(s, d);
}

void sim_device_disconnected(struct sim *s, struct sim_device *d)
{
	sim_log(s, d, "disconnected", "%s", "");
	if (d->state == SIM_RELEASING)
		sim_done(s, d);
	else
		sim_unassociated(s, d, s->o.reconnect_ns);
}

void sim_device_stop(struct sim *s, struct sim_device *d)
{
	if (d->state == SIM_OPERATING)
		sim_device_go_on(s, d);
	else if (d->state == SIM_IDLE && !d->pending)
		sim_done(s, d);
}

void sim_settled(struct sim *s, struct sim_device *d)
{
	d->pending = false;
	d->due_ns = SIM_NEVER;
	if (d->report_ns < s->now_ns)
		d->report_ns = s->now_ns; /* late: missed reports are not caught up */
	sim_heap_moved(s, d);
	sim_device_go_on(s, d);
}

/* ---- time ---- */

static void repeat_signal(struct sim *s, struct sim_device *d, uint64_t timeout_ns)
{
	d->tries++;
	s->counts.repeats++;
	sim_net_send(s, d, d->signal, d->signal_len);
	d->due_ns = s->now_ns + timeout_ns;
	sim_heap_moved(s, d);
}

static void overdue(struct sim *s, struct sim_device *d)
{
	switch (d->state) {
	case SIM_IDLE:
		begin(s, d);
		break;
	case SIM_CONNECTING:
		sim_device_disconnected(s, d);
		break;
	case SIM_ASSOCIATING:
		if (sim_may_repeat(s, d)) {
			repeat_signal(s, d, s->o.association_timeout_ns);
			break;
		}
		sim_log(s, d, "no-association", "%s", "");
		sim_abort(s, d, SIM_ABORT_UNDEFINED);
		sim_unassociated(s, d, s->o.reconnect_ns);
		break;
	case SIM_CONFIGURING:
		if (sim_may_repeat(s, d)) {
			repeat_signal(s, d, s->o.timeout_ns);
			break;
		}
		sim_abort(s, d, SIM_ABORT_CONFIG);
		sim_unassociated(s, d, s->o.reconnect_ns);
		break;
	case SIM_OPERATING:
		if (sim_may_repeat(s, d))
			report_repeat(s, d);
		else
			report_give_up(s, d);
		break;
	case SIM_RELEASING:
		if (sim_may_repeat(s, d) && d->tries <= 3) {
			repeat_signal(s, d, s->o.timeout_ns);
			break;
		}
		sim_abort(s, d, SIM_ABORT_RESPONSE);
		sim_done(s, d);
		break;
	case SIM_DONE:
		break;
	}
}

void sim_device_on_timer(struct sim *s, struct sim_device *d)
{
	if (d->due_ns <= s->now_ns)
		overdue(s, d);
	else
		sim_device_go_on(s, d);
}
