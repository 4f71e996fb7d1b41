/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_NIC_GRADE_H
#define BP_APPS_BIPLANE_DOCTOR_NIC_GRADE_H

#include "apps/biplane/doctor/nics.h"

/* Sets grade and why of a NIC of which the rest was read. In doubt, it is in use. */
void bp_nic_grade_set(const char *root, const struct bp_doctor_network *net, struct bp_nic *nic);

#endif
