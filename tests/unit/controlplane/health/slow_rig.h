/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_SLOW_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_SLOW_RIG_H

#include "tests/unit/services/health/rig.h"
#include "tests/unit/shm/health/phd_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controlplane/health/slow.h"
#include "services/health/last_report.h"

/* The slow path with real tables and layouts, a client of the CSE that does what the test says, and
 * what the manager would do. One at a time. */

#define SENT_MAX 20000
#define SECOND 1000000000ull

/* ---- the client of the CSE ---- */

struct sent {
	uint8_t bytes[1024];
	size_t len;
	bp_cse_done *done;
	void *arg;
	bool ended;
};
extern struct sent *sent;     /* [SENT_MAX] */
extern unsigned n_sent, room; /* room: requests that it takes yet; an end makes more */
extern struct bp_cse_watch *watch;

void end(unsigned i, enum bp_cse_end how, uint8_t code, uint16_t rsc);
void stored(unsigned i);

/* ---- what the manager would do ---- */

struct rig {
	struct phd_rig x;
	struct bp_slow *s;
	struct bp_slow_counts n;
	uint8_t answer[64];
	size_t answer_len;
	unsigned answers, targets, idle;
	uint32_t slot; /* of the last answer */
};

void start_with(struct rig *r, uint32_t pending, const struct bp_phd_settings *plan);
void start(struct rig *r);
/* Another control plane with the same tables: no request may be in flight. */
void start_again(struct rig *r, uint32_t pending);
/* No request may be in flight. r->n is filled in. */
void finish(struct rig *r);
uint32_t open_session(struct rig *r, uint32_t device, const struct bp_phd_model *m);
/* A slow path that has taken report S02 of device 1, one of configuration 400; its session. */
uint32_t start_reported(struct rig *r);
/* The answer to it. */
#define RORS_S02 "e7000012001000100201000a0000ffffffff0d1d0000"
/* A session that begins with an unanswered report of the previous one: that of device 1, from the
 * address and port of `device`. */
uint32_t open_carrying(struct rig *r, uint32_t device, const struct bp_phd_model *m,
	const struct bp_phd_carried *carried);
struct bp_phd_session *session(const struct rig *r, uint32_t slot);
/* A vector of tests/fixtures/phd-apdus.json. */
enum bp_phd_taken report(struct rig *r, uint32_t slot, const char *id, uint64_t now);
/* So many answers so far, the last of them these bytes. */
void answered(const struct rig *r, unsigned n, const char *hex);
void on_no_target(void *arg, uint32_t slot, uint16_t life);

#endif
