/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/lcl/lcl.h"

#include "proto/net/frame.h"

enum bp_lcl_verdict bp_lcl_read(
	const uint8_t *frame, size_t len, uint16_t ethertype, struct bp_lcl_label *out)
{
	const uint8_t *at = frame + BP_LCL_AT;
	int32_t d;

	if (len < BP_LCL_AT + 2 || bp_be16(at) != ethertype)
		return BP_LCL_NONE;
	if (len < BP_LCL_FRAME_MIN)
		return BP_LCL_TRUNCATED;
	if (at[2] != BP_LCL_VERSION)
		return BP_LCL_BAD_VERSION;
	if (at[3] == 0 || at[3] > BP_LCL_HOPS_MAX)
		return BP_LCL_BAD_HOPS;
	d = (int32_t)bp_be32(at + 4);
	if (d > BP_LCL_DELAY_MAX_NS || d < -BP_LCL_DELAY_MAX_NS)
		return BP_LCL_BAD_DELAY;
	out->n = at[3];
	out->d = d;
	out->flow = bp_be16(at + 8);
	out->sequence = bp_be32(at + 10);
	return BP_LCL_GOOD;
}

void bp_lcl_write(uint8_t *at, uint16_t ethertype, const struct bp_lcl_label *label)
{
	bp_put_be16(at, ethertype);
	at[2] = BP_LCL_VERSION;
	at[3] = label->n;
	bp_put_be32(at + 4, (uint32_t)label->d);
	bp_put_be16(at + 8, label->flow);
	bp_put_be32(at + 10, label->sequence);
}
