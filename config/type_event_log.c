/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* Where the event log goes: off, journal, /PATH or unix:/PATH. */

#define UNIX "unix:"

static bool read_path(const char *text, size_t skip, size_t max, struct bp_config_event_log *l,
	struct bp_fault *fault)
{
	const char *path = text + skip;
	const size_t n = strlen(path);

	if (path[0] != '/')
		return bp_fault_set(fault, skip, "the path is not absolute");
	if (n > max)
		return bp_fault_set(
			fault, skip, "the path is %zu bytes long; the maximum is %zu", n, max);
	if (path[n - 1] == '/')
		return bp_fault_set(fault, skip, "the path is a directory's");
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return bp_fault_set(fault, skip + i, "the path has a control character");
	memcpy(l->path, path, n + 1);
	return true;
}

static bool parse_event_log(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_config_event_log l;
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	memset(&l, 0, sizeof(l));
	if (strcmp(text, "journal") == 0) {
		l.kind = BP_EVENT_LOG_JOURNAL;
	} else if (strncmp(text, UNIX, strlen(UNIX)) == 0) {
		l.kind = BP_EVENT_LOG_UNIX;
		if (!read_path(text, strlen(UNIX), BP_EVENT_LOG_SOCKET_MAX, &l, fault))
			return false;
	} else if (text[0] == '/') {
		l.kind = BP_EVENT_LOG_FILE;
		if (!read_path(text, 0, BP_EVENT_LOG_PATH_MAX, &l, fault))
			return false;
	} else if (strcmp(text, "off") != 0) {
		return bp_fault_set(fault, 0, "'%s' is not an absolute path",
			bp_shown(text, strlen(text), shown));
	}
	memcpy(field, &l, sizeof(l));
	return true;
}

static void format_event_log(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_event_log *l = field;
	char text[sizeof(l->path) + sizeof(UNIX)];

	(void)s;
	(void)c;
	if (l->kind == BP_EVENT_LOG_OFF || l->kind == BP_EVENT_LOG_JOURNAL) {
		fputs(l->kind == BP_EVENT_LOG_OFF ? "off" : "journal", out);
		return;
	}
	snprintf(text, sizeof(text), "%s%s", l->kind == BP_EVENT_LOG_UNIX ? UNIX : "", l->path);
	bp_write_quoted(text, out);
}

static void expect_event_log(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("off, journal, the absolute path of a file, or unix:/PATH", out);
}

const struct bp_type bp_type_event_log = {
	.parse = parse_event_log, .format = format_event_log, .expect = expect_event_log};
