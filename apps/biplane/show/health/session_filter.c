/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/health/session_filter.h"

#include <stdio.h>
#include <string.h>

#include "apps/biplane/cli.h"
#include "apps/biplane/show/fib_text.h"
#include "config/config.h"
#include "config/health/settings.h"
#include "proto/health/phd_names.h"

static const char unknown_type[] = "unknown";

const char *bp_session_state_text(enum bp_phd_state state)
{
	switch (state) {
	case BP_PHD_WAITING:
		return "configuring";
	case BP_PHD_OPERATING:
		return "operating";
	case BP_PHD_RELEASING:
		return "releasing";
	case BP_PHD_FREE:
	default:
		return "free";
	}
}

struct bp_address bp_session_address(const struct bp_phd_session *s)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct bp_address a = {.family = 6};

	if (memcmp(s->address, mapped, sizeof(mapped)) == 0) {
		a.family = 4;
		memcpy(a.bytes, s->address + 12, 4);
	} else {
		memcpy(a.bytes, s->address, 16);
	}
	return a;
}

bool bp_session_filter_state(
	struct bp_session_filter *f, const char *text, char *err, size_t err_size)
{
	static const enum bp_phd_state states[] = {
		BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING};

	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (strcmp(text, bp_session_state_text(states[i])) == 0) {
			f->state = states[i];
			return true;
		}
	}
	snprintf(err, err_size,
		"--state %s: a state was expected: configuring, operating or releasing", text);
	return false;
}

/* Every name that a type can have; they are few, and this is asked for after a mistake only. */
static void list_types(char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%s", unknown_type);

	for (unsigned spec = 1; spec <= UINT16_MAX && n < size; spec++) {
		const char *name = bp_phd_type_name((uint16_t)spec);

		if (name)
			n += (size_t)snprintf(out + n, size - n, ", %s", name);
	}
}

bool bp_session_filter_type(
	struct bp_session_filter *f, const char *text, char *err, size_t err_size)
{
	char names[1024];
	uint64_t number;

	f->has_type = true;
	f->type = 0;
	if (strcmp(text, unknown_type) == 0)
		return true;
	if (bp_cli_number(text, 1, UINT16_MAX, &number)) {
		f->type = (uint16_t)number;
		return true;
	}
	for (unsigned spec = 1; spec <= UINT16_MAX; spec++) {
		const char *name = bp_phd_type_name((uint16_t)spec);

		if (name && strcmp(text, name) == 0) {
			f->type = (uint16_t)spec;
			return true;
		}
	}
	list_types(names, sizeof(names));
	snprintf(err, err_size,
		"--type %s: a specialisation was expected: its code (4100) or its name, one of %s",
		text, names);
	return false;
}

bool bp_session_filter_address(
	struct bp_session_filter *f, const char *text, char *err, size_t err_size)
{
	bool has_length;

	if (bp_text_to_prefix(text, &f->within, &has_length))
		return true;
	snprintf(err, err_size,
		"--address %s: an address (10.1.2.3) or a prefix (10.0.0.0/8) was expected", text);
	return false;
}

bool bp_session_filter_id(struct bp_session_filter *f, const char *text, char *err, size_t err_size)
{
	f->has_system_id = bp_system_id_read(text, strlen(text), f->system_id);
	if (!f->has_system_id)
		snprintf(err, err_size,
			"'%s' is no system-id: 16 hexadecimal digits, not all 0, were expected",
			text);
	return f->has_system_id;
}

bool bp_session_filter_any(const struct bp_session_filter *f)
{
	return f->state != BP_PHD_FREE || f->has_type || f->within.family != 0 || f->has_system_id;
}

static bool is_within(const struct bp_prefix *p, struct bp_address a)
{
	const struct bp_prefix own = bp_prefix_of(a, p->length);

	return a.family == p->family && memcmp(own.bytes, p->bytes, sizeof(own.bytes)) == 0;
}

bool bp_session_filter_takes(const struct bp_session_filter *f, const struct bp_phd_session *s)
{
	const uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);

	if (f->has_system_id && memcmp(f->system_id, s->system_id, sizeof(f->system_id)) != 0)
		return false;
	if (f->state != BP_PHD_FREE && f->state != bp_phd_word_state(word))
		return false;
	if (f->has_type && f->type != s->spec)
		return false;
	return f->within.family == 0 || is_within(&f->within, bp_session_address(s));
}
