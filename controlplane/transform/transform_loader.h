/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_LOADER_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_LOADER_H

#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct event_base;

/*
 * The matrix loader of the paper's authors, on transform.matrix_loader: over TCP a message of 100
 * octets for each matrix (proto/transform/transform_matrix.h), any number of them on a connection.
 * Each is set in every entry with loader: true, for the source of that one IPv4 address and its
 * first receiver, and is answered when it is in force: "ok", two octets as the authors' client
 * expects them, or "error: SENTENCE" and a line feed. The text "exit" ends the connection, and
 * nothing else: at the authors' it stops the server.
 *
 * Connections, their octets that wait and their silence are bounded.
 */
#define BP_LOADER_IDLE_S 60

struct bp_loader;

/* NULL with a sentence. */
struct bp_loader *bp_loader_new(struct event_base *base, struct bp_shm *shm,
	const struct bp_address *address, uint16_t tcp, uint32_t connections, char *err,
	size_t err_size);
void bp_loader_free(struct bp_loader *l);
/* The port that it listens on, which the kernel chose where none was asked for. */
uint16_t bp_loader_port(const struct bp_loader *l);

#endif
