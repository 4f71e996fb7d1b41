/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_ENCODE_H
#define BP_APPS_SIM_PHD_ENCODE_H

#include "apps/sim/phd/mder.h"
#include "apps/sim/phd/measure.h"

/* The APDUs of an agent. Each is appended to the output; see its `full`. */

void sim_put_aarq(struct sim_out *out, const struct sim_options *o, uint64_t system_id);
void sim_put_system_id(struct sim_out *out, uint64_t system_id); /* as an octet string */
/* Without objects, when brief. */
void sim_put_config(struct sim_out *out, const struct sim_config *c, uint16_t invoke, bool brief);
void sim_put_report(struct sim_out *out, const struct sim_config *c,
	const struct sim_measurement *m, bool confirmed, uint16_t invoke, uint16_t report_no);
/* The answer to GET of all attributes of the MDS. */
void sim_put_mds(
	struct sim_out *out, const struct sim_options *o, uint64_t system_id, uint16_t invoke);
void sim_put_roer(struct sim_out *out, uint16_t invoke, uint16_t error);
void sim_put_rorj(struct sim_out *out, uint16_t invoke, uint16_t problem);
/* Release request and response, abort: a reason is all that they hold. */
void sim_put_reason(struct sim_out *out, uint16_t apdu, uint16_t reason);

#endif
