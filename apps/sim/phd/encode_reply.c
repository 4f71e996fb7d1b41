/* SPDX-License-Identifier: BSD-3-Clause */
/* Responses of an agent. */
#include <string.h>

#include "apps/sim/phd/codes.h"
#include "apps/sim/phd/encode.h"

static void put_string(struct sim_out *out, const char *text)
{
	size_t string = sim_open(out);

	sim_put(out, text, strlen(text));
	if (strlen(text) % 2 != 0)
		sim_put_u8(out, 0); /* strings have an even length */
	sim_close(out, string);
}

void sim_put_mds(
	struct sim_out *out, const struct sim_options *o, uint64_t system_id, uint16_t invoke)
{
	size_t apdu, prst, data, value;
	size_t attributes, specs;

	sim_put_u16(out, SIM_PRST);
	apdu = sim_open(out);
	prst = sim_open(out);
	sim_put_u16(out, invoke);
	sim_put_u16(out, SIM_RORS_GET);
	data = sim_open(out);
	sim_put_u16(out, 0);
	attributes = sim_open_list(out, 4);
	sim_put_u16(out, SIM_ATTR_SYS_ID);
	value = sim_open(out);
	sim_put_system_id(out, system_id);
	sim_close(out, value);
	sim_put_u16(out, SIM_ATTR_ID_MODEL);
	value = sim_open(out);
	put_string(out, "biplane simulator");
	put_string(out, o->kind->name);
	sim_close(out, value);
	sim_put_u16(out, SIM_ATTR_DEV_CONFIG_ID);
	sim_put_u16(out, 2);
	sim_put_u16(out, sim_config_of(o)->id);
	sim_put_u16(out, SIM_ATTR_SYS_TYPE_SPEC_LIST);
	value = sim_open(out);
	specs = sim_open_list(out, 1);
	sim_put_u16(out, o->kind->spec);
	sim_put_u16(out, 1); /* version of the specialisation */
	sim_close(out, specs);
	sim_close(out, value);
	sim_close(out, attributes);
	sim_close(out, data);
	sim_close(out, prst);
	sim_close(out, apdu);
}

/* A response with a code, and an empty parameter if there is one. */
static void put_refusal(
	struct sim_out *out, uint16_t invoke, uint16_t choice, uint16_t code, bool parameter)
{
	uint16_t body = parameter ? 4 : 2;

	sim_put_u16(out, SIM_PRST);
	sim_put_u16(out, (uint16_t)(body + 8));
	sim_put_u16(out, (uint16_t)(body + 6));
	sim_put_u16(out, invoke);
	sim_put_u16(out, choice);
	sim_put_u16(out, body);
	sim_put_u16(out, code);
	if (parameter)
		sim_put_u16(out, 0);
}

void sim_put_roer(struct sim_out *out, uint16_t invoke, uint16_t error)
{
	put_refusal(out, invoke, SIM_ROER, error, true);
}

void sim_put_rorj(struct sim_out *out, uint16_t invoke, uint16_t problem)
{
	put_refusal(out, invoke, SIM_RORJ, problem, false);
}

void sim_put_reason(struct sim_out *out, uint16_t apdu, uint16_t reason)
{
	sim_put_u16(out, apdu);
	sim_put_u16(out, 2);
	sim_put_u16(out, reason);
}
