/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apps/biplane/monitor/request.h"

/* The header Accept, RFC 9110 section 12.5.1, as far as it decides between two formats. */

#define WEIGHT_MAX 1000 /* q=1 */

/* Copies text up to one of `ends`, without blanks around it; returns where it ended. */
static const char *token(const char *p, const char *ends, char *out, size_t size)
{
	const size_t len = strcspn(p, ends);
	size_t skip = strspn(p, " \t"), n;

	skip = skip < len ? skip : len;
	n = len - skip;
	while (n > 0 && (p[skip + n - 1] == ' ' || p[skip + n - 1] == '\t'))
		n--;
	n = n < size - 1 ? n : size - 1;
	memcpy(out, p + skip, n);
	out[n] = '\0';
	return p + len;
}

/* "q=0.25" in thousandths; a malformed weight is 0. */
static int weight(const char *text)
{
	char *end;
	const double q = strtod(text, &end);

	return end == text || *end != '\0' || !(q >= 0 && q <= 1) ? 0 : (int)(q * WEIGHT_MAX);
}

/* Reads one element; returns where the next one begins. *acceptable: no parameter excludes
 * version 1.0.0. */
static const char *element(const char *p, char type[64], int *q, bool *acceptable)
{
	char parameter[64];

	*q = WEIGHT_MAX;
	*acceptable = true;
	p = token(p, ",;", type, 64);
	while (*p == ';') {
		p = token(p + 1, ",;", parameter, sizeof(parameter));
		if (strncasecmp(parameter, "q=", 2) == 0)
			*q = weight(parameter + 2);
		else if (strncasecmp(parameter, "version=", 8) == 0)
			*acceptable = strcmp(parameter + 8, "1.0.0") == 0;
	}
	return *p == ',' ? p + 1 : p;
}

bool bp_accepts_openmetrics(const char *accept)
{
	int openmetrics = 0, text = 0, q;
	bool acceptable;
	char type[64];

	while (accept != NULL && *accept != '\0') {
		accept = element(accept, type, &q, &acceptable);
		if (strcasecmp(type, "application/openmetrics-text") == 0 && acceptable &&
			q > openmetrics)
			openmetrics = q;
		else if (strcasecmp(type, "text/plain") == 0 && q > text)
			text = q;
	}
	return openmetrics > 0 && openmetrics >= text;
}
