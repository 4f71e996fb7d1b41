/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_REDIS_RESP_H
#define BP_PROTO_REDIS_RESP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Replies of Redis: RESP2. A reply is an array of values in preorder: a value, then its elements.
 * Texts point into the bytes that were parsed. The reader stops at its bounds before it uses a
 * length that the server has sent.
 */
enum bp_resp_type {
	BP_RESP_STATUS,  /* text, as OK */
	BP_RESP_ERROR,   /* text, as "OOM command not allowed" */
	BP_RESP_INTEGER, /* integer */
	BP_RESP_TEXT,    /* text, any bytes */
	BP_RESP_NIL,     /* no text or no array */
	BP_RESP_ARRAY,   /* n elements */
};

struct bp_resp {
	enum bp_resp_type type;
	uint32_t n;    /* elements of an array */
	uint32_t skip; /* values of this one with all below it: the next one is at this + skip */
	int64_t integer;
	const char *text; /* not terminated */
	size_t len;
};

/* HSCAN returns a small hash, by default of up to 512 fields, as a whole: whatever its COUNT is. */
#define BP_RESP_VALUES_MAX 4096u
#define BP_RESP_DEPTH_MAX 4u
#define BP_RESP_LINE_MAX 512u              /* bytes of a status, an error or a number */
#define BP_RESP_TEXT_MAX ((size_t)1 << 20) /* bytes of a text */

/*
 * Reads the first reply of `len` bytes into `values`. Returns its length in bytes; 0 if it is not
 * complete; -1 if it is not valid or exceeds a bound.
 */
ssize_t bp_resp_read(const char *bytes, size_t len, struct bp_resp values[BP_RESP_VALUES_MAX]);

#endif
