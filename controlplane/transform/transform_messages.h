/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_MESSAGES_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * What a client of the loader has sent: messages of BP_TRANSFORM_LOADER_MESSAGE octets, one behind
 * the other, and the text "exit". Pure.
 */
enum bp_loader_next {
	BP_LOADER_MORE,      /* what is there is not a whole one */
	BP_LOADER_MATRIX,    /* the first octets are one: *source and m */
	BP_LOADER_NO_CLIENT, /* they are one for an address that no host has: *source */
	BP_LOADER_EXIT,      /* the client wants to end */
};

/*
 * octets[0..n): all that has come and was not taken. An address of 101.120.105.116 begins like
 * "exit": that is the text where nothing but the end of a line stands behind it.
 */
enum bp_loader_next bp_loader_next(
	const uint8_t *octets, size_t n, struct bp_prefix *source, double m[12]);

#endif
