/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_HEALTH_SETTINGS_H
#define BP_CONFIG_HEALTH_SETTINGS_H

#include "biplane/health.h"
#include "config/config.h"

/* Section health_devices: struct bp_config_phd, in biplane/health.h. */
BP_CONFIG_SERVICE(phd, HEALTH)

/* The system-id that text[0..len) says: 16 hexadecimal digits, not all 0. False: it says none. */
bool bp_system_id_read(const char *text, size_t len, uint8_t id[8]);
/* Whether it is in the list. */
bool bp_config_phd_listed(const struct bp_config_phd_ids *ids, const uint8_t system_id[8]);
/*
 * Reads a text of system-ids, one a line; blanks, empty lines and what follows a # are passed over.
 * 0, and the list is the caller's (free(out->id)); else the number of the line that is none, or is
 * one more than `max`, or for which there is no memory, and the list is empty.
 */
uint32_t bp_config_phd_ids_parse(
	const char *text, size_t len, uint32_t max, struct bp_config_phd_ids *out);
#define BP_PHD_ALLOW_MAX 65536u /* system-ids in the list, and in the file */
/* Whether only those in `allow` and in the file that allow_file names may associate. */
bool bp_config_phd_restricted(const struct bp_config_phd *c);
/* Whether this one may; `file`: what the file that allow_file names has. */
bool bp_config_phd_allowed(const struct bp_config_phd *c, const struct bp_config_phd_ids *file,
	const uint8_t system_id[8]);
/*
 * Reads the file that allow_file names, which validation does not look at. 0, and the list, empty
 * where none is named, is the caller's (free(out->id)); -1 with a sentence, and the list is empty.
 */
int bp_config_phd_allow_load(
	const struct bp_config_phd *c, struct bp_config_phd_ids *out, char *err, size_t err_size);
/* The same for who only wants to know whether it can be read. */
int bp_config_phd_allow_check(const struct bp_config_phd *c, char *err, size_t err_size);

#endif
