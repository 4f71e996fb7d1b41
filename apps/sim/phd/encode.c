/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/phd/encode.h"

#include <string.h>

#include "apps/sim/phd/codes.h"

#define PROTOCOL_20601 0x5079
#define AGENT_INITIATED 0xf000
#define NO_TIME 0xffffffff

void sim_put_system_id(struct sim_out *o, uint64_t id)
{
	sim_put_u16(o, 8);
	sim_put_u32(o, (uint32_t)(id >> 32));
	sim_put_u32(o, (uint32_t)id);
}

void sim_put_aarq(struct sim_out *out, const struct sim_options *o, uint64_t system_id)
{
	size_t apdu, info;
	size_t protocols;

	sim_put_u16(out, SIM_AARQ);
	apdu = sim_open(out);
	sim_put_u32(out, 0x80000000); /* association version 1 */
	protocols = sim_open_list(out, 1);
	sim_put_u16(out, PROTOCOL_20601);
	info = sim_open(out);
	sim_put_u32(out, o->version_a ? 0xc0000000 : 0x80000000);
	sim_put_u16(out, 0x8000);     /* MDER */
	sim_put_u32(out, 0x80000000); /* nomenclature version 1 */
	sim_put_u32(out, 0);          /* functional units */
	sim_put_u32(out, 0x00800000); /* an agent */
	sim_put_system_id(out, system_id);
	sim_put_u16(out, sim_config_of(o)->id);
	sim_put_u16(out, 0x0001); /* the agent begins */
	sim_put_u8(out, 1);
	sim_put_u8(out, 0);
	sim_close(out, sim_open_list(out, 0));
	sim_close(out, info);
	sim_close(out, protocols);
	sim_close(out, apdu);
}

/* The head of a data APDU, from PRST to the information of the event. */
struct event {
	size_t apdu, prst, data, info;
};

static struct event event_open(struct sim_out *o, uint16_t invoke, bool confirmed, uint16_t type)
{
	struct event e;

	sim_put_u16(o, SIM_PRST);
	e.apdu = sim_open(o);
	e.prst = sim_open(o);
	sim_put_u16(o, invoke);
	sim_put_u16(o, confirmed ? SIM_ROIV_EVENT_CONFIRMED : SIM_ROIV_EVENT);
	e.data = sim_open(o);
	sim_put_u16(o, 0); /* the MDS */
	sim_put_u32(o, NO_TIME);
	sim_put_u16(o, type);
	e.info = sim_open(o);
	return e;
}

static void event_close(struct sim_out *o, struct event e)
{
	sim_close(o, e.info);
	sim_close(o, e.data);
	sim_close(o, e.prst);
	sim_close(o, e.apdu);
}

static void put_object(struct sim_out *out, const struct sim_config *c, const struct sim_object *o)
{
	size_t attributes, map;
	size_t value;

	sim_put_u16(out, SIM_CLASS_NUMERIC);
	sim_put_u16(out, o->handle);
	attributes = sim_open_list(out, o->unit != 0 ? 4 : 3);
	sim_put_u16(out, SIM_ATTR_ID_TYPE);
	sim_put_u16(out, 4);
	sim_put_u16(out, o->partition);
	sim_put_u16(out, o->code);
	sim_put_u16(out, SIM_ATTR_METRIC_SPEC_SMALL);
	sim_put_u16(out, 2);
	sim_put_u16(out, c->metric_spec);
	if (o->unit != 0) {
		sim_put_u16(out, SIM_ATTR_UNIT_CODE);
		sim_put_u16(out, 2);
		sim_put_u16(out, o->unit);
	}
	sim_put_u16(out, SIM_ATTR_VALUE_MAP);
	value = sim_open(out);
	map = sim_open_list(out, 1u + o->active_period + c->stamp);
	sim_put_u16(
		out, o->value == SIM_SFLOAT ? SIM_ATTR_NU_VAL_OBS_BASIC : SIM_ATTR_NU_VAL_OBS_SIMP);
	sim_put_u16(out, o->value == SIM_SFLOAT ? 2 : 4);
	if (o->active_period) {
		sim_put_u16(out, SIM_ATTR_TIME_PD_ACTIVE);
		sim_put_u16(out, 4);
	}
	if (c->stamp) {
		sim_put_u16(out, SIM_ATTR_TIME_STAMP_ABS);
		sim_put_u16(out, 8);
	}
	sim_close(out, map);
	sim_close(out, value);
	sim_close(out, attributes);
}

void sim_put_config(struct sim_out *out, const struct sim_config *c, uint16_t invoke, bool brief)
{
	struct event e = event_open(out, invoke, true, SIM_NOTI_CONFIG);
	size_t objects;

	sim_put_u16(out, c->id);
	objects = sim_open_list(out, brief ? 0 : c->n);
	for (unsigned i = 0; !brief && i < c->n; i++)
		put_object(out, c, &c->object[i]);
	sim_close(out, objects);
	event_close(out, e);
}

static void put_number(struct sim_out *out, const struct sim_observation *v)
{
	if (v->object->value == SIM_SFLOAT)
		sim_put_u16(out, (uint16_t)v->raw);
	else
		sim_put_u32(out, v->raw);
}

/* The bytes that the object's attribute-value-map announced. */
static void put_fixed(struct sim_out *out, const struct sim_config *c,
	const struct sim_measurement *m, const struct sim_observation *v)
{
	size_t data;

	sim_put_u16(out, v->object->handle);
	data = sim_open(out);
	put_number(out, v);
	if (v->object->active_period)
		sim_put_u32(out, v->active_s);
	if (c->stamp)
		sim_put(out, m->stamp, sizeof(m->stamp));
	sim_close(out, data);
}

static void put_var(struct sim_out *out, const struct sim_config *c,
	const struct sim_measurement *m, const struct sim_observation *v)
{
	size_t attributes;
	size_t value;

	sim_put_u16(out, v->object->handle);
	attributes = sim_open_list(out, 1u + m->doubtful + v->object->active_period + c->stamp);
	sim_put_u16(out, v->object->value == SIM_SFLOAT ? SIM_ATTR_NU_VAL_OBS_BASIC
							: SIM_ATTR_NU_VAL_OBS_SIMP);
	value = sim_open(out);
	put_number(out, v);
	sim_close(out, value);
	if (m->doubtful) {
		sim_put_u16(out, SIM_ATTR_MSMT_STAT);
		sim_put_u16(out, 2);
		sim_put_u16(out, 0x4000); /* questionable */
	}
	if (v->object->active_period) {
		sim_put_u16(out, SIM_ATTR_TIME_PD_ACTIVE);
		sim_put_u16(out, 4);
		sim_put_u32(out, v->active_s);
	}
	if (c->stamp) {
		sim_put_u16(out, SIM_ATTR_TIME_STAMP_ABS);
		sim_put_u16(out, sizeof(m->stamp));
		sim_put(out, m->stamp, sizeof(m->stamp));
	}
	sim_close(out, attributes);
}

/* Observations [from, to) as a list. */
static void put_observations(struct sim_out *out, const struct sim_config *c,
	const struct sim_measurement *m, unsigned from, unsigned to)
{
	size_t observations = sim_open_list(out, to - from);

	for (unsigned i = from; i < to; i++) {
		if (m->report == SIM_FIXED || m->report == SIM_MP_FIXED)
			put_fixed(out, c, m, &m->of[i]);
		else
			put_var(out, c, m, &m->of[i]);
	}
	sim_close(out, observations);
}

/* The persons' observations lie behind each other. */
static unsigned person_end(const struct sim_measurement *m, unsigned from)
{
	unsigned to = from;

	while (to < m->n && m->of[to].person == m->of[from].person)
		to++;
	return to;
}

static void put_persons(
	struct sim_out *out, const struct sim_config *c, const struct sim_measurement *m)
{
	unsigned persons = 0;
	size_t list;

	for (unsigned i = 0; i < m->n; i = person_end(m, i))
		persons++;
	list = sim_open_list(out, persons);
	for (unsigned i = 0; i < m->n; i = person_end(m, i)) {
		sim_put_u16(out, m->of[i].person);
		put_observations(out, c, m, i, person_end(m, i));
	}
	sim_close(out, list);
}

void sim_put_report(struct sim_out *out, const struct sim_config *c,
	const struct sim_measurement *m, bool confirmed, uint16_t invoke, uint16_t report_no)
{
	static const uint16_t types[] = {[SIM_FIXED] = SIM_NOTI_SCAN_FIXED,
		[SIM_VAR] = SIM_NOTI_SCAN_VAR,
		[SIM_MP_FIXED] = SIM_NOTI_SCAN_MP_FIXED,
		[SIM_MP_VAR] = SIM_NOTI_SCAN_MP_VAR};
	struct event e = event_open(out, invoke, confirmed, types[m->report]);

	sim_put_u16(out, AGENT_INITIATED);
	sim_put_u16(out, report_no);
	if (m->report == SIM_MP_FIXED || m->report == SIM_MP_VAR)
		put_persons(out, c, m);
	else
		put_observations(out, c, m, 0, m->n);
	event_close(out, e);
}
