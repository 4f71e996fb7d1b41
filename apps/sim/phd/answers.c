/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the manager, and the reactions of the agent. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <stdio.h>

#include "apps/sim/phd/codes.h"
#include "apps/sim/phd/encode.h"
#include "apps/sim/phd/sim.h"

static void unreadable(struct sim *s, const struct sim_device *d, const uint8_t *p, size_t len)
{
	char hex[129] = "";

	s->counts.unreadable++;
	for (size_t i = 0; i < len && i < 64; i++)
		snprintf(hex + 2 * i, sizeof(hex) - 2 * i, "%02x", p[i]);
	sim_log(s, d, "unreadable", ",\"bytes\":%zu,\"hex\":\"%s\"", len, hex);
}

/* Rejected for now: later and later. */
static void later(struct sim *s, struct sim_device *d)
{
	if (d->refusals < 5)
		d->refusals++;
	sim_unassociated(s, d, s->o.reconnect_ns << (d->refusals - 1));
}

static void aare(struct sim *s, struct sim_device *d, struct sim_in *body)
{
	uint16_t result = sim_take_u16(body);

	/* A repeated request gets two responses. */
	if (d->state != SIM_ASSOCIATING) {
		sim_log(s, d, "late-aare", ",\"result\":%u", result);
		s->counts.late_answers++;
		return;
	}
	sim_log(s, d, "aare", ",\"result\":%u", result);
	if (result == SIM_ACCEPTED) {
		sim_operate(s, d);
	} else if (result == SIM_ACCEPTED_UNKNOWN_CONFIG) {
		sim_configure(s, d);
	} else {
		s->counts.rejected++;
		if (result == SIM_REJECTED_TRANSIENT)
			later(s, d);
		else
			sim_done(s, d);
	}
}

static void config_answer(struct sim *s, struct sim_device *d, struct sim_in *info)
{
	uint16_t id = sim_take_u16(info), result = sim_take_u16(info);

	sim_log(s, d, "config-answer", ",\"config\":%u,\"result\":%u", id, result);
	if (info->bad || id != sim_config_of(&s->o)->id) {
		s->counts.unreadable++;
		return;
	}
	if (result == SIM_CONFIG_ACCEPTED) {
		s->counts.configurations++;
		sim_operate(s, d);
	} else if (result == SIM_CONFIG_STANDARD_UNKNOWN && s->o.brief && !d->full_config) {
		d->full_config = true;
		sim_configure(s, d);
	} else {
		s->counts.rejected++;
		sim_send_reason(s, d, SIM_RLRQ, SIM_RELEASE_NO_MORE_CONFIGS);
		sim_done(s, d);
	}
}

static void waited(struct sim *s, const struct sim_device *d)
{
	struct sim_counts *c = &s->counts;
	uint64_t ns = s->now_ns - d->began_ns;

	if (c->answered == 0 || ns < c->wait_min_ns)
		c->wait_min_ns = ns;
	if (ns > c->wait_max_ns)
		c->wait_max_ns = ns;
	c->wait_sum_ns += ns;
	c->answered++;
}

/* Whether a report waits for an answer with this number. */
static bool expected(struct sim *s, struct sim_device *d, uint16_t invoke)
{
	if (d->state == SIM_OPERATING && d->pending && d->report_invoke == invoke)
		return true;
	s->counts.late_answers++;
	sim_log(s, d, "late-answer", ",\"invoke\":%u", invoke);
	return false;
}

static void log_answer(struct sim *s, const struct sim_device *d, const char *kind, uint16_t code)
{
	sim_log(s, d, "answer",
		",\"invoke\":%u,\"report\":%u,\"kind\":\"%s\",\"code\":%u,\"tries\":%u,\"ms\":%.3f",
		d->report_invoke, d->report_no, kind, code, d->tries,
		(double)(s->now_ns - d->began_ns) / 1e6);
}

static void event_answer(struct sim *s, struct sim_device *d, uint16_t invoke, struct sim_in *body)
{
	uint16_t handle = sim_take_u16(body), type;
	struct sim_in info;

	sim_take_u32(body);
	type = sim_take_u16(body);
	info = sim_take(body, sim_take_u16(body));
	if (body->bad || info.bad || handle != 0) {
		s->counts.unreadable++;
		sim_log(s, d, "wrong-answer", ",\"invoke\":%u,\"type\":%u", invoke, type);
		return;
	}
	if (type == SIM_NOTI_CONFIG && d->state == SIM_CONFIGURING && invoke == d->invoke) {
		config_answer(s, d, &info);
		return;
	}
	if (!expected(s, d, invoke))
		return;
	if (type != SIM_NOTI_SCAN_FIXED + d->report_type) {
		s->counts.unreadable++;
		sim_log(s, d, "wrong-answer", ",\"invoke\":%u,\"type\":%u", invoke, type);
		return;
	}
	log_answer(s, d, "rors", 0);
	waited(s, d);
	sim_settled(s, d);
}

/* An error (ROER) or a rejection (RORJ). After a temporary one the report remains pending. */
static void refusal(
	struct sim *s, struct sim_device *d, uint16_t choice, uint16_t invoke, struct sim_in *body)
{
	uint16_t code = sim_take_u16(body);

	if (d->state == SIM_CONFIGURING && invoke == d->invoke) {
		sim_log(s, d, "config-refused", ",\"choice\":%u,\"code\":%u", choice, code);
		s->counts.rejected++;
		sim_abort(s, d, SIM_ABORT_UNDEFINED);
		sim_done(s, d);
		return;
	}
	if (!expected(s, d, invoke))
		return;
	log_answer(s, d, choice == SIM_ROER ? "roer" : "rorj", code);
	if (choice == SIM_RORJ && code == SIM_RESOURCE_LIMITATION) {
		s->counts.later++;
		return;
	}
	s->counts.refused++;
	sim_settled(s, d);
}

/* The manager asks for something. */
static void operation(
	struct sim *s, struct sim_device *d, uint16_t choice, uint16_t invoke, struct sim_in *body)
{
	uint8_t bytes[256];
	struct sim_out out = {bytes, sizeof(bytes), 0, false};

	sim_log(s, d, "asked", ",\"invoke\":%u,\"choice\":%u", invoke, choice);
	if (choice == SIM_ROIV_GET && sim_take_u16(body) != 0)
		sim_put_roer(&out, invoke, SIM_NO_SUCH_OBJECT);
	else if (choice == SIM_ROIV_GET)
		sim_put_mds(&out, &s->o, d->system_id, invoke);
	else if (choice == SIM_ROIV_ACTION || choice == SIM_ROIV_ACTION_CONFIRMED)
		sim_put_roer(&out, invoke, SIM_NO_SUCH_ACTION);
	else
		sim_put_rorj(&out, invoke, SIM_UNRECOGNIZED_OPERATION);
	sim_net_send(s, d, bytes, out.len);
}

static void data(struct sim *s, struct sim_device *d, struct sim_in *prst)
{
	uint16_t invoke = sim_take_u16(prst), choice = sim_take_u16(prst);
	struct sim_in body = sim_take(prst, sim_take_u16(prst));

	if (prst->bad || prst->len != 0) {
		unreadable(s, d, prst->p, prst->len);
		return;
	}
	if (d->state != SIM_CONFIGURING && d->state != SIM_OPERATING) {
		s->counts.late_answers++;
		sim_log(s, d, "late-answer", ",\"invoke\":%u", invoke);
		return;
	}
	if (choice == SIM_RORS_EVENT)
		event_answer(s, d, invoke, &body);
	else if (choice == SIM_ROER || choice == SIM_RORJ)
		refusal(s, d, choice, invoke, &body);
	else
		operation(s, d, choice, invoke, &body);
}

static void on_release_request(struct sim *s, struct sim_device *d)
{
	sim_log(s, d, "release", ",\"by\":\"manager\"");
	sim_send_reason(s, d, SIM_RLRE, SIM_RELEASE_NORMAL);
	if (d->state != SIM_RELEASING && d->state != SIM_IDLE)
		sim_unassociated(s, d, s->o.reconnect_ns);
}

static void released(struct sim *s, struct sim_device *d)
{
	if (d->state != SIM_RELEASING)
		return;
	s->counts.released++;
	sim_log(s, d, "released", "%s", "");
	sim_done(s, d);
}

static void aborted(struct sim *s, struct sim_device *d, uint16_t reason)
{
	s->counts.aborted++;
	sim_log(s, d, "abort", ",\"by\":\"manager\",\"reason\":%u", reason);
	if (d->state == SIM_RELEASING)
		sim_done(s, d);
	else if (d->state != SIM_IDLE)
		sim_unassociated(s, d, s->o.reconnect_ns);
}

/* A whole APDU. */
static void received(struct sim *s, struct sim_device *d, const uint8_t *p, size_t len)
{
	struct sim_in in = {p, len, false};
	uint16_t choice = sim_take_u16(&in);
	struct sim_in body = sim_take(&in, sim_take_u16(&in)), prst;

	if (d->state == SIM_DONE)
		return;
	if (in.bad || in.len != 0 || body.len < 2) {
		unreadable(s, d, p, len);
		return;
	}
	switch (choice) {
	case SIM_AARE:
		aare(s, d, &body);
		break;
	case SIM_RLRQ:
		on_release_request(s, d);
		break;
	case SIM_RLRE:
		released(s, d);
		break;
	case SIM_ABRT:
		aborted(s, d, sim_take_u16(&body));
		break;
	case SIM_PRST:
		prst = sim_take(&body, sim_take_u16(&body));
		if (body.bad || body.len != 0)
			unreadable(s, d, p, len);
		else
			data(s, d, &prst);
		break;
	default: /* an association request among them: no manager sends it */
		unreadable(s, d, p, len);
		break;
	}
}

/* ---- sockets ---- */

static void receive_datagrams(struct sim *s, struct sim_device *d)
{
	uint8_t p[SIM_INPUT_MAX];
	ssize_t n;

	while (d->fd >= 0 && ((n = recv(d->fd, p, sizeof(p), 0)) >= 0 || errno == ECONNREFUSED)) {
		if (n < 0)
			continue;
		if (s->o.loss > 0 && sim_random(s) < s->o.loss)
			s->counts.lost_in++;
		else
			received(s, d, p, (size_t)n);
	}
}

/* Processes the complete received APDUs; false if one is invalid. */
static bool take_apdus(struct sim *s, struct sim_device *d)
{
	size_t at = 0;
	int fd = d->fd;

	while (d->input_len - at >= 4) {
		size_t len = 4u + (size_t)(d->input[at + 2] << 8 | d->input[at + 3]);

		if (len > SIM_INPUT_MAX)
			return false;
		if (d->input_len - at < len)
			break;
		received(s, d, d->input + at, len);
		if (d->fd != fd)
			return true; /* it closed the connection */
		at += len;
	}
	d->input_len -= at;
	memmove(d->input, d->input + at, d->input_len);
	return true;
}

static void receive_stream(struct sim *s, struct sim_device *d)
{
	while (d->fd >= 0) {
		ssize_t n = recv(d->fd, d->input + d->input_len, SIM_INPUT_MAX - d->input_len, 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n > 0)
			d->input_len += (size_t)n;
		if (n <= 0 || !take_apdus(s, d)) {
			sim_device_disconnected(s, d);
			return;
		}
	}
}

static void writable(struct sim *s, struct sim_device *d)
{
	sim_net_flush(s, d);
	if (d->state == SIM_CONNECTING)
		sim_device_connected(s, d);
}

void sim_net_event(struct sim *s, struct sim_device *d, uint32_t events)
{
	if (d->fd < 0)
		return;
	if (!s->o.tcp) {
		receive_datagrams(s, d);
		return;
	}
	if (d->state == SIM_CONNECTING && (events & (EPOLLERR | EPOLLHUP)) != 0) {
		sim_device_disconnected(s, d);
		return;
	}
	if ((events & EPOLLOUT) != 0)
		writable(s, d);
	if (d->fd >= 0 && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
		receive_stream(s, d);
}
