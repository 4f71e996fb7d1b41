/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <event2/event.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/sync/kernel_dump.h"
#include "config/segment.h"
#include "controlplane/sync/sync.h"
#include "tests/unit/controlplane/sync/sync_net.h"

/* The sync manager with the real tables: that they equal the kernel's, and how fast. */

struct fixture {
	struct event_base *base;
	struct bp_config config;
	struct bp_port_info ports[2];
	struct bp_shm shm;
	struct bp_fib_writer *writer;
	struct bp_sync *sync;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *segment;
	char err[512];

	assert_non_null(f);
	sync_net_make(&f->config);
	f->config.routing = (struct bp_config_routing){300000, 50000, 4096, 4096, 512};
	f->base = event_base_new();
	segment = bp_segment_anonymous(specs, bp_shm_specs(&f->config, specs), err, sizeof(err));
	if (segment == NULL || bp_shm_map(&f->shm, segment, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	*state = f;
	return 0;
}

static void start(struct fixture *f)
{
	char err[512];

	f->writer = bp_fib_writer_new(&f->shm.fib, NULL, NULL, err, sizeof(err));
	if (f->writer == NULL)
		fail_msg("%s", err);
	const struct bp_sync_to to = {.writer = f->writer,
		.fib = &f->shm.fib,
		.global = f->shm.global,
		.control = f->shm.control,
		.ports = f->ports,
		.n_ports = 2};

	f->sync = bp_sync_new(f->base, &to, &f->config, err, sizeof(err));
	if (f->sync == NULL)
		fail_msg("%s", err);
	RUN_UNTIL(f, bp_sync_state(f->sync) == BP_SYNC_SYNCED);
}

static void finish(struct fixture *f)
{
	bp_sync_free(f->sync);
	bp_fib_writer_free(f->writer);
	f->sync = NULL;
	f->writer = NULL;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	finish(f);
	bp_segment_close(f->shm.segment);
	sync_net_clear();
	event_base_free(f->base);
	free(f);
	return 0;
}

/* ---- tables and kernel ---- */

static int route_order(const void *a, const void *b)
{
	return bp_kernel_route_order(a, b);
}

static bool same_hops(const struct bp_route *a, const struct bp_route *b)
{
	if (a->n_hops != b->n_hops)
		return false;
	for (uint32_t i = 0; i < a->n_hops; i++)
		if (a->hop[i].interface != b->hop[i].interface ||
			a->hop[i].weight != b->hop[i].weight ||
			a->hop[i].gateway.family != b->hop[i].gateway.family ||
			memcmp(a->hop[i].gateway.bytes, b->hop[i].gateway.bytes, 16) != 0)
			return false;
	return true;
}

static bool same_route(const struct bp_route *a, const struct bp_route *b)
{
	return route_order(a, b) == 0 && a->type == b->type && a->protocol == b->protocol &&
	       a->metric == b->metric && a->object == b->object && same_hops(a, b);
}

static void print_route(const char *who, const struct bp_route *r)
{
	const int family = r->prefix.family == 4 ? AF_INET : AF_INET6;
	char text[INET6_ADDRSTRLEN];

	printf("%s %s/%u %s protocol %u metric %u object %u", who,
		inet_ntop(family, r->prefix.bytes, text, sizeof(text)), r->prefix.length,
		bp_route_type_name[r->type], r->protocol, r->metric, r->object);
	for (uint32_t i = 0; i < r->n_hops; i++)
		printf(", %u %s %u", r->hop[i].interface,
			inet_ntop(r->hop[i].gateway.family == 6 ? AF_INET6 : AF_INET,
				r->hop[i].gateway.bytes, text, sizeof(text)),
			r->hop[i].weight);
	printf("\n");
}

static bool routes_equal(struct fixture *f, const struct bp_kernel_state *k)
{
	const uint32_t n = atomic_load(&f->shm.fib.control->routes4) +
			   atomic_load(&f->shm.fib.control->routes6);
	struct bp_route *have = calloc(n + 1u, sizeof(*have));
	uint32_t cursor = 0, got = 0, same = 0;

	assert_non_null(have);
	while (got < n && bp_fib_next_route(&f->shm.fib, &cursor, &have[got]))
		got++;
	qsort(have, got, sizeof(*have), route_order);
	for (uint32_t i = 0; i < got && i < k->n_routes; i++)
		if (same_route(&have[i], &k->route[i]))
			same++;
		else if (same == i) {
			print_route("the tables have", &have[i]);
			print_route("the kernel has ", &k->route[i]);
		}
	if (same != n || n != k->n_routes)
		printf("of %u routes %u are as the kernel's %u\n", n, same, k->n_routes);
	free(have);
	return same == n && n == k->n_routes;
}

static bool neighbors_equal(struct fixture *f, const struct bp_kernel_state *k)
{
	struct bp_neighbor_info n;
	uint32_t cursor = 0, found = 0;

	while (bp_fib_next_neighbor(&f->shm.fib, &cursor, &n))
		for (uint32_t i = 0; i < k->n_neighbors; i++)
			if (bp_kernel_neighbor_order(&n, &k->neighbor[i]) == 0)
				found += memcmp(n.mac, k->neighbor[i].mac, 6) == 0 &&
					 n.state == k->neighbor[i].state;
	return found == k->n_neighbors && found == atomic_load(&f->shm.fib.control->neighbors);
}

static bool as_the_kernel(struct fixture *f)
{
	struct bp_kernel_state k;
	char err[512];
	bool same;

	if (bp_kernel_dump(&f->config, NULL, &k, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	same = routes_equal(f, &k) && neighbors_equal(f, &k);
	bp_kernel_state_free(&k);
	return same;
}

/* ---- tests ---- */

/* Random requests to the kernel; half of them are invalid, and are refused. */
static void random_change(FILE *f, uint64_t *seed, bool *v6)
{
	static const char *const verb[] = {
		"add", "replace", "append", "prepend", "delete", "change"};
	unsigned v = test_random(seed) % 6, p = test_random(seed) % 40, g = test_random(seed) % 4;
	unsigned metric = test_random(seed) % 3, kind = test_random(seed) % 10;
	char prefix[64], via[3][64];
	const char *family = *v6 ? "-6 " : "";

	snprintf(prefix, sizeof(prefix), *v6 ? "fd99:%u::/%u" : "10.9%u.0.0/%u", *v6 ? p : p % 9,
		*v6 ? 32 + p % 3 * 16 : 16 + p % 3 * 4);
	for (unsigned i = 0; i < 3; i++)
		snprintf(via[i], sizeof(via[i]), *v6 ? "via fd0%u::%u" : "via 10.%u.0.%u",
			(unsigned)(test_random(seed) % 2), 2 + g + i);
	if (v == 5)
		v = 1;
	if (kind == 0)
		fprintf(f, "%sroute %s unreachable %s metric %u\n", family, verb[v], prefix,
			metric + 1);
	else if (kind == 1 && v < 2)
		fprintf(f, "%sroute %s %s nhid %u metric %u\n", family, verb[v], prefix,
			*v6 ? 20 + g % 2 : 10 + g % 3, metric + 1);
	else if (kind <= 3 && v != 3)
		fprintf(f, "%sroute %s %s metric %u nexthop %s weight %u nexthop %s\n", family,
			verb[v], prefix, metric + 1, via[0], 1 + g, via[1]);
	else if (kind == 4 && v == 4)
		fprintf(f, "%sroute delete %s\n", family, prefix);
	else
		fprintf(f, "%sroute %s %s %s metric %u\n", family, verb[v], prefix, via[2],
			metric + 1);
	if (kind == 9)
		fprintf(f, "nexthop replace id %u via %s\n", *v6 ? 20 + g % 2 : 10 + g % 2,
			*v6      ? "fd00::7 dev lan"
			: g == 0 ? "10.0.0.7 dev lan"
				 : "10.1.0.7 dev wan");
	if (kind == 8)
		fprintf(f, "neighbor replace 10.0.0.%u lladdr 02:00:00:00:0%u:01 dev lan\n", 2 + p,
			g);
}

/* Every kind of change in every order: whatever the kernel makes of it, the tables follow. */
static void random_changes(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 0x5eed0001;

	start(f);
	RUN_UNTIL(f, as_the_kernel(f));
	sync_rig_ip("nexthop add id 10 via 10.0.0.2 dev lan");
	sync_rig_ip("nexthop add id 11 via 10.1.0.2 dev wan");
	sync_rig_ip("nexthop add id 12 group 10,3/11");
	sync_rig_ip("-6 nexthop add id 20 via fd00::2 dev lan");
	sync_rig_ip("-6 nexthop add id 21 via fd01::2 dev wan");
	for (unsigned round = 0; round < 60; round++) {
		FILE *b = popen("ip -force -batch - 2>/dev/null", "w"); // NOLINT
		bool v6 = false;

		assert_non_null(b);
		for (unsigned i = 0; i < 100; i++, v6 = !v6)
			random_change(b, &seed, &v6);
		pclose(b);
		if (round % 20 == 7)
			sync_rig_ip("link set wan down");
		if (round % 20 == 9)
			sync_rig_ip("link set wan up");
		/* all requests were sent: only events in flight may be pending */
		event_base_loop(f->base, EVLOOP_NONBLOCK);
		RUN_UNTIL(f, bp_sync_state(f->sync) == BP_SYNC_SYNCED && as_the_kernel(f));
	}
	printf("%" PRIu64 " events, %" PRIu64 " resyncs\n",
		atomic_load(&f->shm.control->cp_sync_events),
		atomic_load(&f->shm.control->cp_sync_resyncs));
	assert_int_equal(atomic_load(&f->shm.control->cp_sync_overruns), 0);
}

/* ---- speed: printed, not evaluated ---- */

#define MANY 100000u

static double seconds(uint64_t from_ns)
{
	return (double)(test_now_ns() - from_ns) / 1e9;
}

static void route_line(FILE *b, const char *verb, unsigned i, unsigned gateway)
{
	fprintf(b, "route %s %u.%u.%u.0/24 via 10.0.0.%u\n", verb, 20 + (i >> 16), i >> 8 & 255,
		i & 255, gateway);
}

static uint32_t nexthop_of(struct fixture *f, unsigned i)
{
	const uint8_t bytes[4] = {(uint8_t)(20 + (i >> 16)), (uint8_t)(i >> 8), (uint8_t)i, 1};
	struct bp_address a = bp_address4(bytes);

	return bp_fib_lookup(&f->shm.fib, BP_VRF_MAIN, &a);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* From before ip(8) sends it, in one long-lived batch, to the tables. */
static void latency(struct fixture *f)
{
	enum { TIMES = 200 };
	double took[TIMES];
	FILE *b = sync_rig_batch();

	setvbuf(b, NULL, _IOLBF, 0);
	for (unsigned n = 0; n < TIMES; n++) {
		unsigned i = n * 487 % MANY;
		uint32_t before = nexthop_of(f, i);
		uint64_t begun = test_now_ns();

		route_line(b, "replace", i, 3);
		RUN_UNTIL(f, nexthop_of(f, i) != before);
		took[n] = seconds(begun) * 1e3;
	}
	assert_int_equal(pclose(b), 0);
	qsort(took, TIMES, sizeof(took[0]), by_value);
	printf("a change with %u routes: %.3f ms median, %.3f ms of 99 %%, with ip(8)'s part\n",
		MANY, took[TIMES / 2], took[TIMES * 99 / 100]);
}

/* As many changes as ip(8) can make, followed as they come. */
static void rate(struct fixture *f)
{
	char path[] = "/tmp/biplane-test-XXXXXX";
	int fd = mkstemp(path);
	FILE *b = fdopen(fd, "w");
	char command[128];
	uint64_t begun, events = atomic_load(&f->shm.control->cp_sync_events);
	int left;

	assert_non_null(b);
	for (unsigned i = 0; i < MANY; i++)
		route_line(b, "replace", i, 4);
	fclose(b);
	snprintf(command, sizeof(command), "ip -batch %s &", path);
	begun = test_now_ns();
	left = system(command); // NOLINT
	assert_int_equal(left, 0);
	RUN_UNTIL(f, atomic_load(&f->shm.control->cp_sync_events) - events >= MANY ||
			     atomic_load(&f->shm.control->cp_sync_overruns) > 0);
	printf("%u changes followed in %.2f s (%.0f a second), %" PRIu64 " overruns\n", MANY,
		seconds(begun), MANY / seconds(begun),
		atomic_load(&f->shm.control->cp_sync_overruns));
	unlink(path);
}

static void a_hundred_thousand(void **state)
{
	struct fixture *f = *state;
	FILE *b;
	uint64_t begun;

	/* setup of the start, required by routes */
	sync_rig_ip("address add 10.0.0.1/24 dev lan");
	sync_rig_ip("link set lan up");
	b = sync_rig_batch();
	for (unsigned i = 0; i < MANY; i++)
		route_line(b, "add", i, 2);
	assert_int_equal(pclose(b), 0);

	begun = test_now_ns();
	start(f);
	printf("%u routes loaded into empty tables in %.3f s\n", MANY, seconds(begun));
	assert_true(atomic_load(&f->shm.fib.control->routes4) >= MANY);
	latency(f);
	rate(f);
	RUN_UNTIL(f, bp_sync_state(f->sync) == BP_SYNC_SYNCED && as_the_kernel(f));

	/* started again on full tables */
	finish(f);
	begun = test_now_ns();
	start(f);
	printf("and mirrored again after a restart in %.3f s\n", seconds(begun));
	assert_true(as_the_kernel(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_hundred_thousand, setup, teardown),
	};

	if (!sync_rig_namespace())
		return 77;
	return cmocka_run_group_tests_name("sync_tables", tests, NULL, NULL);
}
