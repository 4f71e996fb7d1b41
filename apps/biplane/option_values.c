/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/option_values.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_MOST 1e18 /* fits in 64 bits, and is 31 years */

void option_wrong(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("; see --help\n", stderr);
	exit(64);
}

int option_each_first(int argc, char **argv, const struct option *options,
	void (*set)(void *arg, int which, const char *value), void *arg)
{
	int which;

	while ((which = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (which == '?') /* getopt_long() said so */
			exit(64);
		set(arg, which, optarg);
	}
	return optind;
}

void option_each(int argc, char **argv, const struct option *options,
	void (*set)(void *arg, int which, const char *value), void *arg)
{
	const int first = option_each_first(argc, argv, options, set, arg);

	if (first < argc)
		option_wrong("'%s' is no option", argv[first]);
}

double option_number(const char *name, const char *text, double min, double max)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0' || !(v >= min && v <= max))
		option_wrong("--%s is '%s'; expected a number from %g to %g", name, text, min, max);
	return v;
}

uint64_t option_integer(const char *name, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || *text == '-' || v < min || v > max)
		option_wrong("--%s is '%s'; expected a whole number from %llu to %llu", name, text,
			(unsigned long long)min, (unsigned long long)max);
	return v;
}

uint64_t option_duration_ns(const char *name, const char *text, bool or_zero)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
	char *end;
	double v = strtod(text, &end);

	if (end != text && v == 0 && *end == '\0' && or_zero)
		return 0;
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const double ns = v * units[i].ns;

		if (end == text || strcmp(end, units[i].unit) != 0)
			continue;
		if ((ns >= 1 && ns <= NS_MOST) || (v == 0 && or_zero))
			return (uint64_t)(ns + 0.5);
	}
	option_wrong("--%s is '%s'; expected a time such as 500ms, 3s or 2m%s", name, text,
		or_zero ? ", or 0" : "");
}

unsigned option_one_of(const char *name, const char *text, const char *const *list)
{
	char values[256];
	size_t at = 0;

	for (unsigned i = 0; list[i] != NULL; i++) {
		const char *between = i == 0 ? "" : list[i + 1] == NULL ? " or " : ", ";

		if (strcmp(text, list[i]) == 0)
			return i;
		if (at < sizeof(values))
			at += (size_t)snprintf(
				values + at, sizeof(values) - at, "%s%s", between, list[i]);
	}
	option_wrong("--%s is '%s', which is none of its values; expected %s", name, text, values);
}

bool option_address(const char *text, struct sockaddr_storage *out)
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

void option_set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
}

void option_endpoint(
	const char *name, const char *text, uint16_t least_port, struct sockaddr_storage *out)
{
	char copy[128], *colon, *host = copy;
	size_t len;

	snprintf(copy, sizeof(copy), "%s", text);
	colon = strrchr(copy, ':');
	if (colon == NULL)
		option_wrong("--%s is '%s'; expected ADDRESS:PORT", name, text);
	*colon = '\0';
	len = strlen(host);
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		host++;
	}
	if (!option_address(host, out))
		option_wrong("--%s is '%s', whose first part is not an address", name, text);
	option_set_port(out, (uint16_t)option_integer(name, colon + 1, least_port, UINT16_MAX));
}
