/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"

/*
 * Who a client is: the client identifier and the user name of its CONNECT, in one block of
 * reassembly memory: the identifier, and, with BP_SESSION_USER, two bytes of length and the user
 * name. Without memory both remain unknown.
 */
#define LENGTH 2u

static void keep(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *id, uint16_t id_len,
	const uint8_t *user, uint16_t user_len)
{
	const uint32_t bytes = id_len + (user != NULL ? LENGTH + user_len : 0);
	bp_reassembly_ref block = 0;
	uint8_t *p;

	f->session &= (uint8_t) ~(BP_SESSION_NO_ID | BP_SESSION_USER);
	if (bytes != 0) {
		block = bp_flow_alloc(in, f, bytes);
		if (block == 0)
			f->session |= BP_SESSION_NO_ID;
	}
	if (block != 0) {
		p = bp_reassembly_data(in->reassembly, block);
		if (id_len != 0)
			memcpy(p, id, id_len);
		if (user != NULL) {
			p[id_len] = (uint8_t)(user_len >> 8);
			p[id_len + 1] = (uint8_t)user_len;
			memcpy(p + id_len + LENGTH, user, user_len);
			f->session |= BP_SESSION_USER;
		}
	}
	/* the new texts may have been part of the old block */
	bp_flow_release(in, f, f->client_id);
	f->client_id = block;
	f->client_id_len = block != 0 ? id_len : 0;
}

void bp_mqtt_keep_identity(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c)
{
	keep(in, f, c->client_id, c->client_id_len, c->user, c->user_len);
}

void bp_mqtt_keep_client_id(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *id, uint16_t n)
{
	uint16_t user_len;
	const uint8_t *user = bp_mqtt_user(in, f, &user_len);

	keep(in, f, id, n, user, user_len);
}

const uint8_t *bp_mqtt_user(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint16_t *len)
{
	const uint64_t at = f->client_id_len;
	uint64_t size;
	uint8_t *p;

	*len = 0;
	if (!(f->session & BP_SESSION_USER) || f->client_id == 0)
		return NULL;
	size = bp_reassembly_size(in->reassembly, f->client_id);
	p = bp_reassembly_data(in->reassembly, f->client_id);
	/* the block may be of an earlier process, and damaged */
	if (size < at + LENGTH || bp_be16(p + at) > size - at - LENGTH)
		return NULL;
	*len = bp_be16(p + at);
	return p + at + LENGTH;
}
