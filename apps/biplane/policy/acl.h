/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_POLICY_ACL_H
#define BP_APPS_BIPLANE_POLICY_ACL_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes section mqtt.policy for an ACL file of mosquitto (acl_file; mosquitto.conf(5)): what the
 * ACL allows is allowed, all else is observed. `name`: of the file, in messages. False: there are
 * lines that a policy cannot express, or errors; each is written to `errors`.
 */
bool bp_policy_from_acl(FILE *acl, const char *name, FILE *out, FILE *errors);

#endif
