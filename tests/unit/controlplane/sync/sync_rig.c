/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/sync/sync_rig.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int sync_rig_setup(void **state)
{
	struct sync_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->base = event_base_new();
	r->control = calloc(1, sizeof(*r->control));
	r->writer = fib_fake_new();
	r->global = calloc(1, sizeof(*r->global));
	r->fib.control = &r->fib_control;
	sync_net_make(&r->config);
	fib_fake_used_s = 0;
	*state = r;
	return 0;
}

int sync_rig_teardown(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_stop(r);
	bp_fib_writer_free(r->writer);
	sync_net_clear();
	event_base_free(r->base);
	free(r->control);
	free(r->global);
	free(r);
	return 0;
}

bool sync_rig_synced(const struct sync_rig *r)
{
	return bp_sync_state(r->sync) == BP_SYNC_SYNCED;
}

/* Whether the kernel has processed the carrier state, which may take a second. */
static bool runs(const char *name)
{
	struct ifreq i = {0};
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool there;

	assert_true(fd >= 0);
	snprintf(i.ifr_name, sizeof(i.ifr_name), "%s", name);
	there = ioctl(fd, SIOCGIFFLAGS, &i) == 0;
	close(fd);
	return !there || (i.ifr_flags & IFF_RUNNING);
}

void sync_rig_start(struct sync_rig *r)
{
	struct bp_sync_to to = {.writer = r->writer,
		.fib = &r->fib,
		.global = r->global,
		.control = r->control,
		.ports = r->ports,
		.n_ports = r->no_ports ? 0 : 2};
	char err[512];

	r->sync = bp_sync_new(r->base, &to, &r->config, err, sizeof(err));
	if (r->sync == NULL)
		fail_msg("%s", err);
	RUN_UNTIL(r, sync_rig_synced(r));
	/* changes of the start itself: addresses, links going up */
	RUN_UNTIL(r, sync_rig_synced(r) && rig_type(r, "10.0.0.0/24") >= 0 &&
			     rig_type(r, "10.1.0.0/24") >= 0 && rig_type(r, "fd00::1/128") >= 0 &&
			     rig_type(r, "fd01::1/128") >= 0);
	RUN_UNTIL(r, runs("lan") && runs("wan"));
	sync_rig_ip("link show lo >/dev/null"); /* by now all changes were reported */
	event_base_loop(r->base, EVLOOP_NONBLOCK);
	RUN_UNTIL(r, sync_rig_synced(r));
	atomic_store(&r->control->cp_sync_resyncs, 0);
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

const struct bp_neighbor_info *rig_neighbor(
	const struct sync_rig *r, unsigned interface, const char *address)
{
	struct bp_address a = rig_address(address);

	return fib_fake_neighbor(r->writer, interface, &a);
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

static bool interface_differs(
	const struct bp_interface_info *have, const struct bp_interface_info *want)
{
	struct bp_interface_info links = *have;

	/* sysctl settings there are in no dump */
	links.flags &= BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL;
	if (fib_fake_same_interface(&links, want))
		return false;
	printf("differs: %s: flags %x %x, ifindex %u %u, mtu %u %u, addresses %u %u, mac %02x "
	       "%02x\n",
		have->name, have->flags, want->flags, have->ifindex, want->ifindex, have->mtu,
		want->mtu, have->n_addresses, want->n_addresses, have->mac[5], want->mac[5]);
	return true;
}

bool rig_same_as_kernel(struct sync_rig *r)
{
	struct bp_kernel_state k;
	char err[512];
	bool same;

	if (bp_kernel_dump(&r->config, NULL, &k, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	same = k.n_routes == fib_fake_routes(r->writer) &&
	       k.n_neighbors == fib_fake_neighbors(r->writer);
	if (!same)
		printf("the kernel has %u routes and %u neighbors, the tables %u and %u\n",
			k.n_routes, k.n_neighbors, fib_fake_routes(r->writer),
			fib_fake_neighbors(r->writer));
	for (uint32_t i = 0; i < k.n_routes; i++)
		same = !route_differs(r, &k.route[i]) && same;
	for (uint32_t i = 0; i < k.n_neighbors; i++) {
		const struct bp_neighbor_info *n = fib_fake_neighbor(
			r->writer, k.neighbor[i].interface, &k.neighbor[i].address);

		same = same && n != NULL && fib_fake_same_neighbor(n, &k.neighbor[i]);
	}
	for (unsigned i = 0; i < r->config.n_ports; i++)
		same = !interface_differs(fib_fake_interface(r->writer, i), &k.interface[i]) &&
		       same;
	bp_kernel_state_free(&k);
	return same;
}
