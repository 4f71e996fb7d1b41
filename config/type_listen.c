/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* Where a server listens: ADDRESS:PORT, [IPV6-ADDRESS]:PORT, unix:/PATH or off. */

#define UNIX "unix:"

static bool read_unix(const char *text, struct bp_config_listen *l, struct bp_fault *fault)
{
	const char *path = text + strlen(UNIX);

	if (path[0] != '/')
		return bp_fault_set(fault, strlen(UNIX), "the path is not absolute");
	if (strlen(path) > BP_LISTEN_PATH_MAX)
		return bp_fault_set(fault, strlen(UNIX),
			"the path is %zu bytes long; the maximum "
			"of a Unix socket is %d",
			strlen(path), BP_LISTEN_PATH_MAX);
	for (size_t i = 0; path[i] != '\0'; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return bp_fault_set(
				fault, strlen(UNIX) + i, "the path has a control character");
	l->kind = BP_LISTEN_UNIX;
	memcpy(l->path, path, strlen(path) + 1);
	return true;
}

/* Copies the host, an IPv6 address without its brackets; returns the text after the colon, or
 * NULL. */
static const char *split(const char *text, char host[BP_ADDRESS_TEXT])
{
	const bool bracket = text[0] == '[';
	const char *end = strchr(text, bracket ? ']' : ':');
	const size_t skip = bracket ? 1 : 0;

	if (end == NULL || (size_t)(end - text) - skip >= BP_ADDRESS_TEXT ||
		(bracket && end[1] != ':'))
		return NULL;
	memcpy(host, text + skip, (size_t)(end - text) - skip);
	host[(size_t)(end - text) - skip] = '\0';
	return end + skip + 1;
}

static bool parse_listen(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const struct bp_setting number = {.min = 1, .max = 65535, .size = sizeof(uint16_t)};
	char host[BP_ADDRESS_TEXT], shown[BP_SHOWN];
	struct bp_config_listen l;
	const char *port;

	(void)s;
	(void)c;
	memset(&l, 0, sizeof(l));
	if (strcmp(text, "off") != 0 && strncmp(text, UNIX, strlen(UNIX)) == 0) {
		if (!read_unix(text, &l, fault))
			return false;
	} else if (strcmp(text, "off") != 0) {
		port = split(text, host);
		if (port == NULL || !bp_address_read(host, &l.address) ||
			(l.address.family == 6) != (text[0] == '['))
			return bp_fault_set(fault, 0, "'%s' is not an address with a TCP port",
				bp_shown(text, strlen(text), shown));
		if (!bp_type_uint.parse(&number, NULL, port, &l.tcp_port, fault)) {
			fault->at += (size_t)(port - text);
			return false;
		}
		l.kind = BP_LISTEN_TCP;
	}
	memcpy(field, &l, sizeof(l));
	return true;
}

static void format_listen(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_listen *l = field;
	char text[BP_ADDRESS_TEXT], whole[BP_LISTEN_PATH_MAX + 16];

	(void)s;
	(void)c;
	if (l->kind == BP_LISTEN_OFF) {
		fputs("off", out);
		return;
	}
	if (l->kind == BP_LISTEN_UNIX)
		snprintf(whole, sizeof(whole), UNIX "%s", l->path);
	else
		snprintf(whole, sizeof(whole), l->address.family == 6 ? "[%s]:%u" : "%s:%u",
			bp_address_text(&l->address, text), l->tcp_port);
	bp_write_quoted(whole, out);
}

static void expect_listen(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("off, an address with a TCP port such as 127.0.0.1:9464 or \"[::1]:9464\", or "
	      "unix:/PATH",
		out);
}

const struct bp_type bp_type_listen = {
	.parse = parse_listen, .format = format_listen, .expect = expect_listen};

bool bp_config_listen_is_local(const struct bp_config_listen *l)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	if (l->kind != BP_LISTEN_TCP)
		return true;
	return l->address.family == 4 ? l->address.bytes[0] == 127
				      : memcmp(l->address.bytes, loopback6, 16) == 0;
}
