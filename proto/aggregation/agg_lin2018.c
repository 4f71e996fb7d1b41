/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/aggregation/agg_lin2018.h"

enum bp_agg_lin2018_error bp_agg_lin2018_read(
	const uint8_t *p, size_t len, unsigned most, struct bp_agg_lin2018 *out)
{
	size_t count;

	if (len < BP_AGG_LIN2018_HEADER)
		return BP_AGG_LIN2018_E_SHORT;
	if (p[0] != BP_AGG_LIN2018_MESSAGE && p[0] != BP_AGG_LIN2018_PACKET)
		return BP_AGG_LIN2018_E_TYPE;
	len -= BP_AGG_LIN2018_HEADER;
	if (len == 0)
		return BP_AGG_LIN2018_E_EMPTY;
	if (len % BP_AGG_LIN2018_MESSAGE_LEN != 0)
		return BP_AGG_LIN2018_E_LENGTH;
	count = len / BP_AGG_LIN2018_MESSAGE_LEN;
	if (p[0] == BP_AGG_LIN2018_MESSAGE && count > 1)
		return BP_AGG_LIN2018_E_SINGLE;
	if (count > most || count > UINT16_MAX)
		return BP_AGG_LIN2018_E_MANY;
	out->messages = p + BP_AGG_LIN2018_HEADER;
	out->count = (uint16_t)count;
	out->type = p[0];
	return BP_AGG_LIN2018_OK;
}
