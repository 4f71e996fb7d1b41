/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_NETWORK_IP_H
#define BP_APPS_BIPLANE_DOCTOR_NETWORK_IP_H

#include <stddef.h>

#include "controlplane/sync/survey.h"

/*
 * The survey of a machine from the files of a folder: the output of `ip -j`. index(arg, name)
 * returns the index of an interface. 0, or -1 with a sentence.
 */
int bp_doctor_survey_folder(const char *root, const struct bp_survey *s,
	uint32_t (*index)(void *arg, const char *name), char *err, size_t err_size);

#endif
