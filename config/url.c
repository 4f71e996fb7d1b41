/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/url.h"

#include <stdlib.h>
#include <string.h>

static bool read_scheme(const char *text, const char *const *schemes, struct bp_url *out,
	const char **rest, struct bp_fault *fault)
{
	const char *end = strstr(text, "://");
	char shown[BP_SHOWN];

	if (end == NULL)
		return bp_fault_set(
			fault, 0, "'%s' is not a URL", bp_shown(text, strlen(text), shown));
	for (unsigned i = 0; schemes[i] != NULL; i++) {
		if (strlen(schemes[i]) != (size_t)(end - text) ||
			strncmp(schemes[i], text, (size_t)(end - text)) != 0)
			continue;
		out->scheme = i;
		*rest = end + 3;
		return true;
	}
	return bp_fault_set(fault, 0, "scheme '%s' is not supported here",
		bp_shown(text, (size_t)(end - text), shown));
}

/* Reads the host; the port begins at a colon, or at the end. */
static bool read_host(
	const char *text, const char *at, char host[256], const char **rest, struct bp_fault *fault)
{
	const char *end = at + strcspn(at, ":");
	size_t len;

	if (*at == '[') {
		at++;
		end = strchr(at, ']');
		if (end == NULL)
			return bp_fault_set(fault, (size_t)(at - 1 - text), "']' is missing");
		*rest = end + 1;
	} else if (*end == ':' && strchr(end + 1, ':') != NULL) {
		return bp_fault_set(
			fault, (size_t)(at - text), "an IPv6 address is without its brackets");
	} else {
		*rest = end;
	}
	len = (size_t)(end - at);
	if (len == 0)
		return bp_fault_set(fault, (size_t)(at - text), "the host is missing");
	if (len > 255)
		return bp_fault_set(
			fault, (size_t)(at - text), "the host is longer than 255 bytes");
	memcpy(host, at, len);
	host[len] = '\0';
	return true;
}

bool bp_url_read(
	const char *text, const char *const *schemes, struct bp_url *out, struct bp_fault *fault)
{
	char shown[BP_SHOWN];
	const char *at, *bad;
	unsigned long port;
	char *end;

	memset(out, 0, sizeof(*out));
	if (!read_scheme(text, schemes, out, &at, fault))
		return false;
	bad = at + strcspn(at, "/?#@ \t\\\"'");
	if (*bad != '\0')
		return bp_fault_set(fault, (size_t)(bad - text),
			"'%s' follows the host and port, where nothing is allowed",
			bp_shown(bad, strlen(bad), shown));
	if (!read_host(text, at, out->host, &at, fault))
		return false;
	if (*at == '\0')
		return true;
	if (*at != ':' || at[1] < '0' || at[1] > '9')
		return bp_fault_set(fault, (size_t)(at - text), "'%s' is not a port",
			bp_shown(at, strlen(at), shown));
	port = strtoul(at + 1, &end, 10);
	if (*end != '\0' || port < 1 || port > 65535)
		return bp_fault_set(fault, (size_t)(at + 1 - text),
			"'%s' is not a port from 1 to 65535",
			bp_shown(at + 1, strlen(at + 1), shown));
	out->port = (uint16_t)port;
	return true;
}

void bp_url_write(const char *scheme, const char *host, uint16_t port, FILE *out)
{
	const bool ip6 = strchr(host, ':') != NULL;

	fprintf(out, "%s://%s%s%s", scheme, ip6 ? "[" : "", host, ip6 ? "]" : "");
	if (port != 0)
		fprintf(out, ":%u", port);
}
