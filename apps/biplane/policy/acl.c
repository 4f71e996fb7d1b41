/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/policy/acl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/policy.h"
#include "config/schema.h"
#include "proto/mqtt/mqtt.h"
#include "proto/payload/utf8.h"

/*
 * Mosquitto reads the entries of a user, or of clients without a user name, and then the patterns;
 * in both, entries with deny precede the others. The first entry that matches decides. It
 * restricts no CONNECT, and does not check a SUBSCRIBE but each message that it would send.
 */

enum access { READ = 1, WRITE = 2, DENY = 4 };

struct entry {
	unsigned line, access;
	bool pattern;
	char *user; /* NULL: of clients without a user name; of a pattern, of all */
	char *topic;
};

struct acl {
	const char *name;
	FILE *errors;
	unsigned line;
	char *user;
	struct entry *entry;
	size_t n;
	bool failed;
};

/* The file and its name may have any bytes, which must not reach a terminal, or end a comment. */
static void put_clean(const char *text, FILE *out)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++)
		fputc(*p >= 0x20 && *p < 0x7f ? *p : '?', out);
}

static __attribute__((format(printf, 2, 3))) void fail(struct acl *a, const char *format, ...)
{
	va_list args;

	char text[2 * BP_RULE_FILTER_MAX];

	put_clean(a->name, a->errors);
	fprintf(a->errors, ":%u: ", a->line);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put_clean(text, a->errors);
	fputc('\n', a->errors);
	a->failed = true;
}

/* ---- lines ---- */

/* Cuts the first word off; *rest is behind the blanks after it, and "" at the end. */
static char *word(char *line, char **rest)
{
	char *end = line + strcspn(line, " \t");

	*rest = end + strspn(end, " \t");
	*end = '\0';
	return line;
}

static bool access_of(const char *text, unsigned *access)
{
	static const struct {
		const char *text;
		unsigned access;
	} word[] = {{"read", READ}, {"write", WRITE}, {"readwrite", READ | WRITE}, {"deny", DENY}};

	for (unsigned i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		if (strcmp(text, word[i].text) == 0) {
			*access = word[i].access;
			return true;
		}
	}
	return false;
}

/* The topic of a policy: %c and %u are {client} and {user}, as whole levels. NULL: an error. */
static char *topic_of(struct acl *a, const char *text, bool pattern)
{
	size_t size = 0;
	char *topic = NULL;
	FILE *out;

	if (strlen(text) > BP_RULE_FILTER_MAX || strpbrk(text, "{}") != NULL ||
		!bp_mqtt_filter_valid(text, strlen(text))) {
		fail(a,
			"'%s' is no topic of a policy; expected a topic filter of at most %d bytes "
			"without braces",
			text, BP_RULE_FILTER_MAX);
		return NULL;
	}
	out = open_memstream(&topic, &size);
	if (out == NULL)
		return NULL;
	for (const char *p = text;; p++) {
		const size_t n = strcspn(p, "/");

		if (pattern && n == 2 && (memcmp(p, "%c", 2) == 0 || memcmp(p, "%u", 2) == 0))
			fputs(p[1] == 'c' ? BP_POLICY_CLIENT_LEVEL : BP_POLICY_USER_LEVEL, out);
		else
			fwrite(p, 1, n, out);
		if (pattern && n != 2 &&
			(memmem(p, n, "%c", 2) != NULL || memmem(p, n, "%u", 2) != NULL))
			fail(a,
				"'%.*s' has %%c or %%u within a level; expected it as a whole "
				"level of the topic",
				(int)n, p);
		p += n;
		if (*p == '\0')
			break;
		fputc('/', out);
	}
	return fclose(out) == 0 ? topic : NULL;
}

static void read_entry(struct acl *a, char *rest, bool pattern)
{
	unsigned access = READ | WRITE;
	struct entry *more;
	char *topic, *first = word(rest, &topic);

	if (*topic == '\0')
		topic = first;
	else if (!access_of(first, &access)) {
		fail(a, "'%s' is no access; expected read, write, readwrite or deny", first);
		return;
	}
	if (*topic == '\0') {
		fail(a, "the line has no topic; expected one");
		return;
	}
	more = realloc(a->entry, (a->n + 1) * sizeof(*more));
	if (more == NULL) {
		fail(a, "not enough memory");
		return;
	}
	a->entry = more;
	topic = topic_of(a, topic, pattern);
	if (topic != NULL)
		a->entry[a->n++] = (struct entry){.line = a->line,
			.access = access,
			.pattern = pattern,
			.user = pattern || a->user == NULL ? NULL : strdup(a->user),
			.topic = topic};
}

static void read_user(struct acl *a, const char *name)
{
	const uint8_t *bytes = (const uint8_t *)name;
	const size_t n = strlen(name);

	free(a->user);
	a->user = NULL;
	if (n == 0 || n > BP_POLICY_PATTERN_MAX || strchr(name, '*') != NULL ||
		!bp_utf8_valid_mqtt(bytes, n) || bp_utf8_has_control(bytes, n)) {
		fail(a,
			"'%s' is no user name of a policy; expected 1 to %d bytes of UTF-8 without "
			"* and control characters",
			name, BP_POLICY_PATTERN_MAX);
		return;
	}
	a->user = strdup(name);
}

static void read_line(struct acl *a, char *line)
{
	char *rest, *first;
	size_t n = strlen(line);

	while (n > 0 && strchr(" \t\r\n", line[n - 1]) != NULL)
		line[--n] = '\0';
	if (n == 0 || line[0] == '#')
		return;
	first = word(line, &rest);
	if (strcmp(first, "user") == 0)
		read_user(a, rest);
	else if (strcmp(first, "topic") == 0)
		read_entry(a, rest, false);
	else if (strcmp(first, "pattern") == 0)
		read_entry(a, rest, true);
	else
		fail(a, "'%s' is no entry of an ACL file; expected user, topic or pattern", first);
}

/* ---- rules ---- */

static void write_rule(FILE *out, const struct entry *e, const char *packet, const char *suffix)
{
	fprintf(out, "    - {name: acl-%u%s, action: %s", e->line, suffix,
		e->access == DENY ? "observe" : "allow");
	if (packet != NULL)
		fprintf(out, ", packet: %s", packet);
	if (e->user != NULL) {
		fputs(", user_name: ", out);
		bp_write_quoted(e->user, out);
	} else if (!e->pattern) {
		fputs(", anonymous: true", out);
	}
	fputs(", topic: ", out);
	bp_write_quoted(e->topic, out);
	fputs("}\n", out);
}

static void write_entry(FILE *out, const struct entry *e)
{
	if (e->access == READ) {
		write_rule(out, e, "subscribe", "");
	} else if (e->access == WRITE) {
		write_rule(out, e, "publish", "");
		write_rule(out, e, "will", "-will");
	} else {
		write_rule(out, e, NULL, ""); /* only packets with a topic match it */
	}
}

static void write_rules(const struct acl *a, FILE *out)
{
	fputs("# From the ACL file ", out);
	put_clean(a->name, out);
	fputs(" of mosquitto. Line N of it is rule acl-N.\n"
	      "# Mosquitto checks reading when it sends a message, the policy when a client "
	      "subscribes.\n"
	      "policy:\n"
	      "  default: observe\n"
	      "  rules:\n"
	      "    - {name: connect, action: allow, packet: connect}\n",
		out);
	for (unsigned pass = 0; pass < 4; pass++)
		for (size_t i = 0; i < a->n; i++)
			if (a->entry[i].pattern == pass / 2 &&
				(a->entry[i].access == DENY) == (pass % 2 == 0))
				write_entry(out, &a->entry[i]);
}

bool bp_policy_from_acl(FILE *acl, const char *name, FILE *out, FILE *errors)
{
	struct acl a = {.name = name, .errors = errors};
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, acl) >= 0) {
		a.line++;
		read_line(&a, line);
	}
	free(line);
	if (ferror(acl))
		fail(&a, "the file cannot be read");
	if (!a.failed)
		write_rules(&a, out);
	for (size_t i = 0; i < a.n; i++) {
		free(a.entry[i].user);
		free(a.entry[i].topic);
	}
	free(a.entry);
	free(a.user);
	return !a.failed;
}
