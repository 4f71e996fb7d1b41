/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_SFLOAT_TABLE_H
#define BP_SERVICES_HEALTH_SFLOAT_TABLE_H

#include <stdint.h>

/*
 * The text of each of the 65,536 SFLOATs, as bp_phd_sfloat_text() writes it: one megabyte, of which
 * a ward's readings use a few lines. A third of the time of a report went into making it each time.
 */
struct bp_phd_sfloat {
	char text[12]; /* the longest is -20480000000 */
	uint16_t sum;  /* folded bp_sum() of it, as if it began at an even octet */
	uint8_t len;   /* 0: it is none of the numbers */
	uint8_t pad;
};
_Static_assert(sizeof(struct bp_phd_sfloat) == 16, "one load");

/* NULL as long as bp_phd_sfloat_prepare() was not called: everything works without it, slower. */
extern const struct bp_phd_sfloat *bp_phd_sfloats;

/* Once, before the threads that convert. */
void bp_phd_sfloat_prepare(void);

#endif
