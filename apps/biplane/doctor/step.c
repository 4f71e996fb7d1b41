/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGES_MAX ((int64_t)1 << 24)

/* What becomes part of a path must not lead elsewhere. */
static bool is_name(const char *text)
{
	return strlen(text) < 64 && !strchr(text, '/') && strcmp(text, "..") != 0 &&
	       strcmp(text, ".") != 0;
}

static bool read_module(const json_t *o, struct bp_step *s)
{
	s->kind = BP_STEP_MODULE;
	return json_unpack((json_t *)(uintptr_t)o, "{ss}", "name", &s->name) == 0 &&
	       is_name(s->name) && s->name[0] != '-' && s->name[0] != 0;
}

static bool read_noiommu(const json_t *o, struct bp_step *s)
{
	s->kind = BP_STEP_NOIOMMU;
	return json_unpack((json_t *)(uintptr_t)o, "{ss}", "was", &s->was) == 0 &&
	       (!strcmp(s->was, "Y") || !strcmp(s->was, "N"));
}

static bool read_hugepages(const json_t *o, struct bp_step *s)
{
	json_int_t node, kib, was, to;

	s->kind = BP_STEP_HUGEPAGES;
	if (json_unpack((json_t *)(uintptr_t)o, "{sI sI sI sI}", "node", &node, "kib", &kib, "was",
		    &was, "to", &to) != 0)
		return false;
	s->node = node;
	s->kib = kib;
	s->pages_was = was;
	s->pages_to = to;
	return node >= -1 && node < 1024 && kib > 0 && was >= 0 && was <= PAGES_MAX && to >= 0 &&
	       to <= PAGES_MAX;
}

static bool read_mount(const json_t *o, struct bp_step *s)
{
	int made;

	s->kind = BP_STEP_MOUNT;
	if (json_unpack((json_t *)(uintptr_t)o, "{ss sb}", "dir", &s->name, "made", &made) != 0)
		return false;
	s->made = made;
	return s->name[0] == '/' && !strstr(s->name, "..") && strlen(s->name) < 256;
}

static bool read_bind(const json_t *o, struct bp_step *s)
{
	const json_t *i;
	size_t k;

	s->kind = BP_STEP_BIND;
	s->interfaces = json_object_get(o, "interfaces");
	if (json_unpack((json_t *)(uintptr_t)o, "{ss ss ss}", "nic", &s->name, "driver", &s->was,
		    "override", &s->override) != 0 ||
		!json_is_array(s->interfaces))
		return false;
	json_array_foreach(s->interfaces, k, i)
	{
		const char *name = json_string_value(json_object_get(i, "name"));

		if (!name || !is_name(name) || !name[0] || name[0] == '-')
			return false;
	}
	return bp_pci_is_address(s->name, strlen(s->name)) && is_name(s->was) &&
	       is_name(s->override);
}

bool bp_step_read(const json_t *o, struct bp_step *s)
{
	static const struct {
		const char *word;
		bool (*read)(const json_t *o, struct bp_step *s);
	} kinds[] = {{"module", read_module}, {"noiommu", read_noiommu},
		{"hugepages", read_hugepages}, {"mount", read_mount}, {"bind", read_bind}};
	const char *word = json_string_value(json_object_get(o, "do"));

	*s = (struct bp_step){0};
	for (size_t i = 0; word && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].word, word))
			return kinds[i].read(o, s);
	return false;
}

json_t *bp_step_module(const char *name)
{
	return json_pack("{ss ss}", "do", "module", "name", name);
}

json_t *bp_step_noiommu(const char *was)
{
	return json_pack("{ss ss}", "do", "noiommu", "was", was);
}

json_t *bp_step_hugepages(int64_t node, int64_t kib, int64_t was, int64_t to)
{
	return json_pack("{ss sI sI sI sI}", "do", "hugepages", "node", (json_int_t)node, "kib",
		(json_int_t)kib, "was", (json_int_t)was, "to", (json_int_t)to);
}

json_t *bp_step_mount(const char *dir, bool made)
{
	return json_pack("{ss ss sb}", "do", "mount", "dir", dir, "made", (int)made);
}

json_t *bp_step_bind(const struct bp_nic *nic, const struct bp_doctor_network *net)
{
	json_t *interfaces = json_array();

	for (unsigned k = 0; k < nic->n_interfaces; k++) {
		const struct bp_doctor_interface *i =
			bp_doctor_interface_find(net, nic->interface[k]);

		if (i)
			json_array_append_new(
				interfaces, json_pack("{ss sb ss}", "name", i->name, "up",
						    (int)i->up, "address", i->address));
	}
	return json_pack("{ss ss ss ss so}", "do", "bind", "nic", nic->address, "driver",
		nic->driver, "override", nic->override, "interfaces", interfaces);
}

static void describe_bind(const struct bp_step *s, bool back, char *out, size_t size)
{
	const char *interface =
		json_string_value(json_object_get(json_array_get(s->interfaces, 0), "name"));
	const char *was = s->was[0] ? s->was : "no driver";

	snprintf(out, size, "%s%s%s%s: %s -> %s", s->name, interface ? " (" : "",
		interface ? interface : "", interface ? ")" : "", back ? "vfio-pci" : was,
		back ? was : "vfio-pci");
}

void bp_step_describe(const json_t *o, bool back, char *out, size_t size)
{
	char where[64] = "";
	struct bp_step s;

	if (!bp_step_read(o, &s)) {
		snprintf(out, size, "an invalid step");
		return;
	}
	switch (s.kind) {
	case BP_STEP_MODULE:
		snprintf(out, size, "modprobe %s%s", back ? "-r " : "", s.name);
		return;
	case BP_STEP_NOIOMMU:
		snprintf(out, size, "vfio without an IOMMU (enable_unsafe_noiommu_mode): %s -> %s",
			back ? "Y" : s.was, back ? s.was : "Y");
		return;
	case BP_STEP_HUGEPAGES:
		if (s.node >= 0)
			snprintf(where, sizeof(where), " on NUMA node %" PRId64, s.node);
		snprintf(out, size, "hugepages of %" PRId64 " MiB%s: %" PRId64 " -> %" PRId64,
			s.kib / 1024, where, back ? s.pages_to : s.pages_was,
			back ? s.pages_was : s.pages_to);
		return;
	case BP_STEP_MOUNT:
		snprintf(out, size, "%s %s", back ? "umount" : "mount -t hugetlbfs hugetlbfs",
			s.name);
		return;
	case BP_STEP_BIND:
		describe_bind(&s, back, out, size);
		return;
	}
}
