/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_HEALTH_SESSION_FILTER_H
#define BP_APPS_BIPLANE_SHOW_HEALTH_SESSION_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/fib/fib.h"
#include "shm/health/phd.h"

/* Which sessions of health devices are asked for. All zero: every one. */
struct bp_session_filter {
	enum bp_phd_state state; /* BP_PHD_FREE: in any */
	bool has_type;
	uint16_t type;           /* the specialisation's code; 0: those of which none is known */
	struct bp_prefix within; /* the device's address; family 0: anywhere */
	bool has_system_id;
	uint8_t system_id[8];
};

/* What `text` says of one of these. False, with a sentence that says what was expected. */
bool bp_session_filter_state(
	struct bp_session_filter *f, const char *text, char *err, size_t err_size);
bool bp_session_filter_type(
	struct bp_session_filter *f, const char *text, char *err, size_t err_size);
bool bp_session_filter_address(
	struct bp_session_filter *f, const char *text, char *err, size_t err_size);
bool bp_session_filter_id(
	struct bp_session_filter *f, const char *text, char *err, size_t err_size);

bool bp_session_filter_any(const struct bp_session_filter *f); /* whether it leaves any out */
bool bp_session_filter_takes(const struct bp_session_filter *f, const struct bp_phd_session *s);

/* "configuring", "operating", "releasing"; never NULL. */
const char *bp_session_state_text(enum bp_phd_state state);
/* A session's address as others are written, out of ::ffff:a.b.c.d too. */
struct bp_address bp_session_address(const struct bp_phd_session *s);

#endif
