/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_MESSAGES_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * Parser of the data of a loader client: messages of BP_TRANSFORM_LOADER_MESSAGE bytes, one after
 * another, and the text "exit". Without side effects.
 */
enum bp_loader_next {
	BP_LOADER_MORE,      /* the message is incomplete */
	BP_LOADER_MATRIX,    /* the first bytes are a message: *source and m */
	BP_LOADER_NO_CLIENT, /* a message for an address that no host has: *source */
	BP_LOADER_EXIT,      /* the client ends the connection */
};

/*
 * bytes[0..n): all received and unprocessed bytes. A message for the address 101.120.105.116
 * begins like "exit": it is the text only if nothing but a line end follows.
 */
enum bp_loader_next bp_loader_next(
	const uint8_t *bytes, size_t n, struct bp_prefix *source, double m[12]);

#endif
