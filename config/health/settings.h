/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_HEALTH_SETTINGS_H
#define BP_CONFIG_HEALTH_SETTINGS_H

#include "biplane/health.h"
#include "config/config.h"

/* Section health_devices: struct bp_config_phd, in biplane/health.h. */
BP_CONFIG_SERVICE(phd, HEALTH)

/* Reads the system-id in text[0..len): 16 hexadecimal digits, not all 0. False: the text is not a
 * system-id. */
bool bp_system_id_read(const char *text, size_t len, uint8_t id[8]);
/* Returns whether the system-id is in the list. */
bool bp_config_phd_listed(const struct bp_config_phd_ids *ids, const uint8_t system_id[8]);
/*
 * Reads a text of system-ids, one per line; blanks, empty lines and comments after # are skipped.
 * Returns 0, and the caller owns the list (free(out->id)); or the number of a line that is invalid,
 * exceeds `max`, or exceeds the memory, and the list is empty.
 */
uint32_t bp_config_phd_ids_parse(
	const char *text, size_t len, uint32_t max, struct bp_config_phd_ids *out);
#define BP_PHD_ALLOW_MAX 65536u /* number of system-ids in the list, and in the file */
/* Returns whether only the system-ids in `allow` and in the file of allow_file may associate. */
bool bp_config_phd_restricted(const struct bp_config_phd *c);
/* Returns whether this system-id may associate; `file`: the contents of the file of allow_file. */
bool bp_config_phd_allowed(const struct bp_config_phd *c, const struct bp_config_phd_ids *file,
	const uint8_t system_id[8]);
/*
 * Reads the file of allow_file, which the validation does not read. Returns 0, and the caller owns
 * the list (free(out->id)), which is empty without allow_file; or -1 with a sentence, and the list
 * is empty.
 */
int bp_config_phd_allow_load(
	const struct bp_config_phd *c, struct bp_config_phd_ids *out, char *err, size_t err_size);
/* Only checks that the file can be read; returns like bp_config_phd_allow_load(). */
int bp_config_phd_allow_check(const struct bp_config_phd *c, char *err, size_t err_size);

#endif
