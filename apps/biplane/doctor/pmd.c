/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/pmd.h"

#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/tree.h"

#define ANY 0xffff

/* Takes each "PMD_INFO_STRING= {...}" of a library. */
static void take_library(json_t *drivers, const char *bytes, size_t len)
{
	static const char mark[] = "PMD_INFO_STRING= ";
	const char *end = bytes + len, *p = bytes;

	while ((p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1)) != NULL) {
		json_t *o;

		p += sizeof(mark) - 1;
		/* what is behind it in the library is no part of the text */
		o = json_loadb(p, strnlen(p, (size_t)(end - p)), JSON_DISABLE_EOF_CHECK, NULL);
		if (json_is_string(json_object_get(o, "name")))
			json_array_append(drivers, o);
		json_decref(o);
	}
}

static int is_shared_object(const char *name)
{
	const size_t n = strlen(name);

	return n > 3 && strcmp(name + n - 3, ".so") == 0;
}

json_t *bp_pmd_read(const char *root, const char *folder)
{
	struct bp_tree_names names = bp_tree_list(root, "%s", folder);
	json_t *drivers = json_array();

	for (size_t i = 0; drivers && i < names.n; i++) {
		char *bytes;
		size_t len;

		/* each is there under three names, with more of its version each time */
		if (strncmp(names.name[i], "librte_net_", 11) != 0 ||
			!is_shared_object(names.name[i]))
			continue;
		bytes = bp_tree_read_all(root, &len, "%s/%s", folder, names.name[i]);
		if (bytes)
			take_library(drivers, bytes, len);
		free(bytes);
	}
	bp_tree_names_free(&names);
	return drivers;
}

static int is(const json_t *ids, size_t i, uint16_t value)
{
	const json_int_t want = json_integer_value(json_array_get(ids, i));

	return want == ANY || want == value;
}

const char *bp_pmd_find(const json_t *drivers, const struct bp_pmd_device *d)
{
	const json_t *driver, *ids;
	size_t i, k;

	json_array_foreach(drivers, i, driver)
		json_array_foreach(json_object_get(driver, "pci_ids"), k, ids) if (
			is(ids, 0, d->vendor) && is(ids, 1, d->device) &&
			is(ids, 2, d->subsystem_vendor) &&
			is(ids, 3,
				d->subsystem_device)) return json_string_value(json_object_get(driver,
			"name"));
	return NULL;
}
