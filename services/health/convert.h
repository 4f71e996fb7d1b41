/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_CONVERT_H
#define BP_SERVICES_HEALTH_CONVERT_H

#include "services/health/layout.h"
#include "services/health/decode.h"
#include "services/health/token.h"
#include "proto/health/phd_report.h"
#include "shm/health/phd.h"

/*
 * Converts one scan report to the CoAP requests that store it: bp_phd_convert_plan() validates the
 * report and returns the number and the maximum length of the requests, bp_phd_convert_write()
 * writes each. Workers, the slow path, TCP and replay share this code. No allocation.
 *
 * A request is: CoAP header, 8 bytes of token, the layout's head with system-id, request id (the
 * token in hexadecimal) and name patched in, and the content of services/health/decode.h. With one
 * instance per report the content is a list, each of whose members names its object as "o", even
 * where it has only one.
 */

/* One request. */
struct bp_phd_part {
	uint32_t n;   /* observations in it */
	uint32_t len; /* maximum length of the request, bytes: at least that of the CoAP message */
	/* of an observation by itself, its data, from the beginning of the report's entries; of a
	 * list, how many observations of known objects are in those before it */
	uint32_t first;
	/* of an observation by itself: */
	uint16_t bytes;  /* of its data */
	uint16_t object; /* number in the layout */
	uint16_t person;
};

struct bp_phd_conversion {
	uint16_t invoke_id, report_no; /* both 0 where they cannot be read */
	uint16_t type;                 /* of the event report: 3357..3360; 0 as long as unknown */
	bool answerable;               /* invoke_id could be read */
	bool confirmed; /* the device waits for a response, whatever the verdict is */
	/* The APDU's memory may be overwritten even before all parts are written: the needed bytes
	 * were copied. */
	bool in_place;
	bool mp;             /* several persons */
	bool variable;       /* else fixed */
	uint16_t parts;      /* requests; with SLOW there may be more than part[] has room for */
	uint16_t first_part; /* number of parts before them: bp_phd_convert_plan_from() */
	uint16_t total;      /* requests of the whole report */
	uint16_t at, bytes;  /* offset and length of the entries in the APDU, bytes */
	uint16_t n;          /* the number of observations or persons that the count field says */

	/* for the counters: observations of known objects, and those of others */
	uint16_t observations, unknown_handles;
	bool trailing; /* bytes behind the scan list or behind a value were ignored */
	/* added up by bp_phd_convert_write() */
	struct bp_phd_oddities odd;
	/* output: the sum, as bp_sum() of proto/net/frame.h, of the first `summed` bytes written.
	 * Most of them are known in advance. */
	uint64_t sum;
	uint32_t summed;

	struct bp_phd_part part[BP_PHD_TOKEN_PARTS];
	uint8_t copy[256]; /* of the entries, with in_place */
};

enum bp_phd_verdict {
	BP_PHD_CONVERT,
	BP_PHD_EMPTY,      /* no observation in it: nothing to store, but an answer is due */
	BP_PHD_SLOW,       /* over 32 parts, or one that may become more than plan->max_message */
	BP_PHD_NOT_REPORT, /* no PRST with an event report of type 3357..3360: signalling */
	BP_PHD_BAD_APDU,   /* a PRST whose fields make no sense */
	BP_PHD_BAD_LENGTH, /* one in which lengths or counts contradict each other */
	BP_PHD_BAD_HANDLE, /* an event report of another object than the MDS */
	BP_PHD_NO_HANDLE,  /* no known object in it */
	BP_PHD_BAD_MAP     /* data of a fixed report contradict the object's map */
};

/*
 * Judges the UDP payload apdu[0..len), a whole APDU. `l` must be one that bp_phd_layout_valid()
 * accepts. Observations of unknown objects are left out while others are known; any other fault is
 * one of the whole report. *c is complete with CONVERT only; with any other verdict what its first
 * members say can be relied on.
 */
enum bp_phd_verdict bp_phd_convert_plan(const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *apdu, size_t len,
	struct bp_phd_conversion *c);

/*
 * As above, for a caller without the workers' limit of 32 requests per report: plans the requests
 * from number `first` on, of c->total; the next call is with first + c->parts. A list that is
 * longer than a message is split. SLOW: one request is over plan->max_message, there are none from
 * `first` on, or there are more than BP_PHD_PARTS_MAX in total, for which the name has no space.
 */
#define BP_PHD_PARTS_MAX 256u
enum bp_phd_verdict bp_phd_convert_plan_from(const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *apdu, size_t len, unsigned first,
	struct bp_phd_conversion *c);

/* The identity of the report, and the fields that are specific to the request of this part. */
struct bp_phd_identity {
	const uint8_t *system_id; /* 8 bytes */
	uint32_t associated_s;    /* with `life`, `report` and the part the instance's name: */
	uint32_t report;          /* bp_phd_session.reports before this report */
	uint16_t life;            /* bp_phd_word_life() */
	uint16_t mid;             /* this part's */
	uint64_t token;           /* this part's */
};

/*
 * Writes part i to out[0..size). `apdu` is the one of bp_phd_convert_plan(), and `out` may overlap
 * it with c->in_place only. Returns the length, which is at most part[i].len, or 0 when size is
 * below part[i].len. Bytes of `out` beyond the length may have been written to.
 */
size_t bp_phd_convert_write(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	const uint8_t *apdu, struct bp_phd_conversion *c, unsigned i,
	const struct bp_phd_identity *id, uint8_t *out, size_t size);

#endif
