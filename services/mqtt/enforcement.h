/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_ENFORCEMENT_H
#define BP_SERVICES_MQTT_ENFORCEMENT_H

#include "services/mqtt/enforce.h"
#include "services/mqtt/mqtt_worker.h"

/* enforce.c, for inspection itself. Nothing of this is called but with in->enforced. */

/* Before a segment of the flow is read. False: it is not to be read. */
bool bp_enforce_before(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame);
/* After it: decides about the frame. */
void bp_enforce_after(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame);

/* With or without in->enforced. The packet that is being read is refused: its connection ends. */
void bp_enforce_refuse(struct bp_mqtt_worker *in, struct bp_flow *f);
/* There is no decision about it: mqtt.policy.fail. */
void bp_enforce_undecided(struct bp_mqtt_worker *in, struct bp_flow *f);

static inline bool bp_enforce_refused(const struct bp_mqtt_worker *in)
{
	return in->enforced != NULL && in->enforced->refused;
}

#endif
