/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_HEALTH_PHD_RIG_H
#define BP_TESTS_UNIT_SHM_HEALTH_PHD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/config.h"
#include "shm/health/phd_shape.h"
#include "shm/health/phd_writer.h"

/* Session tables in heap memory of exactly their size, so that AddressSanitizer sees who reads
 * next to them; and their writer. */
struct phd_rig {
	struct bp_phd_tables tables;
	struct bp_phd_tables *t;
	struct bp_phd_writer *w;
	struct bp_fib epochs; /* its control and readers */
	struct bp_ring events[BP_MAX_WORKERS];
	void *memory[BP_PHD_TABLES];
	size_t bytes[BP_PHD_TABLES];
};

void phd_open(struct phd_rig *x, uint32_t sessions, uint32_t layouts, uint32_t workers);
void phd_close(struct phd_rig *x);
/* Another writer on the same tables. Returns how much it mended. */
uint64_t phd_take_over(struct phd_rig *x);

/* Device i: each has another address, port or transport, and a system-id that follows from i. */
struct bp_phd_session_spec phd_device(uint32_t i);
/* Its slot, or UINT32_MAX. */
uint32_t phd_slot(const struct phd_rig *x, uint32_t i);
/* A layout that says `content` all over, at least `text` bytes of text; of the caller's memory, of
 * BP_PHD_LAYOUT_SIZE bytes. */
void phd_layout_fill(struct bp_phd_layout *l, uint64_t content, uint32_t text);
bool phd_layout_is(const struct bp_phd_layout *l, uint64_t content);

#endif
