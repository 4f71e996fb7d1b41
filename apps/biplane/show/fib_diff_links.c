/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces and neighbors of the two sides. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/fib_diff.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/text.h"

static bool add(struct bp_fib_diff *d, enum bp_fib_side side, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool add(struct bp_fib_diff *d, enum bp_fib_side side, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n >= 0 && bp_fib_diff_add(d, side, text);
}

#define FLAGS (BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL)

static void flags_text(uint32_t flags, char out[40])
{
	snprintf(out, 40, "%s,%s%s", flags & BP_IF_UP ? "up" : "down",
		flags & BP_IF_CARRIER ? "carrier" : "no carrier",
		flags & BP_IF_KERNEL ? "" : ",not in the kernel");
}

static bool has_address(
	const struct bp_interface_info *info, const struct bp_interface_address *wanted)
{
	for (unsigned i = 0; i < info->n_addresses && i < BP_ADDRESSES_MAX; i++) {
		const struct bp_interface_address *a = &info->address[i];

		if (a->length == wanted->length && a->address.family == wanted->address.family &&
			memcmp(a->address.bytes, wanted->address.bytes, sizeof(a->address.bytes)) ==
				0)
			return true;
	}
	return false;
}

/* Those of `a` that `b` has not. */
static bool addresses(struct bp_fib_diff *d, enum bp_fib_side side, const char *name,
	const struct bp_interface_info *a, const struct bp_interface_info *b)
{
	for (unsigned i = 0; i < a->n_addresses && i < BP_ADDRESSES_MAX; i++) {
		char ip[BP_TEXT_IP];

		if (has_address(b, &a->address[i]))
			continue;
		bp_text_ip(&a->address[i].address, ip);
		if (!add(d, side, "interface %s: address %s/%u", name, ip,
			    (unsigned)a->address[i].length))
			return false;
	}
	return true;
}

static bool both_interfaces(struct bp_fib_diff *d, const char *name,
	const struct bp_interface_info *kernel, const struct bp_interface_info *own)
{
	uint32_t before = d->n;
	char k[40], o[40];
	bool complete = true;

	if ((kernel->flags & FLAGS) != (own->flags & FLAGS)) {
		flags_text(kernel->flags, k);
		flags_text(own->flags, o);
		complete = add(d, BP_DIFF_BOTH, "interface %s: kernel %s; biplane %s", name, k, o);
	}
	if (complete && kernel->ifindex != own->ifindex)
		complete = add(d, BP_DIFF_BOTH,
			"interface %s: kernel ifindex %" PRIu32 "; biplane ifindex %" PRIu32, name,
			kernel->ifindex, own->ifindex);
	if (complete && kernel->mtu != own->mtu)
		complete = add(d, BP_DIFF_BOTH,
			"interface %s: kernel mtu %" PRIu32 "; biplane mtu %" PRIu32, name,
			kernel->mtu, own->mtu);
	if (complete && memcmp(kernel->mac, own->mac, sizeof(own->mac)) != 0) {
		bp_text_mac(kernel->mac, k);
		bp_text_mac(own->mac, o);
		complete = add(
			d, BP_DIFF_BOTH, "interface %s: kernel mac %s; biplane mac %s", name, k, o);
	}
	if (complete && (kernel->vrf != own->vrf || kernel->vrf_table != own->vrf_table))
		complete = add(d, BP_DIFF_BOTH, "interface %s: not in the same VRF", name);
	complete = complete && addresses(d, BP_DIFF_KERNEL_ONLY, name, kernel, own) &&
		   addresses(d, BP_DIFF_BIPLANE_ONLY, name, own, kernel);
	d->same += complete && d->n == before;
	return complete;
}

bool bp_fib_diff_interfaces(
	const struct bp_show_source *s, const struct bp_kernel_state *k, struct bp_fib_diff *d)
{
	const struct bp_fib *f = &s->shm->fib;
	struct bp_interface_names names = {0};
	bool complete = true;

	if (f->max_routes)
		bp_interface_names_read(f, &names);
	for (unsigned i = 0; complete && i < BP_ALL_INTERFACES; i++) {
		const struct bp_interface_info *kernel = &k->interface[i];
		struct bp_interface_info own;
		bool here = f->max_routes && bp_fib_interface(f, i, &own);
		char spare[8];
		const char *name = bp_interface_name(&names, i, spare);

		if (kernel->flags && here)
			complete = both_interfaces(d, name, kernel, &own);
		else if (kernel->flags)
			complete = add(d, BP_DIFF_KERNEL_ONLY, "interface %.*s", BP_NAME_MAX,
				kernel->name);
		else if (here && (own.flags & BP_IF_KERNEL))
			complete = add(d, BP_DIFF_BIPLANE_ONLY, "interface %s", name);
		else if (here)
			d->only_in_file++;
	}
	return complete;
}

static bool add_neighbor(struct bp_fib_diff *d, enum bp_fib_side side,
	const struct bp_neighbor_info *n, const struct bp_interface_names *names)
{
	char ip[BP_TEXT_IP], mac[BP_TEXT_MAC], spare[8];

	bp_text_ip(&n->address, ip);
	bp_text_mac(n->mac, mac);
	return add(d, side, "%s dev %s lladdr %s", ip,
		bp_interface_name(names, n->interface, spare), mac);
}

static bool one_neighbor(struct bp_fib_diff *d, const struct bp_neighbor_info *kernel,
	const struct bp_neighbor_info *own, const struct bp_interface_names *names)
{
	char ip[BP_TEXT_IP], k[BP_TEXT_MAC], o[BP_TEXT_MAC], spare[8];

	if (own && own->state == BP_NEIGHBOR_PERMANENT) {
		d->only_in_file++;
		return true;
	}
	if (!own)
		return !kernel || add_neighbor(d, BP_DIFF_KERNEL_ONLY, kernel, names);
	if (!kernel)
		return add_neighbor(d, BP_DIFF_BIPLANE_ONLY, own, names);
	if (memcmp(kernel->mac, own->mac, sizeof(own->mac)) == 0) {
		d->same++;
		return true;
	}
	bp_text_ip(&own->address, ip);
	bp_text_mac(kernel->mac, k);
	bp_text_mac(own->mac, o);
	return add(d, BP_DIFF_BOTH, "%s dev %s: kernel lladdr %s; biplane lladdr %s", ip,
		bp_interface_name(names, own->interface, spare), k, o);
}

/* One that the kernel asked for in vain is as good as none: the tables have no entry for it. */
static bool wanted(const struct bp_fib_filter *filter, const struct bp_neighbor_info *n)
{
	return n->state != BP_NEIGHBOR_FAILED && n->state != BP_NEIGHBOR_ABSENT &&
	       (!filter->family || n->address.family == filter->family);
}

bool bp_fib_diff_neighbors(
	const struct bp_show_source *s, const struct bp_kernel_state *k, struct bp_fib_diff *d)
{
	struct bp_interface_names names = {0};
	struct bp_neighbor_list l;
	uint32_t i = 0, j = 0;
	bool complete = true;

	if (bp_neighbor_list_read(&l, &s->shm->fib, &s->filter))
		return false;
	if (s->shm->fib.max_routes)
		bp_interface_names_read(&s->shm->fib, &names);
	while (complete && (i < k->n_neighbors || j < l.n)) {
		const struct bp_neighbor_info *kernel = i < k->n_neighbors ? &k->neighbor[i] : NULL;
		int order;

		if (kernel && !wanted(&s->filter, kernel)) {
			i++;
			continue;
		}
		order = !kernel ? 1 : j == l.n ? -1 : bp_neighbor_order(kernel, &l.item[j]);
		complete = one_neighbor(
			d, order <= 0 ? kernel : NULL, order >= 0 ? &l.item[j] : NULL, &names);
		i += order <= 0;
		j += order >= 0;
	}
	bp_neighbor_list_free(&l);
	return complete;
}
