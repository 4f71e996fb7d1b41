/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_REQUEST_H
#define BP_SERVICES_HEALTH_REQUEST_H

#include "services/health/layout.h"

/* A create request for instances, from the first CoAP option up to the value: part of layout.c. */
struct bp_phd_request {
	uint8_t head[1536];
	uint16_t len;
	uint16_t patch[BP_PHD_PATCHES]; /* octets of head where the system-id goes, */
	uint8_t patches;                /* so many of them, */
	uint16_t rqi, rn;               /* the request id, and the name; 0: it has none */
};

/* `object` stands for {object}, `type` for {type}. Returns 0, or -1 with a sentence in err. */
int bp_phd_request_render(struct bp_phd_request *out, const struct bp_phd_plan *plan,
	const struct bp_phd_target *target, const char *type, const char *object, char *err,
	size_t err_size);

#endif
