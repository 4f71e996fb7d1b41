/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/pci_address.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/tree.h"

static bool is_hex(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return false;
	return true;
}

bool bp_pci_is_address(const char *text, size_t len)
{
	/* "DDDD:BB:SS.F"; a domain may have more digits (Intel's VMD) */
	static const size_t tail = sizeof(":BB:SS.F") - 1;
	const char *p;

	if (len < 4 + tail || len >= BP_PCI_ADDRESS)
		return false;
	p = text + len - tail;
	return is_hex(text, len - tail) && p[0] == ':' && is_hex(p + 1, 2) && p[3] == ':' &&
	       is_hex(p + 4, 2) && p[6] == '.' && p[7] >= '0' && p[7] <= '7';
}

bool bp_pci_read(const char *text, char out[BP_PCI_ADDRESS])
{
	const bool bare = strlen(text) == sizeof("BB:SS.F") - 1;
	const int n = snprintf(out, BP_PCI_ADDRESS, "%s%s", bare ? "0000:" : "", text);

	for (char *p = out; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (n > 0 && n < BP_PCI_ADDRESS && bp_pci_is_address(out, (size_t)n))
		return true;
	out[0] = 0;
	return false;
}

bool bp_pci_of_link(const char *root, char out[BP_PCI_ADDRESS], const char *format, ...)
{
	char path[BP_TREE_PATH], real[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s", root), more = -1;
	va_list args;

	out[0] = 0;
	va_start(args, format);
	if (n >= 0 && n < (int)sizeof(path))
		more = vsnprintf(path + n, sizeof(path) - (size_t)n, format, args);
	va_end(args);
	if (more < 0 || n + more >= (int)sizeof(path) || !realpath(path, real))
		return false;
	/* the last one in /sys/devices/pci0000:00/0000:00:03.0/virtio2 */
	for (char *slash; (slash = strrchr(real, '/')) != NULL; *slash = 0)
		if (bp_pci_is_address(slash + 1, strlen(slash + 1))) {
			snprintf(out, BP_PCI_ADDRESS, "%s", slash + 1);
			return true;
		}
	return false;
}
