/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_RULES_H
#define BP_CONTROLPLANE_MQTT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config_mqtt;

/*
 * The rules of inspection, published as images (shm/generation.h): each PUBLISH is evaluated by
 * exactly the old or the new set. A publication (controlplane/process/publication.h) calls these
 * functions in order.
 */
struct bp_rules {
	struct bp_shm *shm;
	/* built, not yet in the segment. NULL: the active rules are the same */
	struct bp_ruleset *image;
	uint64_t next;       /* generation of the image */
	uint64_t generation; /* active generation */
	uint32_t rules;      /* number of rules in the last prepared set */
	uint32_t unchanged;  /* of these, rules that were active before and keep their state */
};

/* keep_same: prepares nothing when the same rules with the same mirror target are already active.
 * Returns 0, or -1 with a sentence in `err`. */
int bp_rules_prepare(struct bp_rules *r, const struct bp_config_mqtt *mqtt, bool keep_same,
	char *err, size_t err_size);
/* Called when no worker uses the other bank: activates the image, if there is one. */
void bp_rules_publish(struct bp_rules *r);
/* Frees the prepared image. */
void bp_rules_discard(struct bp_rules *r);

#endif
