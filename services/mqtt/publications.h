/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_PUBLICATIONS_H
#define BP_SERVICES_MQTT_PUBLICATIONS_H

#include "services/mqtt/mqtt_worker.h"

/* The publications of a connection, and what is kept for them: packet identifiers,
 * acknowledgements, the will message, topic aliases. */

/* publish.c: evaluates a complete PUBLISH. `body`: after the fixed header; `head`: how far that was
 * checked before, or NULL. */
void bp_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, uint32_t seq, struct bp_mqtt_head *head);
/* As above, for a PUBLISH with only body[0..have) stored. */
void bp_publish_beginning(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, uint32_t seq, struct bp_mqtt_head *head);
/* Evaluates a publication that the client causes at the broker, by its topic, where there is no
 * packet. `beginning`: only the beginning of the payload is available. */
void bp_publish_evaluate(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p, uint32_t seq, bool beginning);
/* Whether a rule matches the PUBLISH with this head; a topic alias is resolved and stored. */
enum bp_publish_decision {
	BP_PUBLISH_SKIP,
	BP_PUBLISH_EVALUATE,
	BP_PUBLISH_WAIT, /* the same, and the policy decides about it when it is whole */
	BP_PUBLISH_NEED_MORE,
	BP_PUBLISH_NOT_INSPECTED
};
enum bp_publish_decision bp_publish_decide(struct bp_mqtt_worker *in, struct bp_flow *f,
	unsigned dir, uint8_t flags, const uint8_t *body, uint32_t have, uint32_t len,
	struct bp_mqtt_head *head);

/* inflight.c: QoS 2 publications in flight of one direction. False: this one was evaluated before.
 */
bool bp_qos2_begin(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id);
/* False: it was not in flight. */
bool bp_qos2_end(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t id);
void bp_qos2_discard(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* Holds a publication to the broker until the broker acknowledges it. `beginning`: `p` has only the
 * beginning of the payload. A publication that cannot be held is counted. */
void bp_ack_wait(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_publish *p,
	uint32_t seq, bool beginning);
/* PUBACK or PUBREC of the broker: evaluates the publication that waited for it, or discards it
 * where `refused`. `sent`: a publication with this identifier may have been sent without
 * waiting. */
void bp_on_ack(struct bp_mqtt_worker *in, struct bp_flow *f, bool pubrec, uint16_t id, bool refused,
	bool sent);
/* Stops waiting: no acknowledgement for the held publications will be seen; counted. */
void bp_ack_release(struct bp_mqtt_worker *in, struct bp_flow *f);

/* Whether publications of QoS 1 and 2 in this direction wait. */
static inline bool bp_ack_awaited(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return dir == BP_TO_BROKER &&
	       (in->acknowledged || ((f->proof & BP_FLOW_MARKED) && (f->marks & BP_MARK_REJECTED)));
}

/* will.c: the will message of a connection. */
void bp_will_keep(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c);
/* The connection has one, of which nothing is kept. */
void bp_will_not_kept(struct bp_mqtt_worker *in, struct bp_flow *f);
enum bp_will {
	BP_WILL_NONE,
	BP_WILL_KEPT,
	BP_WILL_UNKNOWN, /* there is one, or there may be one: the CONNECT was not read */
};
/* *to: what is kept, valid until the connection changes. */
enum bp_will bp_will_kept(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, struct bp_mqtt_will *to);
/* The client disconnects as it should: mostly that discards the will. */
void bp_will_disconnect(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_disconnect *d);
void bp_will_discard(struct bp_mqtt_worker *in, struct bp_flow *f);
/* The connection ends: the broker publishes what was not discarded. */
void bp_will_end(struct bp_mqtt_worker *in, struct bp_flow *f);
/* After a restart of the process: keeps the state in the arena, if it is consistent. */
void bp_will_adopt(struct bp_mqtt_worker *in, struct bp_flow *f);
/* The flow is evicted before the end of the connection was seen. */
void bp_will_forget(struct bp_mqtt_worker *in, struct bp_flow *f);

/* will.c: the broker accepted the connection. */
void bp_will_accepted(struct bp_mqtt_worker *in, struct bp_flow *f);

/* Will messages with a will delay interval. `max`: that wait at one time. NULL: no
 * memory. free() it. */
struct bp_delayed *bp_delayed_create(uint32_t max);
/* Evaluates those that are due, `budget` at most. */
void bp_delayed_expire(struct bp_mqtt_worker *in, uint64_t mono_ns, unsigned budget);

/* alias.c: topic aliases of one direction. */
enum bp_alias { BP_ALIAS_OK, BP_ALIAS_UNMAPPED, BP_ALIAS_BAD };
/* Keeps the mapping of a PUBLISH, or where its topic is empty resolves it: the topic then points to
 * the kept text. *hash: of the topic. */
enum bp_alias bp_alias_use(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p, uint64_t *hash);
void bp_alias_discard(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* The broker has another topic for the alias of `p`: the PUBLISH with that was overwritten. */
void bp_alias_file(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_publish *p);
/* Whether `p`, of a client, has its topic from such an alias. */
bool bp_alias_is_filed(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_mqtt_publish *p);
/* Adopts the aliases of an earlier process that are consistent; false: none, and nothing is
 * claimed. */
bool bp_alias_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);

/* alias.c: state of the other gateway. */
void bp_alias_restore(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias,
	const uint8_t *topic, uint16_t len);
void bp_alias_discard_one(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias);
/* The topic of an alias as text and length in p, as bp_alias_use() does. False: it has none. */
bool bp_alias_topic(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p);

#endif
