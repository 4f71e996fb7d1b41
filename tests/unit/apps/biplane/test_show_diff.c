/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show --diff between the kernel and the tables that the sync manager fills from it, in a network
 * namespace of this process (as root; else skipped): after any change with ip, there is no
 * difference once the sync manager has caught up; changes that it has not seen are shown.
 */
#include "tests/unit/controlplane/test.h"

#include <event2/event.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/segment.h"
#include "apps/biplane/show/fib_diff.h"
#include "controlplane/sync/sync.h"

struct rig {
	struct event_base *base;
	struct bp_config config;
	struct bp_shm shm;
	struct bp_fib_writer *writer;
	struct bp_sync *sync;
	struct bp_show_source source;
};

static const struct bp_show_view *const views[] = {
	&bp_show_interfaces, &bp_show_neighbors, &bp_show_routes};

static void ip(const char *what)
{
	char command[512];

	snprintf(command, sizeof(command), "ip %s", what);
	if (system(command) != 0) // NOLINT
		fail_msg("%s", command);
}

static void port(struct bp_config *c, unsigned i, const char *name, const char *link)
{
	snprintf(c->port[i].name, sizeof(c->port[i].name), "%s", name);
	/* not held by the control plane: the test has made it */
	c->port[i].interface.backend = BP_BACKEND_VIRTIO;
	ip(link);
}

static int set_up(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;
	char err[256];

	*state = r;
	r->config.n_workers = 1;
	r->config.n_ports = 2;
	r->config.netlink = (struct bp_config_netlink){.route_table = 254,
		.receive_buffer = 1 << 20,
		.neighbor_refresh_ns = 60000000000ull};
	r->config.routing = (struct bp_config_routing){.max_ipv4_routes = 4096,
		.max_ipv6_routes = 4096,
		.max_neighbors = 1024,
		.max_nexthops = 1024,
		.max_nexthop_groups = 64};
	port(&r->config, 0, "lan", "link add lan up type veth peer name lanp");
	port(&r->config, 1, "wan", "link add wan up type veth peer name wanp");
	ip("link add other up type veth peer name otherp");
	ip("link set lanp up");
	ip("link set wanp up");
	ip("link set otherp up");
	ip("address add 10.0.0.1/24 dev lan");
	ip("address add 10.1.0.1/24 dev wan");
	ip("address add 10.3.0.1/24 dev other");
	ip("-6 address add fd00::1/64 dev lan nodad");
	ip("-6 address add fd01::1/64 dev wan nodad");
	s = bp_segment_anonymous(specs, bp_shm_specs(&r->config, specs), err, sizeof(err));
	if (!s || bp_shm_map(&r->shm, s, err, sizeof(err)))
		return -1;
	r->base = event_base_new();
	r->writer = bp_fib_writer_new(&r->shm.fib, NULL, NULL, err, sizeof(err));
	if (!r->writer)
		return -1;
	r->source = (struct bp_show_source){.shm = &r->shm, .mono_ns = 1000000000ull};
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	bp_sync_free(r->sync);
	bp_fib_writer_free(r->writer);
	event_base_free(r->base);
	bp_segment_close(r->shm.segment);
	free(r);
	ip("link delete lan");
	ip("link delete wan");
	ip("link delete other");
	ip("nexthop flush >/dev/null");
	return 0;
}

static void diff(const struct rig *r, const struct bp_show_view *view, struct bp_fib_diff *d)
{
	struct bp_kernel_state k;
	char err[256];

	memset(d, 0, sizeof(*d));
	if (bp_kernel_dump(&r->config, NULL, &k, err, sizeof(err)))
		fail_msg("%s", err);
	assert_true(view->diff(&r->source, &k, d));
	bp_kernel_state_free(&k);
}

static bool equal(const struct rig *r)
{
	unsigned differences = 0;

	for (unsigned v = 0; v < sizeof(views) / sizeof(views[0]); v++) {
		struct bp_fib_diff d;

		diff(r, views[v], &d);
		differences += d.n;
		bp_fib_diff_free(&d);
	}
	return differences == 0;
}

/* Runs the sync manager until nothing differs; else says what does, and after which step. */
static void follow(struct rig *r, const char *step)
{
	uint64_t end = test_now_ns() + TEST_DEADLINE_NS;

	while (!equal(r)) {
		if (test_now_ns() < end) {
			event_base_loop(r->base, EVLOOP_ONCE);
			continue;
		}
		for (unsigned v = 0; v < sizeof(views) / sizeof(views[0]); v++) {
			struct bp_fib_diff d;

			diff(r, views[v], &d);
			bp_fib_diff_print(&d, views[v]->name, stderr);
			bp_fib_diff_free(&d);
		}
		fail_msg("after \"%s\" the tables stay different", step);
	}
}

static void start(struct rig *r)
{
	struct bp_sync_to to = {.writer = r->writer,
		.fib = &r->shm.fib,
		.global = r->shm.global,
		.control = r->shm.control,
		.ports = r->shm.ports,
		.n_ports = 2};
	char err[256];

	r->sync = bp_sync_new(r->base, &to, &r->config, err, sizeof(err));
	if (!r->sync)
		fail_msg("%s", err);
	RUN_UNTIL(r, bp_sync_state(r->sync) == BP_SYNC_SYNCED);
}

static uint32_t same(const struct rig *r, const struct bp_show_view *view)
{
	struct bp_fib_diff d;
	uint32_t n;

	diff(r, view, &d);
	n = d.same;
	bp_fib_diff_free(&d);
	return n;
}

/* All kinds of routes that ip can set, while the sync manager runs. */
static void a_mirror_does_not_differ(void **state)
{
	static const char *const steps[] = {
		"route add 10.9.0.0/16 via 10.1.0.2",
		"route replace 10.9.0.0/16 via 10.1.0.3 proto bgp metric 20",
		"route add 10.10.0.0/16 nexthop via 10.1.0.2 weight 3 nexthop via 10.0.0.2",
		"route add 10.11.0.0/16 nexthop dev lan weight 200 nexthop dev wan weight 100",
		"route add 10.12.0.0/16 nexthop via 10.1.0.2 nexthop via 10.1.0.3",
		"route add 10.12.1.0/24 dev wan scope link",
		"route add blackhole 10.13.0.0/16",
		"route add unreachable 10.14.0.0/16",
		"route add prohibit 10.15.0.0/16 metric 7",
		"route add 10.16.0.0/16 via 10.3.0.2",
		"route add 10.17.0.0/16 via inet6 fe80::7 dev wan",
		"route add default via 10.1.0.2 metric 100",
		"route add default via 10.1.0.3 metric 50",
		"-6 route add 2001:db8::/32 via fd01::2 metric 30",
		"-6 route add 2001:db8:1::/48 nexthop via fd01::2 nexthop via fd00::2",
		"-6 route add blackhole 2001:db8:2::/48",
		"-6 route add default via fe80::9 dev wan",
		"nexthop add id 5 via 10.1.0.2 dev wan",
		"nexthop add id 6 via 10.0.0.2 dev lan",
		"nexthop add id 7 blackhole",
		"nexthop add id 8 group 5,3/6,1",
		"nexthop add id 9 via fd01::9 dev wan",
		"route add 10.18.0.0/16 nhid 5",
		"route add 10.19.0.0/16 nhid 8",
		"route add 10.20.0.0/16 nhid 7",
		"-6 route add 2001:db8:3::/48 nhid 9",
		"nexthop replace id 5 via 10.1.0.4 dev wan",
		"neighbor add 10.1.0.2 lladdr 02:00:00:00:01:02 dev wan nud permanent",
		"neighbor add 10.1.0.3 lladdr 02:00:00:00:01:03 dev wan nud reachable",
		"neighbor add fd01::2 lladdr 02:00:00:00:01:04 dev wan nud stale",
		"neighbor add 10.0.0.9 dev lan nud failed",
		"neighbor replace 10.1.0.3 lladdr 02:00:00:00:01:05 dev wan nud reachable",
		"neighbor delete 10.1.0.2 dev wan",
		"link set wan mtu 1400",
		"address add 10.2.0.1/24 dev lan",
		"link set lan address 02:00:00:00:00:77",
		"address delete 10.2.0.1/24 dev lan",
		"nexthop delete id 8",
		"link set otherp down",
		"link set wanp down",
		"link set wanp up",
		"link set lan down",
		"link set lan up",
	};
	struct rig *r = *state;
	uint32_t most_neighbors = 0;

	start(r);
	follow(r, "the start");
	/* the kernel may check a link's carrier as late as in a second */
	RUN_UNTIL(r, same(r, &bp_show_interfaces) == 2);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ip(steps[i]);
		follow(r, steps[i]);
		if (same(r, &bp_show_neighbors) > most_neighbors)
			most_neighbors = same(r, &bp_show_neighbors);
	}
	assert_true(same(r, &bp_show_routes) > 20);
	assert_true(most_neighbors >= 3); /* and what the kernel learned by itself */
}

/* No one follows: every change is a difference, with its line. */
static void what_changes_behind_its_back_is_told(void **state)
{
	static const struct {
		const char *step, *line;
		unsigned view;
	} cases[] = {
		{"route add 10.9.0.0/16 via 10.1.0.2",
			"- kernel only: 10.9.0.0/16 via 10.1.0.2 dev wan proto boot\n", 2},
		{"route delete 10.10.0.0/16",
			"+ biplane only: 10.10.0.0/16 via 10.1.0.2 dev wan proto static\n", 2},
		{"route replace 10.11.0.0/16 via 10.1.0.3",
			"~ differs: kernel 10.11.0.0/16 via 10.1.0.3 dev wan proto boot; biplane "
			"10.11.0.0/16 via 10.1.0.2 dev wan proto boot\n",
			2},
		{"neighbor add 10.1.0.2 lladdr 02:00:00:00:01:02 dev wan nud permanent",
			"- kernel only: 10.1.0.2 dev wan lladdr 02:00:00:00:01:02\n", 1},
		{"link set wan mtu 1400",
			"~ differs: interface wan: kernel mtu 1400; biplane mtu 1500\n", 0},
		{"address add 10.8.0.1/24 dev lan",
			"- kernel only: interface lan: address 10.8.0.1/24\n", 0},
	};
	struct rig *r = *state;

	ip("route add 10.10.0.0/16 via 10.1.0.2 proto static");
	ip("route add 10.11.0.0/16 via 10.1.0.2");
	start(r);
	RUN_UNTIL(r, equal(r));
	bp_sync_free(r->sync);
	r->sync = NULL;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct bp_show_view *view = views[cases[i].view];
		struct bp_fib_diff d;
		char *text = NULL;
		size_t len = 0;
		FILE *out;

		ip(cases[i].step);
		diff(r, view, &d);
		out = open_memstream(&text, &len);
		bp_fib_diff_print(&d, view->name, out);
		fclose(out);
		if (!strstr(text, cases[i].line))
			fail_msg("after ip %s: %s", cases[i].step, text);
		free(text);
		bp_fib_diff_free(&d);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_mirror_does_not_differ),
		CASE(what_changes_behind_its_back_is_told),
	};

	if (unshare(CLONE_NEWNET) != 0) {
		printf("SKIP: no network namespace: %s; run as root\n", strerror(errno));
		return 77; /* meson: skipped */
	}
	ip("link set lo up");
	return cmocka_run_group_tests_name("show_diff", tests, NULL, NULL);
}
