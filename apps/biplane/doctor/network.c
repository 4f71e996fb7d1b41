/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/network_here.h"
#include "apps/biplane/doctor/network_ip.h"
#include "apps/biplane/doctor/pci_address.h"
#include "apps/biplane/doctor/tree.h"
#include "apps/biplane/show/fib_text.h"
#include "controlplane/sync/survey.h"

#define TABLE_MAIN 254u

/* A route that leads to the far end of a session. */
struct route {
	unsigned session, length;
	uint32_t table, index;
};

struct survey {
	const char *root;
	const struct bp_doctor_sessions *sessions;
	struct bp_doctor_network *net;
	struct route *route;
	size_t n_routes;
};

struct bp_doctor_interface *bp_doctor_interface_find(
	const struct bp_doctor_network *n, const char *name)
{
	for (size_t i = 0; i < n->n; i++)
		if (!strcmp(n->interface[i].name, name))
			return &n->interface[i];
	return NULL;
}

static struct bp_doctor_interface *by_index(const struct bp_doctor_network *n, uint32_t index)
{
	for (size_t i = 0; index != 0 && i < n->n; i++)
		if (n->interface[i].index == index)
			return &n->interface[i];
	return NULL;
}

static uint32_t index_of(void *arg, const char *name)
{
	const struct survey *s = arg;
	const struct bp_doctor_interface *i = bp_doctor_interface_find(s->net, name);

	return i ? i->index : 0;
}

static void set_blind(struct bp_doctor_network *net, const char *through, const char *what)
{
	if (!net->blind[0])
		snprintf(net->blind, sizeof(net->blind),
			"%s %.200s, but its NIC cannot be determined", through, what);
}

/*
 * Marks an interface and all interfaces below it: the parent of a VLAN, the members of a bond or a
 * bridge. An interface with none below it (a tunnel, a veth, PPP) can use any NIC.
 */
static void mark(struct survey *s, struct bp_doctor_interface *i, const char *what)
{
	struct bp_tree_names names;
	bool has_lower = i->hardware;

	if (i->never[0])
		return; /* it and the interfaces below are marked */
	snprintf(i->never, sizeof(i->never), "%s", what);
	names = bp_tree_list(s->root, "/sys/class/net/%s", i->name);
	for (size_t k = 0; k < names.n; k++) {
		struct bp_doctor_interface *below;

		if (strncmp(names.name[k], "lower_", 6) != 0)
			continue;
		below = bp_doctor_interface_find(s->net, names.name[k] + 6);
		if (!below)
			continue; /* in another network namespace */
		has_lower = true;
		mark(s, below, what);
	}
	bp_tree_names_free(&names);
	if (!has_lower && strcmp(i->name, "lo") != 0)
		set_blind(s->net, i->name, what);
}

static void take_address(
	void *arg, uint32_t index, const struct bp_address *address, unsigned length)
{
	struct survey *s = arg;
	struct bp_doctor_interface *i = by_index(s->net, index);
	const bool link_local = address->family == 6 && address->bytes[0] == 0xfe &&
				(address->bytes[1] & 0xc0) == 0x80;
	char text[BP_TEXT_IP], what[128];

	if (!i)
		return;
	for (unsigned k = 0; k < s->sessions->n; k++) {
		if (memcmp(&s->sessions->session[k].local, address, sizeof(*address)) != 0)
			continue;
		bp_text_ip(&s->sessions->session[k].peer, text);
		snprintf(what, sizeof(what), "carries an SSH session (from %s)", text);
		mark(s, i, what);
	}
	if (link_local)
		return;
	bp_text_ip(address, text);
	if (i->n_addresses++ == 0)
		snprintf(i->address, sizeof(i->address), "%s/%u", text, length);
}

/* 0.0.0.0/1 and 128.0.0.0/1 together are a default route, too, as some VPNs set it. */
static bool is_default(const struct bp_prefix *p)
{
	return p->length <= 1;
}

static bool prefix_contains(const struct bp_prefix *p, const struct bp_address *a)
{
	const struct bp_prefix of = bp_prefix_of(*a, p->length);

	return p->family == a->family && memcmp(of.bytes, p->bytes, sizeof(of.bytes)) == 0;
}

static void take_default(
	struct survey *s, const struct bp_prefix *to, uint32_t table, uint32_t index)
{
	struct bp_doctor_interface *i = by_index(s->net, index);
	char what[128], where[32] = "";

	if (table != TABLE_MAIN)
		snprintf(where, sizeof(where), ", table %u", table);
	snprintf(what, sizeof(what), "carries the default route (IPv%u%s)", to->family, where);
	if (i)
		mark(s, i, what);
	else
		set_blind(s->net, "an unknown interface", what);
}

static void add_route(void *arg, const struct bp_prefix *to, uint32_t table, uint32_t index)
{
	struct survey *s = arg;

	if (is_default(to))
		take_default(s, to, table, index);
	for (unsigned k = 0; k < s->sessions->n; k++) {
		struct route *more;

		if (is_default(to) || !prefix_contains(to, &s->sessions->session[k].peer))
			continue;
		more = realloc(s->route, (s->n_routes + 1) * sizeof(*more));
		if (!more) {
			snprintf(s->net->blind, sizeof(s->net->blind),
				"not enough memory to read the routes");
			return;
		}
		s->route = more;
		more[s->n_routes++] = (struct route){k, to->length, table, index};
	}
}

/* The longest prefix of each table is the return route of a session. */
static void mark_default_routes(struct survey *s)
{
	for (size_t i = 0; i < s->n_routes; i++) {
		const struct route *w = &s->route[i];
		struct bp_doctor_interface *through = by_index(s->net, w->index);
		char text[BP_TEXT_IP], what[128];
		bool longest = true;

		for (size_t k = 0; k < s->n_routes && longest; k++)
			longest = s->route[k].session != w->session ||
				  s->route[k].table != w->table || s->route[k].length <= w->length;
		if (!longest)
			continue;
		bp_text_ip(&s->sessions->session[w->session].peer, text);
		snprintf(what, sizeof(what), "carries the return route of an SSH session (to %s)",
			text);
		if (through)
			mark(s, through, what);
		else
			set_blind(s->net, "an unknown interface", what);
	}
}

static void read_interface(const char *root, const char *name, struct bp_doctor_interface *i)
{
	struct bp_tree_names names = bp_tree_list(root, "/sys/class/net/%s", name);
	char flags[32];

	snprintf(i->name, sizeof(i->name), "%s", name);
	if (bp_tree_text(root, flags, sizeof(flags), "/sys/class/net/%s/flags", name))
		i->up = strtoul(flags, NULL, 0) & IFF_UP;
	i->hardware = bp_tree_exists(root, "/sys/class/net/%s/device", name);
	bp_pci_of_link(root, i->pci, "/sys/class/net/%s/device", name);
	bp_tree_link(root, i->master, sizeof(i->master), "/sys/class/net/%s/master", name);
	for (size_t k = 0; k < names.n; k++)
		if (!strncmp(names.name[k], "upper_", 6))
			snprintf(i->above, sizeof(i->above), "%s", names.name[k] + 6);
	bp_tree_names_free(&names);
}

static void read_interfaces(const char *root, struct bp_doctor_network *net)
{
	struct bp_tree_names names = bp_tree_list(root, "/sys/class/net");

	net->interface = calloc(names.n + 1, sizeof(*net->interface));
	for (size_t k = 0; net->interface && k < names.n; k++) {
		int64_t index;

		/* bonding_masters, say, is a file among them */
		if (!bp_tree_number(root, &index, "/sys/class/net/%s/ifindex", names.name[k]))
			continue;
		net->interface[net->n].index = (uint32_t)index;
		read_interface(root, names.name[k], &net->interface[net->n++]);
	}
	bp_tree_names_free(&names);
}

void bp_doctor_network_read(
	const char *root, const struct bp_doctor_sessions *sessions, struct bp_doctor_network *out)
{
	struct survey s = {.root = root, .sessions = sessions, .net = out};
	const struct bp_survey survey = {&s, take_address, add_route};
	char err[256];
	int result;

	memset(out, 0, sizeof(*out));
	read_interfaces(root, out);
	result = *root ? bp_doctor_survey_folder(root, &survey, index_of, err, sizeof(err))
		       : bp_survey_kernel(&survey, err, sizeof(err));
	mark_default_routes(&s);
	free(s.route);
	if (result == 0 && !*root && !bp_doctor_network_is_here(out)) {
		snprintf(err, sizeof(err),
			"/sys shows the interfaces of another network namespace (run the "
			"command with `ip netns exec`, or in the namespace of the host)");
		result = -1;
	}
	if (result != 0)
		snprintf(out->blind, sizeof(out->blind), "%s", err);
	else if (sessions->unknown[0] && !out->blind[0])
		snprintf(out->blind, sizeof(out->blind), "%s", sessions->unknown);
}

void bp_doctor_network_free(struct bp_doctor_network *n)
{
	free(n->interface);
	*n = (struct bp_doctor_network){0};
}
