/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_PHD_REPORT_H
#define BP_PROTO_HEALTH_PHD_REPORT_H

#include "proto/health/phd_apdu.h"

/*
 * Scan reports: ScanReportInfoFixed, -Var, -MPFixed and -MPVar of ISO/IEEE 11073-20601 (A.11.5).
 * Nothing is copied; a walk is bounded by the available bytes, independent of the counts.
 */

enum bp_phd_scan {
	BP_PHD_FIXED, /* an octet string; the configuration declares its layout */
	BP_PHD_VAR,   /* a list of attributes */
};

struct bp_phd_scan_head {
	uint16_t data_req_id; /* f000: the device began it */
	uint16_t report_no;
	uint16_t n; /* observations, with `mp` persons */
	/* bytes of the event-info after the list: some agents append them, and the list's own
	 * length determines its end */
	uint16_t trailing;
	bool mp;
	enum bp_phd_scan scan;
	struct bp_phd_bytes list; /* the entries, for bp_phd_scan_begin() */
};

/* The information of an event report of `type` 3357..3360 (another: E_FIELD), except the list. */
enum bp_phd_error bp_phd_scan_read(
	uint16_t type, struct bp_phd_bytes info, struct bp_phd_scan_head *out);

struct bp_phd_observation {
	uint16_t person; /* 0: not a report of several persons */
	uint16_t handle;
	uint16_t n_attributes;    /* VAR: entries of `data`; FIXED: 0 */
	struct bp_phd_bytes data; /* FIXED: the bytes; VAR: for bp_phd_attribute_next(), proven */
};

/* The position of a walk. A copy of it continues independently. */
struct bp_phd_scan_walk {
	struct bp_phd_bytes outer, inner; /* remaining bytes: of the persons, of the observations */
	uint16_t persons, left;           /* and how many the counts promise */
	uint16_t person;
	enum bp_phd_scan scan;
	bool mp;
};

void bp_phd_scan_begin(struct bp_phd_scan_walk *w, const struct bp_phd_scan_head *h);

/*
 * BP_PHD_OK with the next observation in *o; BP_PHD_SCAN_END when all have been read and nothing is
 * left over; otherwise an enum bp_phd_error: then the whole report is invalid, including the
 * observations read before, and the position of the walk does not change.
 */
#define BP_PHD_SCAN_END (-1)
int bp_phd_scan_next(struct bp_phd_scan_walk *w, struct bp_phd_observation *o);

/*
 * Fast path for a common fixed report: p[0..len), a whole UDP payload, is a PRST with an event
 * report, confirmed or not, of object 0 and type 3357, all of whose lengths agree down to the list.
 * False does not imply that it is invalid. The entries [at, end) and their number are not checked:
 * the reader of each {u16 handle, u16 length, bytes} has to validate that they fill the list.
 */
struct bp_phd_fast {
	uint16_t invoke_id;
	uint16_t report_no;
	uint16_t n; /* entries that the count promises */
	bool confirmed;
	uint16_t at, end; /* offsets from p */
};
static inline bool bp_phd_fast_read(const uint8_t *p, size_t len, struct bp_phd_fast *out);

/* Offsets in an APDU with an event report. */
#define BP_PHD_AT_INVOKE 6u
#define BP_PHD_AT_DATA 8u
#define BP_PHD_AT_HANDLE 12u
#define BP_PHD_AT_TYPE 18u
#define BP_PHD_AT_INFO 22u
#define BP_PHD_AT_REPORT_NO 24u
#define BP_PHD_AT_ENTRIES 30u

static inline uint64_t bp_phd_load_be64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline bool bp_phd_fast_read(const uint8_t *p, size_t len, struct bp_phd_fast *out)
{
	uint64_t head, data, event, list, wrong;

	if (len < BP_PHD_AT_ENTRIES || len > UINT16_MAX)
		return false;
	/*
	 * All five lengths follow from `len` and all fields except the numbers are constant, so the
	 * header is compared in words, with a single branch at the end.
	 */
	head = bp_phd_load_be64(p);                         /* choice, length, length, invoke-id */
	data = bp_phd_load_be64(p + BP_PHD_AT_DATA);        /* choice, length, handle, time */
	event = bp_phd_load_be64(p + BP_PHD_AT_TYPE - 2);   /* time, type, length, request */
	list = bp_phd_load_be64(p + BP_PHD_AT_ENTRIES - 8); /* request, number, count, length */
	wrong = (head >> 16) ^ (((uint64_t)BP_PHD_PRST << 32) + ((len - 4) << 16) + (len - 6));
	/* confirmed is the lowest bit of the choice */
	wrong |= ((data >> 16) & ~((uint64_t)1 << 32)) ^
		 (((uint64_t)BP_PHD_EVENT << 32) + ((len - 12) << 16));
	wrong |= ((event >> 16) & 0xffffffff) ^
		 (((uint64_t)BP_PHD_SCAN_FIXED << 16) + (len - BP_PHD_AT_INFO));
	wrong |= (list & 0xffff) ^ (len - BP_PHD_AT_ENTRIES);
	out->invoke_id = (uint16_t)head;
	out->confirmed = (data >> 48 & 1) != 0;
	out->report_no = (uint16_t)(list >> 32);
	out->n = (uint16_t)(list >> 16);
	out->at = BP_PHD_AT_ENTRIES;
	out->end = (uint16_t)len;
	return wrong == 0;
}

#endif
