/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_COMMAND_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_COMMAND_H

#include <jansson.h>

#include "shm/layout.h"

/*
 * The answer to the control socket's command matrix-set, a new reference: {"ok":true,"entries":N},
 * or {"ok":false,"errors":[...]} with what is wrong. `request` as the client wrote it.
 */
json_t *bp_transform_set_command(struct bp_shm *m, const json_t *request);

/*
 * The first half of matrix-clear: NULL, and the source is marked to be the file's again when the
 * rules are put in force next; *entries says of how many. Or the refusal, a new reference.
 */
json_t *bp_transform_clear_command(struct bp_shm *m, const json_t *request, int *entries);

#endif
