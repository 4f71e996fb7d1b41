/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_PHD_VALUE_H
#define BP_PROTO_HEALTH_PHD_VALUE_H

#include <stdint.h>

/* SFLOAT-Type, FLOAT-Type and times of ISO/IEEE 11073-20601 (annex F.7 to F.9) as text. */

/* Special values; of a float with exponent 0 only. */
enum bp_phd_special {
	BP_PHD_FINITE = 0,
	BP_PHD_PLUS_INF,  /* 07fe, 007ffffe */
	BP_PHD_NAN,       /* 07ff, 007fffff: not a number */
	BP_PHD_NRES,      /* 0800, 00800000: not at this resolution */
	BP_PHD_RESERVED,  /* 0801, 00800001 */
	BP_PHD_MINUS_INF, /* 0802, 00800002 */
};

/* By enum bp_phd_special: "" "+INF" "NaN" "NRes" "reserved" "-INF". */
extern const char *const bp_phd_special_text[];

/*
 * The exact decimal, without rounding, as a JSON number of at most BP_PHD_NUMBER_MAX characters;
 * returns their number. No NUL follows, and all of `out` may be written. Plain digits for exponents
 * -8..7 ("97.5", "-100.0": trailing zeros are precision and remain; zero with an exponent above 0
 * is "0"), otherwise mantissa and exponent: "1e127". *special is then FINITE. Returns 0 with
 * another *special.
 */
#define BP_PHD_NUMBER_MAX 16
unsigned bp_phd_sfloat_text(uint16_t v, char out[BP_PHD_NUMBER_MAX], enum bp_phd_special *special);
unsigned bp_phd_float_text(uint32_t v, char out[BP_PHD_NUMBER_MAX], enum bp_phd_special *special);

/* Maximum length of a time, without a NUL; all of `out` may be written. */
#define BP_PHD_TIME_MAX 32

/*
 * AbsoluteTime, 8 bytes of BCD, CC YY MM DD hh mm ss ff, as "2026-01-01T12:00:00.00": the device's
 * local time, without zone. Returns the length, 22, or 0: not BCD, or an invalid date or time.
 */
unsigned bp_phd_abs_time_text(const uint8_t p[8], char out[BP_PHD_TIME_MAX]);

/*
 * BaseOffsetTime (20601a), 8 bytes: u32 seconds since 1900-01-01 UTC, u16 1/65536 s, i16 minutes
 * from UTC to the device's local time. As that local time with the offset, hundredths cut:
 * "2026-01-01T17:00:00.00+05:00". Returns the length, 28, or 0: an offset of a day or more.
 */
unsigned bp_phd_bo_time_text(const uint8_t p[8], char out[BP_PHD_TIME_MAX]);

#endif
