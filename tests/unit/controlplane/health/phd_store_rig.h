/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_PHD_STORE_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_PHD_STORE_RIG_H

#include "tests/unit/controlplane/test.h"

#include <event2/event.h>

#include "controlplane/health/store/store.h"

/* A store in a directory of its own, whose owner records the callbacks. */
#define RIG_SESSIONS 64

struct rig {
	char dir[64], path[128];
	struct event_base *base;
	struct bp_phd_store *store;
	uint32_t max_known;
	uint64_t max_bytes;
	/* callbacks since it was opened */
	struct bp_phd_store_session session[RIG_SESSIONS]; /* the first ones */
	unsigned n, retry, whole, not_whole;
	bool forget; /* entries passed to it */
	/* stderr, while it is caught */
	int stderr_was;
	FILE *caught;
};

int rig_setup(void **state);
int rig_teardown(void **state);
/* Opens it; does not run the loop. */
void rig_open(struct rig *r);
void rig_close(struct rig *r);
/* Until all is read back. */
void rig_load(struct rig *r);
/* Closes it, opens it and loads. */
void rig_reopen(struct rig *r);
struct bp_phd_store_counts rig_counts(const struct rig *r);

/* Session number n: each has another key. */
struct bp_phd_store_session rig_session(unsigned n, uint32_t reports);
/* The one handed over with the key of number n, or NULL. */
const struct bp_phd_store_session *rig_find(const struct rig *r, unsigned n);
void rig_put(struct rig *r, unsigned n, uint32_t reports);
void rig_drop(struct rig *r, unsigned n);
bool rig_equal(const struct bp_phd_store_session *a, const struct bp_phd_store_session *b);

/* The ConfigReport of configuration `id` whose one object measures `code`; bytes that say nothing
 * follow. In static memory. */
struct bp_phd_bytes rig_report(uint16_t id, uint16_t code, unsigned bytes);
void rig_system_id(unsigned device, uint8_t out[8]);
bool rig_learn(struct rig *r, unsigned device, uint16_t id, uint16_t code);
/* The code of what is known, or -1. */
int rig_known(struct rig *r, unsigned device, uint16_t id, uint16_t *spec);

/* Files in the directory with `part` in their name. */
unsigned rig_files(const struct rig *r, const char *part);
/* Changes the closed file behind the store's back. */
void rig_sql(const struct rig *r, const char *sql);
void rig_catch_stderr(struct rig *r);
/* Ends it; how often `text` was said. */
unsigned rig_said(struct rig *r, const char *text);

#endif
