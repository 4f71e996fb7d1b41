/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_VALUE_PICK_H
#define BP_PROTO_PAYLOAD_VALUE_PICK_H

#include "proto/payload/value.h"

/*
 * The value at a path, found by a walk over a payload of named members and arrays: where the walk
 * is on the path, and what it has found. Of several members of one name the last counts, so a
 * member on the path discards what an earlier one of its name has brought; values of other elements
 * of an enclosing [*] remain.
 */

struct bp_candidate {
	bool has;
	bool unread; /* a JSON number that bp_pick_result() reads: once, however many there are */
	uint8_t rank;
	double value;
	const uint8_t *at, *end; /* where it is in the payload */
};

struct bp_pick {
	const struct bp_value_source *source;
	const struct bp_json_path *path;
	const struct bp_value_strings *strings;
	const struct bp_value_rank *rank; /* NULL: the last value counts */
	bool (*decode)(const uint8_t *at, const uint8_t *end, struct bp_value_text *text);
	uint32_t elements;
	struct bp_candidate best;
	struct bp_candidate outer[BP_JSON_STEPS_MAX + 1]; /* before the element of each [*] */

	/* The place of the walk. */
	uint64_t kinds;   /* of the open containers: bit 0 the innermost, 1 object */
	uint32_t depth;   /* open containers */
	uint32_t matched; /* the number of outer ones on the path */
	uint64_t element; /* of the innermost container on the path, an array */
	bool hit;         /* the current value is the next step of the path */
};

#define BP_PICK_NO_ELEMENT UINT64_MAX

/* decode: reads the string that bp_pick_string() has noted. */
void bp_pick_init(struct bp_pick *p, const struct bp_value_source *source,
	const struct bp_value_strings *strings, const struct bp_value_rank *rank,
	bool (*decode)(const uint8_t *at, const uint8_t *end, struct bp_value_text *text));

/* A value begins that is at the step of this index. */
void bp_pick_hit(struct bp_pick *p, uint32_t step);

/* The value at the end of the path. */
void bp_pick_number(struct bp_pick *p, double value, const uint8_t *at, const uint8_t *end);
void bp_pick_string(struct bp_pick *p, const uint8_t *at, const uint8_t *end);
/* [at, end) is a JSON number. */
void bp_pick_json_number(struct bp_pick *p, const uint8_t *at, const uint8_t *end);

/* The result at the end of the walk. */
bool bp_pick_result(const struct bp_pick *p, bool beginning, struct bp_value_result *out);

/* The index of the text in the strings, or -1. */
double bp_value_string_index(const struct bp_value_strings *s, const struct bp_value_text *t);
/* Appends UTF-8 characters, as far as they fit. */
void bp_value_text_add(struct bp_value_text *text, const void *utf8, size_t len);
/* Appends valid UTF-8; false: it is not. */
bool bp_value_text_add_checked(struct bp_value_text *text, const uint8_t *p, size_t len);

/* ---- the place of the walk ---- */

/* Whether the innermost container is on the path, and not its end. */
static inline bool bp_pick_on_path(const struct bp_pick *p)
{
	return p->matched == p->depth && p->matched <= p->path->steps;
}

/* Whether the value that begins is the one at the end of the path. Discards what it replaces. */
static inline bool bp_pick_value(struct bp_pick *p)
{
	if (p->hit)
		bp_pick_hit(p, p->matched - 1); /* of the root, no step */
	return p->hit && p->matched == p->path->steps && p->matched == p->depth;
}

/* The value is a container; the depth is below BP_JSON_DEPTH_MAX. */
static inline void bp_pick_open(struct bp_pick *p, bool object)
{
	p->kinds = p->kinds << 1 | object;
	if (p->hit && p->matched == p->depth && p->matched < p->path->steps) {
		p->matched++;
		p->element = object ? BP_PICK_NO_ELEMENT : 0;
	}
	p->depth++;
	p->hit = false;
}

/* The innermost container ends; there is one. */
static inline void bp_pick_close(struct bp_pick *p)
{
	p->kinds >>= 1;
	if (p->matched == p->depth) {
		p->matched--;
		p->element = BP_PICK_NO_ELEMENT; /* the parent's element was this one */
	}
	p->depth--;
}

/* An element of an array begins. */
static inline void bp_pick_element(struct bp_pick *p)
{
	p->hit = false;
	if (!bp_pick_on_path(p) || p->matched == 0 || (p->kinds & 1) != 0)
		return;
	if (p->path->step[p->matched - 1].every) {
		p->hit = true;
	} else if (p->element != BP_PICK_NO_ELEMENT) {
		p->hit = p->path->step[p->matched - 1].is_index &&
			 p->element == p->path->step[p->matched - 1].index;
		p->element++;
	}
}

/* The name that the innermost container's next member must have to be on the path; NULL: none. */
static inline const uint8_t *bp_pick_name(const struct bp_pick *p, size_t *len)
{
	const uint32_t step = p->matched - 1;

	if (!bp_pick_on_path(p) || p->matched == 0 || p->path->step[step].is_index)
		return NULL;
	*len = p->path->step[step].name_len;
	return (const uint8_t *)p->path->names + p->path->step[step].name_off;
}

/* value_json.c: the walk over a whole JSON text. False: it is not valid. */
bool bp_pick_json(struct bp_pick *p, const uint8_t *payload, size_t len);
/* value_beginning.c: over a beginning of one. */
void bp_pick_json_beginning(struct bp_pick *p, const uint8_t *payload, size_t have);
/* Decodes the text between the quotes of a JSON string. False: it is not valid. */
bool bp_json_text(const uint8_t *at, const uint8_t *end, struct bp_value_text *text);

#endif
