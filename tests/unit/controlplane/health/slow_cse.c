/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/slow_cse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t slow_report(uint8_t out[SLOW_REPORT], unsigned number, unsigned value)
{
	static const uint8_t s02[] = {0xe7, 0, 0, 0x26, 0, 0x24, 0, 0, 1, 1, 0, 0x1e, 0, 0, 0xff,
		0xff, 0xff, 0xff, 0x0d, 0x1d, 0, 0x14, 0xf0, 0, 0, 0, 0, 2, 0, 0x0c, 0, 1, 0, 2, 0,
		0, 0, 0x0a, 0, 2, 0, 0};

	memcpy(out, s02, sizeof(s02));
	out[7] = (uint8_t)number;
	out[25] = (uint8_t)number;
	out[34] = (uint8_t)(value >> 8);
	out[35] = (uint8_t)value;
	out[40] = (uint8_t)(value >> 8);
	out[41] = (uint8_t)value;
	return sizeof(s02);
}

/* ---- what it has: names of containers' instances, each once ---- */

static char (*names)[64];
static unsigned n_names;

void cse_begin(void)
{
	names = calloc(SENT_MAX, sizeof(*names));
	assert_non_null(names);
	n_names = 0;
}

unsigned cse_end(void)
{
	free(names);
	names = NULL;
	return n_names;
}

static char *between(const struct sent *s, const char *from)
{
	static char out[40];
	const char *p = memmem(s->bytes, s->len, from, strlen(from)), *e;

	assert_non_null(p);
	p += strlen(from);
	e = memchr(p, '"', (size_t)((const char *)s->bytes + s->len - p));
	assert_non_null(e);
	snprintf(out, sizeof(out), "%.*s", (int)(e - p), p);
	return out;
}

/* The number of the path before the body: a hash of its bytes, without message id and token. */
static unsigned path_of(const struct sent *s)
{
	const uint8_t *end = memmem(s->bytes, s->len, "rcn=0", 5);
	unsigned h = 0;

	assert_non_null(end);
	for (const uint8_t *p = s->bytes + 12; p < end; p++)
		h = h * 31 + *p;
	return h;
}

/* False: it has that name. */
static bool store(const struct sent *s)
{
	char name[64];

	/* names are of a container, which the path names */
	snprintf(name, sizeof(name), "%u %s", path_of(s), between(s, "\"rn\":\""));
	for (unsigned i = 0; i < n_names; i++)
		if (strcmp(names[i], name) == 0)
			return false;
	strcpy(names[n_names++], name);
	return true;
}

void cse_stores(unsigned i)
{
	store(&sent[i]);
}

void cse_acts(unsigned i)
{
	const int what = rand() % 10;

	if (what < 6) {
		if (store(&sent[i]))
			stored(i);
		else
			end(i, BP_CSE_ANSWERED, BP_COAP_CODE(4, 3), BP_M2M_CONFLICT);
	} else if (what == 6) {
		end(i, BP_CSE_TIMED_OUT, 0, 0);
	} else if (what == 7) {
		end(i, BP_CSE_ANSWERED, BP_COAP_CODE(5, 3), 0);
	} else if (what == 8) {
		end(i, BP_CSE_ANSWERED, BP_COAP_CODE(4, 4), 4004);
	} else { /* stored, and the answer is lost */
		store(&sent[i]);
		end(i, BP_CSE_TIMED_OUT, 0, 0);
	}
}
