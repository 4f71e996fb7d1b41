/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_LOADER_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_LOADER_H

#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct event_base;

/*
 * The matrix loader of Kunze et al. (2021), on transform.matrix_loader: a TCP message of 100 bytes
 * for each matrix (proto/transform/transform_matrix.h), any number per connection. Each matrix is
 * set in every entry with matrix_loader: true, for the source of that one IPv4 address and its
 * first receiver. The answer follows when the matrix is active: "ok", two bytes as the authors'
 * client expects them, or "error: SENTENCE" and a line feed. The text "exit" only ends the
 * connection; in the authors' implementation it stops the server.
 *
 * The number of connections, their unprocessed bytes and their idle time are bounded.
 */
#define BP_LOADER_IDLE_S 60

struct bp_loader;

/* Returns NULL with a sentence in `err` on failure. */
struct bp_loader *bp_loader_new(struct event_base *base, struct bp_shm *shm,
	const struct bp_address *address, uint16_t tcp, uint32_t connections, char *err,
	size_t err_size);
void bp_loader_free(struct bp_loader *l);
/* Returns the TCP port, chosen by the kernel if none was requested. */
uint16_t bp_loader_port(const struct bp_loader *l);

#endif
