/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/slow_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the client of the CSE ---- */

struct sent *sent;
unsigned n_sent, room;

bool bp_cse_has_capacity(const struct bp_cse_client *c)
{
	(void)c;
	return room > 0;
}

struct bp_cse_watch *watch;

void bp_cse_watch_capacity(struct bp_cse_client *c, struct bp_cse_watch *w)
{
	(void)c;
	watch = w;
}

enum bp_cse_sent bp_cse_send_message(
	struct bp_cse_client *c, const uint8_t *message, size_t len, bp_cse_done *done, void *arg)
{
	struct sent *s = &sent[n_sent];

	(void)c;
	if (room == 0)
		return BP_CSE_QUEUE_FULL;
	room--;
	assert_true(n_sent < SENT_MAX && len <= sizeof(s->bytes));
	memcpy(s->bytes, message, len);
	s->len = len;
	s->done = done;
	s->arg = arg;
	s->ended = false;
	n_sent++;
	return BP_CSE_TAKEN;
}

void end(unsigned i, enum bp_cse_end how, uint8_t code, uint16_t rsc)
{
	const struct bp_cse_reply reply = {.end = how, .m2m = {.code = code, .rsc = rsc}};

	assert_true(i < n_sent);
	assert_false(sent[i].ended);
	sent[i].ended = true;
	room++;
	sent[i].done(sent[i].arg, &reply);
}

void stored(unsigned i)
{
	end(i, BP_CSE_ANSWERED, BP_COAP_CODE(2, 1), BP_M2M_CREATED);
}

/* ---- what the manager would do ---- */

static void on_answer(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len)
{
	struct rig *r = arg;

	(void)life;
	assert_true(len <= sizeof(r->answer));
	memcpy(r->answer, apdu, len);
	r->answer_len = len;
	r->slot = slot;
	r->answers++;
}

void on_no_target(void *arg, uint32_t slot, uint16_t life)
{
	(void)slot;
	(void)life;
	((struct rig *)arg)->targets++;
}

uint32_t open_session(struct rig *r, uint32_t device, const struct bp_phd_model *m)
{
	return open_carrying(r, device, m, &(struct bp_phd_carried){0});
}

uint32_t open_carrying(struct rig *r, uint32_t device, const struct bp_phd_model *m,
	const struct bp_phd_carried *carried)
{
	struct bp_phd_layout *l =
		rig_compile(m, &r->x.t->control->plan, &rig_target, "pulse_oximeter");
	struct bp_phd_session_spec spec = phd_device(device);
	int layout = bp_phd_layout_get(r->x.w, l);
	uint32_t slot = 0;

	free(l);
	assert_true(layout >= 0);
	spec.state = BP_PHD_OPERATING;
	spec.layout = (uint16_t)layout;
	spec.associated_s = 1767225600;
	spec.reports = 0;
	spec.carried = *carried;
	if (carried->sent != 0)
		memcpy(spec.system_id, phd_device(1).system_id, sizeof(spec.system_id));
	assert_int_equal(bp_phd_session_open(r->x.w, &spec, &slot), 0);
	return slot;
}

static void on_idle(void *arg, uint32_t slot)
{
	struct rig *r = arg;

	assert_false(bp_slow_busy(r->s, slot));
	r->idle++;
}

static void make_slow(struct rig *r, uint32_t pending)
{
	const struct bp_slow_ops ops = {
		.answer = on_answer, .no_target = on_no_target, .idle = on_idle};

	r->s = bp_slow_new(r->x.t, NULL, pending, &ops, r);
	assert_non_null(r->s);
}

void start_with(struct rig *r, uint32_t pending, const struct bp_phd_settings *plan)
{
	memset(r, 0, sizeof(*r));
	phd_open(&r->x, 64, 16, 1);
	bp_phd_settings_publish(r->x.w, plan);
	n_sent = 0;
	room = SENT_MAX;
	sent = calloc(SENT_MAX, sizeof(*sent));
	assert_non_null(sent);
	make_slow(r, pending);
}

void start_again(struct rig *r, uint32_t pending)
{
	bp_slow_count(r->s, &r->n);
	assert_int_equal(r->n.pending, 0);
	bp_slow_free(r->s);
	make_slow(r, pending);
}

void start(struct rig *r)
{
	start_with(r, 16, &rig_plan);
}

void finish(struct rig *r)
{
	bp_slow_count(r->s, &r->n);
	assert_int_equal(r->n.pending, 0);
	bp_slow_free(r->s);
	phd_close(&r->x);
	free(sent);
}

enum bp_phd_taken report(struct rig *r, uint32_t slot, const char *id, uint64_t now)
{
	size_t len;
	uint8_t *apdu = rig_apdu(id, &len);
	enum bp_phd_taken t = bp_slow_report(r->s, slot, apdu, len, now);

	free(apdu);
	return t;
}

void answered(const struct rig *r, unsigned n, const char *hex)
{
	char text[129];

	assert_int_equal(r->answers, n);
	for (size_t i = 0; i < r->answer_len; i++)
		sprintf(text + 2 * i, "%02x", r->answer[i]);
	text[2 * r->answer_len] = '\0';
	assert_string_equal(text, hex);
}

struct bp_phd_session *session(const struct rig *r, uint32_t slot)
{
	return &r->x.t->sessions[slot];
}

uint32_t start_reported(struct rig *r)
{
	uint32_t slot;

	start(r);
	slot = open_session(r, 1, &rig_400);
	assert_int_equal(report(r, slot, "S02", SECOND), BP_PHD_TAKEN);
	return slot;
}
