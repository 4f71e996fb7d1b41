/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SUBACK_H
#define BP_SERVICES_MQTT_SUBACK_H

#include "services/mqtt/enforce.h"
#include "services/mqtt/judged.h"

/*
 * suback.c: the client learns which topic filters were refused. Nothing of this is called but with
 * in->enforced.
 */

#define BP_SUBACK_FILTERS_MAX 64u /* of a SUBSCRIBE; later ones have the broker's reason code */

static inline bool bp_suback_any(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return bp_judged_any(f) && *bp_judged_subacks(in, f) != 0;
}

/* A SUBSCRIBE with this packet identifier was read, of which these filters were overwritten. Bit i:
 * filter i. The answer to an earlier one with the same identifier stays as it is. */
void bp_suback_await(struct bp_mqtt_worker *in, struct bp_flow *f, uint16_t id, uint64_t refused);

/* The broker's packet p[0..have), complete or not, of a stream that is proven. Its bytes from
 * `from` on are in the stream at `seq`, and were not forwarded yet. */
void bp_suback_overwrite(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p,
	uint32_t have, uint32_t from, uint32_t seq);

static inline void bp_suback_passes(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t have, uint32_t from, uint32_t seq)
{
	if (p[0] >> 4 != BP_MQTT_SUBACK || in->enforced == NULL || dir != BP_FROM_BROKER)
		return;
	/* nothing else is known to be a SUBACK */
	if (bp_suback_any(in, f) && (f->proof & BP_FLOW_PROVEN) &&
		!(f->pending & BP_FLOW_PUSHED(dir)))
		bp_suback_overwrite(in, f, p, have, from, seq);
}

/* For each segment: what the broker sends again has the bytes that were forwarded first, and what
 * the client has acknowledged is forgotten. There are some, also below:
 * bp_suback_any(). */
void bp_suback_segment(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame);

void bp_suback_release(struct bp_mqtt_worker *in, struct bp_flow *f);
/* Those of an earlier process, if there are some; none, if they are damaged. */
void bp_suback_adopt(struct bp_mqtt_worker *in, struct bp_flow *f);

#endif
