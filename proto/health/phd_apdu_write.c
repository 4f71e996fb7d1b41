/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/phd_apdu.h"

#include <string.h>

#include "proto/net/frame.h"

/* APDUs of a manager; constant bytes are copied from the standard. */

#define NO_TIME 0xffffffffu
#define PROTOCOL_INFO                                                                              \
	38u /* PhdAssociationInformation with 8 bytes of system-id and no options                  \
	     */
#define NOMENCLATURE_VERSION 0x80000000u
#define MANAGER 0x80000000u
#define MDER 0x8000

static uint8_t *put16(uint8_t *p, uint32_t v)
{
	bp_put_be16(p, (uint16_t)v);
	return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	bp_put_be32(p, v);
	return p + 4;
}

/* A PRST of `len` bytes in total, up to the body of its DATA. */
static uint8_t *put_prst(uint8_t *p, uint32_t len, uint16_t invoke, enum bp_phd_data choice)
{
	p = put16(p, BP_PHD_PRST);
	p = put16(p, len - 4);
	p = put16(p, len - 6);
	p = put16(p, invoke);
	p = put16(p, choice);
	return put16(p, len - 12);
}

static uint8_t *put_association(uint8_t *p, uint32_t protocol_version, const uint8_t system_id[8])
{
	p = put32(p, protocol_version);
	p = put16(p, MDER);
	p = put32(p, NOMENCLATURE_VERSION);
	p = put32(p, 0); /* functional units */
	p = put32(p, MANAGER);
	p = put16(p, 8);
	memcpy(p, system_id, 8);
	p = put16(p + 8, 0); /* configuration */
	p = put16(p, 0);     /* data request mode: flags */
	p = put16(p, 0);     /* and counts */
	return put32(p, 0);  /* no options */
}

size_t bp_phd_write_aare(uint8_t *out, size_t size, enum bp_phd_result r, uint32_t protocol_version,
	const uint8_t system_id[8])
{
	bool accepted = r == BP_PHD_ACCEPTED || r == BP_PHD_ACCEPTED_UNKNOWN_CONFIG;
	uint32_t len = BP_PHD_AARE_LEN - (accepted ? 0 : PROTOCOL_INFO);

	if (size < len)
		return 0;
	out = put16(out, BP_PHD_AARE);
	out = put16(out, len - 4);
	out = put16(out, r);
	out = put16(out, accepted ? BP_PHD_PROTOCOL_20601 : 0);
	out = put16(out, accepted ? PROTOCOL_INFO : 0);
	if (accepted)
		put_association(out, protocol_version, system_id);
	return len;
}

size_t bp_phd_write_simple(uint8_t *out, size_t size, enum bp_phd_choice c, uint16_t reason)
{
	if (size < BP_PHD_SIMPLE_LEN || (c != BP_PHD_RLRQ && c != BP_PHD_RLRE && c != BP_PHD_ABRT))
		return 0;
	out = put16(out, c);
	out = put16(out, 2);
	put16(out, reason);
	return BP_PHD_SIMPLE_LEN;
}

void bp_phd_write_rors_event(
	uint8_t out[BP_PHD_RORS_EVENT_LEN], uint16_t invoke, uint16_t handle, uint16_t type)
{
	out = put_prst(out, BP_PHD_RORS_EVENT_LEN, invoke, BP_PHD_RORS_EVENT);
	out = put16(out, handle);
	out = put32(out, NO_TIME);
	out = put16(out, type);
	put16(out, 0);
}

size_t bp_phd_write_config_rsp(
	uint8_t *out, size_t size, uint16_t invoke, uint16_t config_id, uint16_t result)
{
	if (size < BP_PHD_CONFIG_RSP_LEN)
		return 0;
	out = put_prst(out, BP_PHD_CONFIG_RSP_LEN, invoke, BP_PHD_RORS_EVENT);
	out = put16(out, 0); /* the MDS */
	out = put32(out, NO_TIME);
	out = put16(out, BP_PHD_CONFIG);
	out = put16(out, 4);
	out = put16(out, config_id);
	put16(out, result);
	return BP_PHD_CONFIG_RSP_LEN;
}

size_t bp_phd_write_roer(uint8_t *out, size_t size, uint16_t invoke, uint16_t error)
{
	if (size < BP_PHD_ROER_LEN)
		return 0;
	out = put_prst(out, BP_PHD_ROER_LEN, invoke, BP_PHD_ROER);
	out = put16(out, error);
	put16(out, 0); /* no parameter */
	return BP_PHD_ROER_LEN;
}

size_t bp_phd_write_rorj(uint8_t *out, size_t size, uint16_t invoke, uint16_t problem)
{
	if (size < BP_PHD_RORJ_LEN)
		return 0;
	out = put_prst(out, BP_PHD_RORJ_LEN, invoke, BP_PHD_RORJ);
	put16(out, problem);
	return BP_PHD_RORJ_LEN;
}

size_t bp_phd_write_get_mds(uint8_t *out, size_t size, uint16_t invoke)
{
	if (size < BP_PHD_GET_MDS_LEN)
		return 0;
	out = put_prst(out, BP_PHD_GET_MDS_LEN, invoke, BP_PHD_GET);
	out = put16(out, 0); /* the MDS */
	put32(out, 0);       /* no list of attributes: all */
	return BP_PHD_GET_MDS_LEN;
}
