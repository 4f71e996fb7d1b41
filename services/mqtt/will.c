/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/adopt.h"
#include "proto/copy.h"

/*
 * The will message of a connection (MQTT 5.0, 3.1.2.5): it comes with the CONNECT, and the broker
 * publishes it when the connection ends without a DISCONNECT that says otherwise. So it is kept, in
 * reassembly memory, and evaluated like a PUBLISH of the client when the end is seen.
 */
struct will {
	uint64_t accepted;              /* when the broker accepted the connection: delayed.c */
	uint32_t delay, session_expiry; /* seconds */
	uint16_t keep_alive;
	uint16_t topic_len, payload_len;
	uint8_t qos;
	uint8_t retain;
	uint8_t text[]; /* topic, payload */
};

static struct will *will_of(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return (struct will *)(void *)bp_carry_data(in->carry, f->will);
}

static void drop(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_flow_release(in, f, f->will);
	f->will = 0;
}

void bp_will_keep(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c)
{
	const struct bp_mqtt_will *w = &c->will;
	uint64_t size = sizeof(struct will) + (uint64_t)w->topic_len + w->payload_len;
	struct will *kept;

	drop(in, f);
	if (w->topic == NULL || !in->judged[BP_TO_BROKER])
		return;
	f->will = bp_flow_alloc(in, f, size);
	if (f->will == 0) {
		bp_tally(in, BP_C_WILL_NO_MEMORY);
		return;
	}
	kept = (struct will *)(void *)bp_carry_data(in->carry, f->will);
	kept->accepted = 0;
	kept->delay = w->delay;
	kept->session_expiry = c->session_expiry;
	kept->keep_alive = c->keep_alive;
	kept->topic_len = w->topic_len;
	kept->payload_len = w->payload_len;
	kept->qos = w->qos;
	kept->retain = w->retain;
	memcpy(kept->text, w->topic, w->topic_len);
	bp_copy(kept->text + w->topic_len, w->payload, w->payload_len);
}

void bp_will_disconnect(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_disconnect *d)
{
	/* an expiry interval after CONNECT had none is a fault: the connection ends without
	 * (3.14.2.2.2) */
	bool fault = d->session_expiry != 0 && !(f->session & BP_SESSION_EXPIRY);

	if (!fault && d->reason != BP_MQTT_DISCONNECT_WITH_WILL)
		bp_will_discard(in, f);
	else if (!fault && f->will != 0 && d->session_expiry != 0)
		will_of(in, f)->session_expiry = d->session_expiry;
}

void bp_will_discard(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (f->will == 0)
		return;
	bp_tally(in, BP_C_WILL_DISCARDED);
	drop(in, f);
}

void bp_will_accepted(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const uint64_t now = bp_session_accepted(in, f);

	if (f->will != 0)
		will_of(in, f)->accepted = now;
}

void bp_will_evaluate(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const struct will *w = will_of(in, f);
	struct bp_mqtt_publish p = {
		.topic = w->text,
		.topic_len = w->topic_len,
		.payload = w->text + w->topic_len,
		.payload_len = w->payload_len,
		.qos = w->qos,
		.retain = w->retain != 0,
	};

	/* of its own connection's account, whoever's segment makes this one end */
	const struct bp_work_paused paused = bp_work_pause(&in->work);

	bp_tally(in, BP_C_WILL_EVALUATED);
	bp_work_begin(&in->work, bp_flow_hash(&in->table, f->k0, f->k1),
		(uint32_t)bp_carry_size(in->carry, f->will));
	bp_publish_evaluate(in, f, BP_TO_BROKER, &p, f->next[BP_TO_BROKER], false);
	bp_work_end(&in->work);
	bp_work_resume(&in->work, &paused);
}

/*
 * How long the broker waits: no longer than the session lasts (MQTT 5.0, 3.1.3.2.2). One that ends
 * with the connection does not wait, but in mosquitto, which waits for the whole delay then.
 */
static uint32_t seconds_to_wait(const struct bp_mqtt_worker *in, const struct will *w)
{
	if (w->session_expiry >= w->delay || (in->mosquitto && w->session_expiry == 0))
		return w->delay;
	return w->session_expiry;
}

/* False: it is dropped, and that is counted. */
static bool delay(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t seconds)
{
	if (!(f->session & BP_SESSION_NO_ID))
		return bp_delayed_add(in, f, seconds, will_of(in, f)->accepted);
	bp_tally(in, BP_C_WILL_NO_MEMORY);
	return false;
}

/*
 * Whether a DISCONNECT may have been among bytes that were not read. Where a client's fault is one
 * for mosquitto too, it reads nothing behind it.
 */
static bool end_is_unclear(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	if (f->stream[BP_TO_BROKER] == BP_STREAM_OPAQUE)
		return !in->mosquitto || f->skip[BP_TO_BROKER] == 0;
	return f->stream[BP_TO_BROKER] == BP_STREAM_SEEK ||
	       (f->pending & (BP_FLOW_PUSHED(BP_TO_BROKER) | BP_FLOW_HELD(BP_TO_BROKER)));
}

void bp_will_end(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	uint32_t seconds;

	if (f->will == 0)
		return;
	seconds = seconds_to_wait(in, will_of(in, f));
	if (!(f->proof & BP_FLOW_PROVEN))
		bp_tally(in, BP_C_WILL_REFUSED);
	else if (end_is_unclear(in, f))
		bp_tally(in, BP_C_WILL_UNCLEAR);
	else if (seconds == 0)
		bp_will_evaluate(in, f);
	else if (delay(in, f, seconds))
		return;
	drop(in, f);
}

void bp_will_adopt(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const bp_carry_ref ref = f->will;
	const struct will *w;

	f->will = 0;
	if (ref == 0 || !bp_adopt_block(in, f, ref, sizeof(*w)))
		return;
	w = (const struct will *)(const void *)bp_carry_data(in->carry, ref);
	if (sizeof(*w) + (uint64_t)w->topic_len + w->payload_len > bp_carry_size(in->carry, ref) ||
		!bp_mqtt_topic_valid((const char *)w->text, w->topic_len))
		bp_adopt_undo(in, f, ref);
	else
		f->will = ref;
}

/* ticks in 1.5 s: what the broker waits for, as a multiple of the keep alive (3.1.2.10) */
#define GRACE(keep_alive) ((uint64_t)(keep_alive)*1500000000ull >> 20)

void bp_will_forget(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const struct bp_frame *frame = in->frame;
	const struct will *w;

	if (f->will == 0)
		return;
	w = (const struct will *)(const void *)bp_carry_data(in->carry, f->will);
	/* silent for longer than the broker waits: it has closed the connection, seen or not */
	if (w->keep_alive != 0 && in->table.now - f->seen > GRACE(w->keep_alive)) {
		in->frame = NULL;
		bp_will_end(in, f);
		in->frame = frame;
		return;
	}
	bp_tally(in, BP_C_WILL_FORGOTTEN);
	drop(in, f);
}
