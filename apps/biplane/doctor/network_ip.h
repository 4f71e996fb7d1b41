/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_NETWORK_IP_H
#define BP_APPS_BIPLANE_DOCTOR_NETWORK_IP_H

#include <stddef.h>

#include "controlplane/sync/survey.h"

/*
 * The survey of a machine that is a folder: what `ip -j` printed there. index(arg, name) tells an
 * interface's number. 0, or -1 with a sentence.
 */
int bp_doctor_survey_folder(const char *root, const struct bp_survey *s,
	uint32_t (*index)(void *arg, const char *name), char *err, size_t err_size);

#endif
