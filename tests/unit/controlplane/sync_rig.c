/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/sync_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sysctl_write(const char *path)
{
	FILE *f = fopen(path, "we");

	if (f == NULL)
		return;
	fputs("0", f);
	fclose(f);
}

bool sync_rig_namespace(void)
{
	if (unshare(CLONE_NEWNET) != 0) {
		printf("SKIP: no network namespace: %s; run as root\n", strerror(errno));
		return false;
	}
	sync_rig_ip("link set lo up");
	/* IPv6 addresses are there at once, and no others than those given */
	sysctl_write("/proc/sys/net/ipv6/conf/default/accept_dad");
	sysctl_write("/proc/sys/net/ipv6/conf/all/accept_dad");
	return true;
}

static int run(const char *fmt, va_list ap)
{
	char command[1024] = "ip ";

	vsnprintf(command + 3, sizeof(command) - 3, fmt, ap);
	return system(command); // NOLINT
}

void sync_rig_ip(const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = run(fmt, ap);
	va_end(ap);
	if (status != 0)
		fail_msg("ip %s failed", fmt);
}

int sync_rig_try(const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = run(fmt, ap);
	va_end(ap);
	return status;
}

FILE *sync_rig_batch(void)
{
	FILE *f = popen("ip -batch -", "w"); // NOLINT

	assert_non_null(f);
	return f;
}

struct bp_address rig_address(const char *text)
{
	struct bp_address a = {.family = strchr(text, ':') != NULL ? 6 : 4};

	assert_int_equal(inet_pton(a.family == 4 ? AF_INET : AF_INET6, text, a.bytes), 1);
	return a;
}

static void port(struct sync_rig *r, unsigned i, const char *name, const char *a4, const char *a6)
{
	struct bp_config_port *p = &r->config.port[i];

	snprintf(p->name, sizeof(p->name), "%s", name);
	/* not held by the control plane: the test has made it */
	p->interface.kernel = BP_KERNEL_VIRTIO;
	p->interface.n_addresses = 2;
	p->interface.address[0] =
		(struct bp_interface_address){.address = rig_address(a4), .length = 24};
	p->interface.address[1] =
		(struct bp_interface_address){.address = rig_address(a6), .length = 64};
}

static void veth(const char *name)
{
	sync_rig_ip("link add %s type veth peer name %sp", name, name);
	sync_rig_ip("link set %s addrgenmode none", name);
	sync_rig_ip("link set %sp addrgenmode none", name);
	sync_rig_ip("link set %sp up", name);
}

int sync_rig_setup(void **state)
{
	struct sync_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->base = event_base_new();
	r->global = calloc(1, sizeof(*r->global));
	r->writer = fib_fake_new();
	r->fib.control = &r->control;
	r->config.n_ports = 2;
	r->config.sync = (struct bp_config_sync){
		.table = 254, .receive_buffer = 16 << 20, .neighbour_keep_ns = 60000000000ull};
	port(r, RIG_LAN, "lan", "10.0.0.1", "fd00::1");
	port(r, RIG_WAN, "wan", "10.1.0.1", "fd01::1");
	veth("lan");
	veth("wan");
	veth("other");
	sync_rig_ip("link set other up");
	sync_rig_ip("address add 10.9.0.1/24 dev other");
	fib_fake_used_s = 0;
	*state = r;
	return 0;
}

int sync_rig_teardown(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_stop(r);
	bp_fib_writer_free(r->writer);
	sync_rig_try("link delete lan 2>/dev/null");
	sync_rig_try("link delete wan 2>/dev/null");
	sync_rig_try("link delete other 2>/dev/null");
	sync_rig_try("route flush table main 2>/dev/null");
	sync_rig_try("-6 route flush table main 2>/dev/null");
	sync_rig_try("nexthop flush >/dev/null 2>&1");
	event_base_free(r->base);
	free(r->global);
	free(r);
	return 0;
}

bool sync_rig_synced(const struct sync_rig *r)
{
	return bp_sync_state(r->sync) == BP_SYNC_SYNCED;
}

void sync_rig_start(struct sync_rig *r)
{
	struct bp_sync_to to = {.writer = r->writer,
		.fib = &r->fib,
		.global = r->global,
		.ports = r->ports,
		.n_ports = 2};
	char err[512];

	r->sync = bp_sync_new(r->base, &to, &r->config, err, sizeof(err));
	if (r->sync == NULL)
		fail_msg("%s", err);
	RUN_UNTIL(r, sync_rig_synced(r));
	/* what starting itself has changed: addresses, links going up */
	RUN_UNTIL(r, sync_rig_synced(r) && rig_type(r, "10.0.0.0/24") >= 0 &&
			     rig_type(r, "10.1.0.0/24") >= 0 && rig_type(r, "fd00::1/128") >= 0 &&
			     rig_type(r, "fd01::1/128") >= 0);
}

void sync_rig_stop(struct sync_rig *r)
{
	bp_sync_free(r->sync);
	r->sync = NULL;
}

static struct bp_prefix prefix(const char *text)
{
	char address[64];
	const char *slash = strchr(text, '/');

	assert_non_null(slash);
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	return bp_prefix_of(rig_address(address), (unsigned)atoi(slash + 1));
}

const struct bp_route *rig_route(const struct sync_rig *r, const char *text)
{
	struct bp_prefix p = prefix(text);

	return fib_fake_route(r->writer, &p, BP_ORIGIN_KERNEL);
}

int rig_type(const struct sync_rig *r, const char *text)
{
	const struct bp_route *route = rig_route(r, text);

	return route != NULL ? route->type : -1;
}

const char *rig_hops(const struct sync_rig *r, const char *text)
{
	static char out[2048];
	const struct bp_route *route = rig_route(r, text);
	size_t at = 0;

	out[0] = '\0';
	for (uint32_t i = 0; route != NULL && i < route->n_hops; i++) {
		const struct bp_hop *h = &route->hop[i];
		char gateway[INET6_ADDRSTRLEN] = "-";

		if (h->gateway.family != 0)
			inet_ntop(h->gateway.family == 4 ? AF_INET : AF_INET6, h->gateway.bytes,
				gateway, sizeof(gateway));
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%s %s %u", i > 0 ? ", " : "",
			h->interface == RIG_LAN ? "lan" : "wan", gateway, h->weight);
	}
	return out;
}

const struct bp_neighbour_info *rig_neighbour(
	const struct sync_rig *r, unsigned interface, const char *address)
{
	struct bp_address a = rig_address(address);

	return fib_fake_neighbour(r->writer, interface, &a);
}

static bool route_differs(const struct sync_rig *r, const struct bp_route *want)
{
	const struct bp_route *have = fib_fake_route(r->writer, &want->prefix, BP_ORIGIN_KERNEL);
	char text[INET6_ADDRSTRLEN];

	if (have != NULL && fib_fake_same_route(have, want))
		return false;
	inet_ntop(want->prefix.family == 4 ? AF_INET : AF_INET6, want->prefix.bytes, text,
		sizeof(text));
	printf("differs: %s/%u\n", text, want->prefix.length);
	return true;
}

bool rig_same_as_kernel(struct sync_rig *r)
{
	struct bp_kernel_state k;
	char err[512];
	bool same;

	if (bp_kernel_dump(&r->config, &k, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	same = k.n_routes == fib_fake_routes(r->writer) &&
	       k.n_neighbours == fib_fake_neighbours(r->writer);
	if (!same)
		printf("the kernel has %u routes and %u neighbours, the tables %u and %u\n",
			k.n_routes, k.n_neighbours, fib_fake_routes(r->writer),
			fib_fake_neighbours(r->writer));
	for (uint32_t i = 0; i < k.n_routes; i++)
		same = !route_differs(r, &k.route[i]) && same;
	for (uint32_t i = 0; i < k.n_neighbours; i++) {
		const struct bp_neighbour_info *n = fib_fake_neighbour(
			r->writer, k.neighbour[i].interface, &k.neighbour[i].address);

		same = same && n != NULL && fib_fake_same_neighbour(n, &k.neighbour[i]);
	}
	for (unsigned i = 0; i < r->config.n_ports; i++)
		same = same &&
		       fib_fake_same_interface(fib_fake_interface(r->writer, i), &k.interface[i]);
	bp_kernel_state_free(&k);
	return same;
}
