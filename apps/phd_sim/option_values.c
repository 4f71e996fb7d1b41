/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/phd_sim/option_values.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_wrong(const char *fmt, ...)
{
	va_list args;

	fputs("biplane-phd-sim: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("; see --help\n", stderr);
	exit(64);
}

double sim_number(const char *name, const char *text, double min, double max)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0' || !(v >= min && v <= max))
		sim_wrong("--%s is '%s'; expected a number from %g to %g", name, text, min, max);
	return v;
}

uint64_t sim_whole(const char *name, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || *text == '-' || v < min || v > max)
		sim_wrong("--%s is '%s'; expected a whole number from %llu to %llu", name, text,
			(unsigned long long)min, (unsigned long long)max);
	return v;
}

uint64_t sim_duration_ns(const char *name, const char *text)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
	char *end;
	double v = strtod(text, &end);

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && strcmp(end, units[i].unit) == 0 && v > 0 && v <= 1e6)
			return (uint64_t)(v * units[i].ns);
	sim_wrong("--%s is '%s'; expected a time such as 500ms, 3s or 2m", name, text);
}

/* Index of the text in a list that ends with NULL. */
unsigned sim_one_of(const char *name, const char *text, const char *const *list)
{
	for (unsigned i = 0; list[i] != NULL; i++)
		if (strcmp(text, list[i]) == 0)
			return i;
	sim_wrong("--%s is '%s', which is none of its values", name, text);
}

static bool address(const char *text, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		out->ss_family = AF_INET;
		return true;
	}
	if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
		out->ss_family = AF_INET6;
		return true;
	}
	return false;
}

static void set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
}

void sim_destination(struct sim_options *o, const char *text)
{
	char copy[128], *colon, *host = copy;
	size_t len;

	snprintf(copy, sizeof(copy), "%s", text);
	colon = strrchr(copy, ':');
	if (colon == NULL)
		sim_wrong("--to is '%s'; expected ADDRESS:PORT", text);
	*colon = '\0';
	len = strlen(host);
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		host++;
	}
	if (!address(host, &o->to))
		sim_wrong("--to is '%s', whose first part is no address", text);
	set_port(&o->to, (uint16_t)sim_whole("to", colon + 1, 1, 65535));
}

/* Of an IPv4 network the first and last address are no hosts'. */
void sim_sources(struct sim_options *o, const char *text)
{
	char copy[128], *slash;
	unsigned bits, len;

	snprintf(copy, sizeof(copy), "%s", text);
	slash = strchr(copy, '/');
	if (slash != NULL)
		*slash = '\0';
	if (!address(copy, &o->source))
		sim_wrong("--sources is '%s'; expected a prefix such as 10.1.2.0/24", text);
	bits = o->source.ss_family == AF_INET ? 32 : 128;
	len = slash != NULL ? (unsigned)sim_whole("sources", slash + 1, 0, bits) : bits;
	o->sources = bits - len > 20 ? UINT64_C(1) << 20 : UINT64_C(1) << (bits - len);
	if (bits == 32 && len < 31) {
		struct sockaddr_in *four = (struct sockaddr_in *)&o->source;

		four->sin_addr.s_addr = htonl(
			(ntohl(four->sin_addr.s_addr) & (uint32_t)(UINT64_MAX << (32 - len))) + 1);
		o->sources -= 2;
	}
}

void sim_source(const struct sim_options *o, unsigned number, struct sockaddr_storage *out)
{
	uint64_t step = o->sources > 0 ? number % o->sources : 0;

	*out = o->source;
	if (out->ss_family == AF_INET) {
		struct sockaddr_in *four = (struct sockaddr_in *)out;

		four->sin_addr.s_addr = htonl(ntohl(four->sin_addr.s_addr) + (uint32_t)step);
	} else if (out->ss_family == AF_INET6) {
		uint8_t *octets = ((struct sockaddr_in6 *)out)->sin6_addr.s6_addr;

		for (unsigned i = 16; i-- > 0 && step > 0; step >>= 8) {
			step += octets[i];
			octets[i] = (uint8_t)step;
		}
	} else if (o->source_port != 0) {
		out->ss_family = o->to.ss_family;
	} else {
		return;
	}
	if (o->source_port != 0)
		set_port(out, (uint16_t)(o->source_port +
					 (o->sources > 0 ? number / o->sources : number)));
}
