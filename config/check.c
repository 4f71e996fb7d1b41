/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "config/check_place.h"

/*
 * Checks across several settings. A check uses only settings that were read without error: the
 * others already have their message.
 */

/* Returns the value of the last argument `key` of a device string, its length in *len; NULL:
 * none. */
static const char *device_argument(const char *device, const char *key, size_t *len)
{
	const size_t n = strlen(key);
	const char *found = NULL;

	for (const char *p = strchr(device, ','); p != NULL; p = strchr(p, ',')) {
		p++;
		if (strncmp(p, key, n) == 0 && p[n] == '=')
			found = p + n + 1;
	}
	if (found != NULL)
		*len = strcspn(found, ",");
	return found;
}

static bool same_argument(const char *a, const char *b, const char *key)
{
	size_t na, nb;
	const char *va = device_argument(a, key, &na), *vb = device_argument(b, key, &nb);

	return va != NULL && vb != NULL && na == nb && strncmp(va, vb, na) == 0;
}

/* Returns the bus part of a PCI address: the domain 0000 is optional. */
static const char *without_domain(const char *device)
{
	return strncmp(device, "0000:", 5) == 0 && strcspn(device + 5, ":") == 2 ? device + 5
										 : device;
}

/* Returns whether two device strings receive the same frames: the same PCI function, or the same
 * kernel interface. Two AF_XDP devices may share an interface with different queues. */
static bool same_device(const char *a, const char *b)
{
	const bool queues =
		strncmp(a, "net_af_xdp", 10) == 0 && strncmp(b, "net_af_xdp", 10) == 0 &&
		!same_argument(a, b, "start_queue") &&
		(strstr(a, ",start_queue=") != NULL || strstr(b, ",start_queue=") != NULL);
	size_t na, nb;

	if (strcmp(a, b) == 0 || (same_argument(a, b, "iface") && !queues))
		return true;
	a = without_domain(a);
	b = without_domain(b);
	na = strcspn(a, ",");
	nb = strcspn(b, ",");
	/* the name of a virtual device is not compared: DPDK's name need not differ in the file */
	return strncmp(a, "net_", 4) != 0 && na == nb && strncasecmp(a, b, na) == 0;
}

void bp_check_port(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_config *c = r->config;
	const struct bp_config_port *p = base;
	const struct bp_yaml *name = bp_good(n, "name"), *device = bp_good(n, "device");

	for (const struct bp_config_port *q = c->port; q < p; q++) {
		if (name != NULL && strcmp(q->name, p->name) == 0)
			bp_error(r->messages, name->line, name->column,
				"%s.name: port '%s' is named twice; expected a unique name",
				r->path, p->name);
		if (device != NULL && same_device(q->device, p->device))
			bp_error(r->messages, device->line, device->column,
				"%s.device: port '%s' has the same device; expected a different "
				"device",
				r->path, q->name);
	}
}

void bp_check_punt(struct bp_reader *r)
{
	for (uint32_t i = 0; i < BP_EX_CLASSES; i++) {
		uint32_t tenth = r->config->punt.policer[i].rate_pps / 10;

		if (r->config->punt.policer[i].burst == 0)
			r->config->punt.policer[i].burst = tenth > 32 ? tenth : 32;
	}
}

void bp_check_secret_file(
	struct bp_reader *r, const struct bp_yaml *at, const char *key, const char *path)
{
	struct stat st;

	if (at != NULL && stat(path, &st) == 0 && (st.st_mode & S_IRWXO) != 0)
		bp_warning(r->messages, at->line, at->column,
			"%s.%s: file %s is accessible to every user (mode %03o); expected mode 640",
			r->path, key, path, (unsigned)(st.st_mode & 0777));
}
