/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/cpu_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(const char **text, unsigned long *n)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*n = strtoul(*text, &end, 10);
	*text = end;
	return *n < CPU_SETSIZE;
}

static bool read_range(const char **text, cpu_set_t *out)
{
	unsigned long first, last;

	if (!read_number(text, &first))
		return false;
	last = first;
	if (**text == '-') {
		(*text)++;
		if (!read_number(text, &last) || last < first)
			return false;
	}
	for (unsigned long i = first; i <= last; i++)
		CPU_SET(i, out);
	return true;
}

bool bp_cpu_list_read(const char *text, cpu_set_t *out)
{
	CPU_ZERO(out);
	if (!*text || !strcmp(text, "(null)"))
		return true;
	for (;;) {
		if (!read_range(&text, out))
			break;
		if (!*text)
			return true;
		if (*text++ != ',')
			break;
	}
	CPU_ZERO(out);
	return false;
}

void bp_cpu_list_text(const cpu_set_t *set, char *out, size_t size)
{
	size_t at = 0;

	out[0] = 0;
	for (unsigned i = 0; i < CPU_SETSIZE && at < size; i++) {
		unsigned last = i;

		if (!CPU_ISSET(i, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		at += (size_t)snprintf(out + at, size - at, "%s%u", at ? "," : "", i);
		if (last > i && at < size)
			at += (size_t)snprintf(out + at, size - at, "-%u", last);
		i = last;
	}
}
