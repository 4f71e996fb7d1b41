/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/phd_apdu.h"

#include "proto/health/phd_fields.h"

#define HEADER 4u /* choice and length */

/* ---- lists of attributes ---- */

bool bp_phd_attribute_next(struct bp_phd_bytes *list, uint16_t *id, struct bp_phd_bytes *value)
{
	struct bp_phd_bytes at = *list;

	if (!bp_phd_take_u16(&at, id) || !bp_phd_take_bytes(&at, value))
		return false;
	*list = at;
	return true;
}

enum bp_phd_error bp_phd_attributes_prove(struct bp_phd_bytes entries, uint16_t n)
{
	struct bp_phd_bytes value;
	uint16_t id;

	for (; n != 0; n--) {
		if (entries.len == 0)
			return BP_PHD_E_COUNT;
		if (!bp_phd_attribute_next(&entries, &id, &value))
			return BP_PHD_E_LENGTH;
	}
	return entries.len == 0 ? BP_PHD_OK : BP_PHD_E_COUNT;
}

enum bp_phd_error bp_phd_attributes_read(
	struct bp_phd_bytes list, uint16_t *n, struct bp_phd_bytes *entries)
{
	struct bp_phd_bytes found;
	enum bp_phd_error e;
	uint16_t count;

	if (!bp_phd_take_list(&list, &count, &found) || list.len != 0)
		return BP_PHD_E_LENGTH;
	e = bp_phd_attributes_prove(found, count);
	if (e != BP_PHD_OK)
		return e;
	*n = count;
	*entries = found;
	return BP_PHD_OK;
}

/* ---- association ---- */

/* PhdAssociationInformation (A.8) */
static enum bp_phd_error read_association(struct bp_phd_bytes b, struct bp_phd_association *a)
{
	uint16_t n, counts;

	if (!bp_phd_take_u32(&b, &a->protocol_version) ||
		!bp_phd_take_u16(&b, &a->encoding_rules) ||
		!bp_phd_take_u32(&b, &a->nomenclature_version) ||
		!bp_phd_take_u32(&b, &a->functional_units) ||
		!bp_phd_take_u32(&b, &a->system_type) || !bp_phd_take_bytes(&b, &a->system_id) ||
		!bp_phd_take_u16(&b, &a->config_id) || !bp_phd_take_u16(&b, &a->data_req_flags) ||
		!bp_phd_take_u16(&b, &counts))
		return BP_PHD_E_LENGTH;
	a->init_agent = (uint8_t)(counts >> 8);
	a->init_manager = (uint8_t)counts;
	return bp_phd_attributes_read(b, &n, &a->options);
}

/* One entry of a data-proto list. */
static enum bp_phd_error read_protocol(struct bp_phd_bytes *list, struct bp_phd_apdu *out)
{
	struct bp_phd_association again;
	struct bp_phd_bytes info;
	enum bp_phd_error e;
	uint16_t id;

	if (!bp_phd_take_u16(list, &id) || !bp_phd_take_bytes(list, &info))
		return BP_PHD_E_LENGTH;
	if (id != BP_PHD_PROTOCOL_20601)
		return BP_PHD_OK;
	e = read_association(info, out->aarq.has_20601 ? &again : &out->aarq.info);
	out->aarq.has_20601 = true;
	return e;
}

static enum bp_phd_error read_aarq(struct bp_phd_bytes b, struct bp_phd_apdu *out)
{
	struct bp_phd_bytes list;

	out->aarq.has_20601 = false;
	if (!bp_phd_take_u32(&b, &out->aarq.version) ||
		!bp_phd_take_list(&b, &out->aarq.n_protocols, &list) || b.len != 0)
		return BP_PHD_E_LENGTH;
	for (uint16_t i = 0; i < out->aarq.n_protocols; i++) {
		enum bp_phd_error e = list.len != 0 ? read_protocol(&list, out) : BP_PHD_E_COUNT;

		if (e != BP_PHD_OK)
			return e;
	}
	return list.len == 0 ? BP_PHD_OK : BP_PHD_E_COUNT;
}

static enum bp_phd_error read_aare(struct bp_phd_bytes b, struct bp_phd_apdu *out)
{
	struct bp_phd_bytes info;

	if (!bp_phd_take_u16(&b, &out->aare.result) || !bp_phd_take_u16(&b, &out->aare.protocol) ||
		!bp_phd_take_bytes(&b, &info) || b.len != 0)
		return BP_PHD_E_LENGTH;
	out->aare.has_info = out->aare.protocol == BP_PHD_PROTOCOL_20601 && info.len != 0;
	return out->aare.has_info ? read_association(info, &out->aare.info) : BP_PHD_OK;
}

/* ---- presentation ---- */

static bool is_data_choice(uint16_t choice)
{
	switch (choice) {
	case BP_PHD_EVENT:
	case BP_PHD_EVENT_CONFIRMED:
	case BP_PHD_GET:
	case BP_PHD_SET:
	case BP_PHD_SET_CONFIRMED:
	case BP_PHD_ACTION:
	case BP_PHD_ACTION_CONFIRMED:
	case BP_PHD_RORS_EVENT:
	case BP_PHD_RORS_GET:
	case BP_PHD_RORS_SET:
	case BP_PHD_RORS_ACTION:
	case BP_PHD_ROER:
	case BP_PHD_RORJ:
		return true;
	default:
		return false;
	}
}

/*
 * Reads the fields for a response from the bytes after the header of a PRST; `b` holds the
 * available bytes within its length: this runs before the validation.
 */
static void peek_data(struct bp_phd_bytes b, struct bp_phd_apdu *out)
{
	uint16_t len;

	if (!bp_phd_take_u16(&b, &len))
		return;
	if (b.len > len)
		b.len = len;
	out->prst.choice = 0;
	out->invoke_id_known = bp_phd_take_u16(&b, &out->prst.invoke_id);
	bp_phd_take_u16(&b, &out->prst.choice);
}

static enum bp_phd_error read_prst(struct bp_phd_bytes b, struct bp_phd_apdu *out)
{
	struct bp_phd_bytes data;

	if (!bp_phd_take_bytes(&b, &data) || b.len != 0 ||
		!bp_phd_take_u16(&data, &out->prst.invoke_id) ||
		!bp_phd_take_u16(&data, &out->prst.choice))
		return BP_PHD_E_LENGTH;
	if (!is_data_choice(out->prst.choice))
		return BP_PHD_E_DATA_CHOICE;
	if (!bp_phd_take_bytes(&data, &out->prst.body) || data.len != 0)
		return BP_PHD_E_LENGTH;
	return BP_PHD_OK;
}

static enum bp_phd_error read_body(struct bp_phd_bytes b, struct bp_phd_apdu *out)
{
	switch (out->choice) {
	case BP_PHD_AARQ:
		return read_aarq(b, out);
	case BP_PHD_AARE:
		return read_aare(b, out);
	case BP_PHD_PRST:
		return read_prst(b, out);
	default: /* RLRQ, RLRE, ABRT */
		return bp_phd_take_u16(&b, &out->reason) && b.len == 0 ? BP_PHD_OK
								       : BP_PHD_E_LENGTH;
	}
}

static bool is_choice(uint16_t choice)
{
	return choice >= BP_PHD_AARQ && choice <= BP_PHD_PRST && (choice & 0xff) == 0;
}

enum bp_phd_error bp_phd_apdu_read(const uint8_t *p, size_t len, struct bp_phd_apdu *out)
{
	struct bp_phd_bytes b;

	out->choice = 0;
	out->invoke_id_known = false;
	if (len < HEADER)
		return BP_PHD_E_SHORT;
	out->choice = bp_be16(p);
	if (!is_choice(out->choice))
		return BP_PHD_E_CHOICE;
	b.p = p + HEADER;
	b.len = bp_be16(p + 2);
	if (len - HEADER < b.len)
		b.len = (uint16_t)(len - HEADER);
	if (out->choice == BP_PHD_PRST)
		peek_data(b, out);
	return len == bp_phd_apdu_size(p, len) ? read_body(b, out) : BP_PHD_E_LENGTH;
}

uint32_t bp_phd_apdu_size(const uint8_t *p, size_t len)
{
	return len < HEADER ? 0 : HEADER + bp_be16(p + 2);
}

/* ---- contents of a PRST ---- */

enum bp_phd_error bp_phd_event_read(struct bp_phd_bytes body, struct bp_phd_event_report *out)
{
	if (!bp_phd_take_u16(&body, &out->handle) || !bp_phd_take_u32(&body, &out->time) ||
		!bp_phd_take_u16(&body, &out->type) || !bp_phd_take_bytes(&body, &out->info) ||
		body.len != 0)
		return BP_PHD_E_LENGTH;
	return BP_PHD_OK;
}

enum bp_phd_error bp_phd_get_read(struct bp_phd_bytes body, struct bp_phd_get_reply *out)
{
	if (!bp_phd_take_u16(&body, &out->handle))
		return BP_PHD_E_LENGTH;
	return bp_phd_attributes_read(body, &out->n, &out->attributes);
}

enum bp_phd_error bp_phd_refusal_read(uint16_t choice, struct bp_phd_bytes body, uint16_t *code)
{
	struct bp_phd_bytes parameter;

	if (choice != BP_PHD_ROER && choice != BP_PHD_RORJ)
		return BP_PHD_E_FIELD;
	if (!bp_phd_take_u16(&body, code) ||
		(choice == BP_PHD_ROER && !bp_phd_take_bytes(&body, &parameter)) || body.len != 0)
		return BP_PHD_E_LENGTH;
	return BP_PHD_OK;
}

const char *bp_phd_error_text(enum bp_phd_error e)
{
	switch (e) {
	case BP_PHD_OK:
		return "no error";
	case BP_PHD_E_SHORT:
		return "shorter than the header of an APDU (4 bytes)";
	case BP_PHD_E_CHOICE:
		return "the first two bytes are not an APDU type";
	case BP_PHD_E_LENGTH:
		return "a length exceeds its container, or bytes are left over";
	case BP_PHD_E_COUNT:
		return "the count of a list differs from its entries";
	case BP_PHD_E_DATA_CHOICE:
		return "the PRST has an unknown operation";
	case BP_PHD_E_FIELD:
		return "a field has an invalid value";
	}
	return "unknown error of the 20601 codec";
}
