/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/transform/transform_messages.h"

#include <stdbool.h>
#include <string.h>

#include "proto/transform/transform_matrix.h"

static bool is_exit(const uint8_t *bytes, size_t n)
{
	if (n < 4 || n > 6 || memcmp(bytes, "exit", 4) != 0)
		return false;
	for (size_t i = 4; i < n; i++)
		if (bytes[i] != '\r' && bytes[i] != '\n' && bytes[i] != '\0')
			return false;
	return true;
}

enum bp_loader_next bp_loader_next(
	const uint8_t *bytes, size_t n, struct bp_prefix *source, double m[12])
{
	uint8_t ip4[4];

	if (is_exit(bytes, n))
		return BP_LOADER_EXIT;
	if (n < BP_TRANSFORM_LOADER_MESSAGE)
		return BP_LOADER_MORE;
	bp_transform_loader_read(bytes, ip4, m);
	*source = bp_prefix_of(bp_address4(ip4), 32);
	return ip4[0] == 0 || ip4[0] >= 224 ? BP_LOADER_NO_CLIENT : BP_LOADER_MATRIX;
}
