/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_RULES_H
#define BP_CONTROLPLANE_MQTT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config_mqtt;

/*
 * The rules of inspection, handed over as images (shm/generation.h): each PUBLISH is evaluated by
 * exactly the old or the new set. A publication (controlplane/process/publication.h) calls these in
 * turn.
 */
struct bp_rules {
	struct bp_shm *shm;
	/* built aside; not yet in the segment. NULL: that in force says the same */
	struct bp_ruleset *image;
	uint64_t next;       /* the image's generation */
	uint64_t generation; /* in force now */
	uint32_t rules;      /* of the last that was prepared */
	uint32_t unchanged;  /* of these, those that were in force before and keep their state */
};

/* keep_same: nothing where the same rules with the same clone target are in force already. 0, or -1
 * with a sentence. */
int bp_rules_prepare(struct bp_rules *r, const struct bp_config_mqtt *mqtt, bool keep_same,
	char *err, size_t err_size);
/* No worker uses the other bank: the image is in force, if there is one. */
void bp_rules_publish(struct bp_rules *r);
/* Forgets what was prepared. */
void bp_rules_discard(struct bp_rules *r);

#endif
