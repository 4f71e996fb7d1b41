/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/connection_record.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"

/*
 * Who a client is: the client identifier and the user name of its CONNECT, in one block of
 * reassembly memory: the identifier, and, with BP_SESSION_USER, two bytes of length and the user
 * name. The length BP_USER_UNKNOWN, without a name, is that of a connection of another gateway that
 * does not know it. Without memory both remain unknown.
 */
#define LENGTH 2u

struct identity {
	const uint8_t *id, *user; /* user NULL: none, or unknown */
	uint16_t id_len, user_len;
	bool user_unknown;
};

static void put(uint8_t *p, const struct identity *who, bool has_user)
{
	const uint16_t len = who->user_unknown ? BP_USER_UNKNOWN : who->user_len;

	if (who->id_len != 0)
		memcpy(p, who->id, who->id_len);
	if (!has_user)
		return;
	p += who->id_len;
	p[0] = (uint8_t)(len >> 8);
	p[1] = (uint8_t)len;
	if (!who->user_unknown)
		memcpy(p + LENGTH, who->user, len);
}

static void keep(struct bp_mqtt_worker *in, struct bp_flow *f, const struct identity *who)
{
	const bool has_user = who->user_unknown || who->user != NULL;
	const uint32_t bytes =
		who->id_len + (has_user ? LENGTH + (who->user_unknown ? 0u : who->user_len) : 0);
	bp_reassembly_ref block = 0;

	f->session &= (uint8_t) ~(BP_SESSION_NO_ID | BP_SESSION_USER);
	if (bytes != 0) {
		/* the CONNECT, of which they are a part, may be held in memory itself */
		block = bp_flow_alloc_instead(in, f, bytes, f->reassembly[BP_TO_BROKER]);
		if (block == 0)
			f->session |= BP_SESSION_NO_ID;
	}
	if (block != 0) {
		put(bp_reassembly_data(in->reassembly, block), who, has_user);
		f->session |= has_user ? BP_SESSION_USER : 0;
	}
	/* the new texts may have been part of the old block */
	bp_flow_release(in, f, f->client_id);
	f->client_id = block;
	f->client_id_len = block != 0 ? who->id_len : 0;
}

void bp_mqtt_keep_identity(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c)
{
	keep(in, f,
		&(struct identity){.id = c->client_id,
			.id_len = c->client_id_len,
			.user = c->user,
			.user_len = c->user_len});
}

/* The user name that is kept, or that there is none, or that it is unknown. */
static void set_user(const struct bp_mqtt_worker *in, const struct bp_flow *f, struct identity *who)
{
	who->user = bp_mqtt_user(in, f, &who->user_len);
	who->user_unknown = who->user == NULL && (f->session & BP_SESSION_USER);
}

void bp_mqtt_keep_client_id(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *id, uint16_t n)
{
	struct identity who = {.id = id, .id_len = n};

	/* without memory for them, what the CONNECT had is unknown */
	if (f->session & BP_SESSION_NO_ID)
		who.user_unknown = true;
	else
		set_user(in, f, &who);
	keep(in, f, &who);
}

void bp_mqtt_adopt_identity(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_connection_record *r, bool connect)
{
	struct identity who = {.id = r->client_id, .id_len = r->client_id_len};

	/* what a search has kept may be of bytes that were no CONNECT */
	if (!connect || (f->session & BP_SESSION_NO_ID))
		who.user_unknown = f->flags & BP_FLOW_CONNECT;
	else
		set_user(in, f, &who);
	if (connect && who.id_len == 0 && f->client_id_len != 0) {
		who.id = bp_reassembly_data(in->reassembly, f->client_id);
		who.id_len = f->client_id_len;
	}
	if (r->user_state != BP_RECORD_USER_UNKNOWN) {
		who.user_unknown = false;
		who.user = r->user_state == BP_RECORD_USER_GIVEN ? r->user : NULL;
		who.user_len = r->user_len;
	}
	keep(in, f, &who);
	if (who.id_len == 0)
		f->session |= r->session & BP_SESSION_NO_ID;
}

const uint8_t *bp_mqtt_user(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint16_t *len)
{
	const uint64_t at = f->client_id_len;
	uint64_t size;
	uint16_t n;
	uint8_t *p;

	*len = 0;
	if (!(f->session & BP_SESSION_USER) || f->client_id == 0)
		return NULL;
	size = bp_reassembly_size(in->reassembly, f->client_id);
	p = bp_reassembly_data(in->reassembly, f->client_id);
	/* the block may be of an earlier process, and damaged */
	if (size < at + LENGTH)
		return NULL;
	n = bp_be16(p + at);
	if (n == BP_USER_UNKNOWN || n > size - at - LENGTH)
		return NULL;
	*len = n;
	return p + at + LENGTH;
}

bool bp_mqtt_is_identified(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	uint16_t len;

	/* the broker has assigned one (MQTT 5.0, 3.1.3.1), and the CONNACK with it was not read */
	if (f->version == BP_MQTT_V5 && f->client_id_len == 0)
		return false;
	return (f->flags & BP_FLOW_CONNECT) && !(f->session & BP_SESSION_NO_ID) &&
	       (!(f->session & BP_SESSION_USER) || bp_mqtt_user(in, f, &len) != NULL);
}
