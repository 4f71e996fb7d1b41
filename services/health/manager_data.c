/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/manager_internal.h"

/* What comes in a PRST: event reports of the device, and its answers to our GET. */

/* What a PRST's invocation is answered with; nothing where it is not confirmed. */
struct call {
	const struct bp_phd_peer *from;
	uint16_t invoke_id;
	bool confirmed;
};

static void refuse(struct bp_phd_manager *m, const struct call *c, enum bp_phd_roer error)
{
	if (c->confirmed)
		bp_phd_reply_roer(m, c->from, c->invoke_id, error);
}

static void reject(struct bp_phd_manager *m, const struct call *c, enum bp_phd_rorj problem)
{
	if (c->confirmed)
		bp_phd_reply_rorj(m, c->from, c->invoke_id, problem);
}

/* ---- reports ---- */

static void accept(struct bp_phd_manager *m, const struct call *c, uint16_t type)
{
	uint8_t out[BP_PHD_RORS_EVENT_LEN];

	if (!c->confirmed)
		return;
	bp_phd_write_rors_event(out, c->invoke_id, 0, type);
	bp_phd_reply(m, c->from, out, sizeof(out));
}

/* A measurement that did not take the workers' way. */
static void scan_report(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	uint16_t type, const uint8_t *p, size_t len)
{
	bp_phd_idle_ends(m, slot);
	switch (m->ops->report(m->arg, slot, p, len)) {
	case BP_PHD_TAKEN:
		bp_phd_count(&m->counts->slow_taken);
		break;
	case BP_PHD_TAKEN_ANSWER:
		bp_phd_count(&m->counts->slow_taken);
		accept(m, c, type);
		bp_phd_session_at(m, slot)->unanswered = BP_PHD_ANSWER_WAITS;
		break;
	case BP_PHD_TAKEN_FULL:
		bp_phd_count(c->confirmed ? &m->counts->slow_refused : &m->counts->slow_lost);
		reject(m, c, BP_PHD_RESOURCE_LIMITATION);
		break;
	case BP_PHD_TAKEN_BAD:
		reject(m, c, BP_PHD_BADLY_STRUCTURED);
		break;
	case BP_PHD_TAKEN_NO_OBJECT:
		refuse(m, c, BP_PHD_NO_SUCH_OBJECT);
		break;
	case BP_PHD_TAKEN_UNFIT:
		reject(m, c, BP_PHD_UNEXPECTED_ERROR);
		break;
	}
}

/* A configuration report while operating: the same once more, whose answer was lost, or another,
 * which there is no rule for; the session stays. */
static void config_again(
	struct bp_phd_manager *m, uint32_t slot, const struct call *c, uint64_t hash)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	uint8_t out[BP_PHD_CONFIG_RSP_LEN];

	if (!c->confirmed || hash != s->config_hash) {
		bp_phd_reply_roer(m, c->from, c->invoke_id, BP_PHD_NOT_ALLOWED);
		return;
	}
	bp_phd_count(&m->counts->repeats);
	bp_phd_reply(m, c->from, out,
		bp_phd_write_config_rsp(
			out, sizeof(out), c->invoke_id, s->config_id, BP_PHD_CONFIG_ACCEPTED));
}

static bool is_scan(uint16_t type)
{
	return type >= BP_PHD_SCAN_FIXED && type <= BP_PHD_SCAN_MP_VAR;
}

static void event_operating(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	const struct bp_phd_event_report *e, const uint8_t *p, size_t len)
{
	if (e->handle != 0) /* scanners and stores: we made none */
		refuse(m, c, BP_PHD_NO_SUCH_OBJECT);
	else if (is_scan(e->type))
		scan_report(m, slot, c, e->type, p, len);
	else if (e->type == BP_PHD_CONFIG)
		config_again(m, slot, c, bp_phd_octets_hash(m, p, len));
	else
		refuse(m, c, BP_PHD_NO_SUCH_ACTION);
}

/* Rules 6.24, 6.25: only a confirmed configuration report is waited for. */
static void event_waiting(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	const struct bp_phd_event_report *e, const uint8_t *p, size_t len)
{
	if (c->confirmed && e->handle == 0 && e->type == BP_PHD_CONFIG)
		bp_phd_configured(
			m, slot, c->from, c->invoke_id, e->info, bp_phd_octets_hash(m, p, len));
	else
		bp_phd_reply_roer(m, c->from, c->invoke_id, BP_PHD_NOT_ALLOWED);
}

static void event(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	struct bp_phd_bytes body, const uint8_t *p, size_t len)
{
	struct bp_phd_event_report e;

	if (bp_phd_event_read(body, &e) != BP_PHD_OK) {
		bp_phd_count(&m->counts->undecodable);
		reject(m, c, BP_PHD_BADLY_STRUCTURED);
	} else if (bp_phd_state_at(m, slot) == BP_PHD_WAITING) {
		event_waiting(m, slot, c, &e, p, len);
	} else {
		event_operating(m, slot, c, &e, p, len);
	}
}

/* ---- answers ---- */

static void answered(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_apdu *a)
{
	struct bp_phd_get_reply reply;

	/* Too late, or to nothing: it changes nothing. */
	if (m->note[slot].waits != BP_PHD_WAIT_SERVICE ||
		a->prst.invoke_id != m->note[slot].invoke_id)
		return;
	if (a->prst.choice == BP_PHD_RORS_GET && bp_phd_get_read(a->prst.body, &reply) == BP_PHD_OK)
		bp_phd_mds_told(m, slot, &reply);
	else
		bp_phd_mds_told(m, slot, NULL);
}

void bp_phd_presented(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *from,
	const struct bp_phd_apdu *a, const uint8_t *p, size_t len)
{
	struct call c = {.from = from, .invoke_id = a->prst.invoke_id};

	if (bp_phd_state_at(m, slot) == BP_PHD_RELEASING) /* rule 9.21 */
		return;
	switch (a->prst.choice) {
	case BP_PHD_EVENT_CONFIRMED:
		c.confirmed = true;
		event(m, slot, &c, a->prst.body, p, len);
		break;
	case BP_PHD_EVENT:
		event(m, slot, &c, a->prst.body, p, len);
		break;
	case BP_PHD_GET:
	case BP_PHD_SET_CONFIRMED:
	case BP_PHD_ACTION_CONFIRMED: /* a manager has no objects */
		c.confirmed = true;
		refuse(m, &c, BP_PHD_NO_SUCH_OBJECT);
		break;
	case BP_PHD_SET:
	case BP_PHD_ACTION:
		break;
	default:
		answered(m, slot, a);
	}
}
