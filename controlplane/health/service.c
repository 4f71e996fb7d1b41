/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/service.h"

#include "config/health/settings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/associations.h"
#include "controlplane/health/command.h"
#include "controlplane/health/phd_service.h"
#include "controlplane/health/sockets.h"

struct health {
	struct bp_plane_context *x;
	struct bp_phd_sockets sockets; /* inherited sockets, until the manager takes them */
	/* NULL: no section health_devices, or the MAC address of the port is not known yet */
	struct bp_phd_service *manager;
};

static int check(
	const struct bp_plane_context *x, const struct bp_config *c, char *err, size_t err_size)
{
	(void)x;
	return bp_config_phd_allow_check(bp_config_phd(c), err, err_size);
}

static void *create(struct bp_plane_context *x, char *err, size_t err_size)
{
	struct health *h = calloc(1, sizeof(*h));

	if (h == NULL) {
		snprintf(err, err_size, "no memory for health");
		return NULL;
	}
	h->x = x;
	h->sockets = (struct bp_phd_sockets){-1, -1};
	if (bp_phd_sockets_take(&h->sockets, x->fds, bp_config_phd(x->config), err, err_size) == 0)
		return h;
	free(h);
	return NULL;
}

static bool low(uint16_t port, int handed)
{
	return port != 0 && port < BP_LOW_PORTS && handed < 0;
}

static const char *low_port(const void *state)
{
	const struct health *h = state;
	const struct bp_config_phd *c = bp_config_phd(h->x->config);

	return c->enabled && (low(c->listen_udp_port, h->sockets.udp) ||
				     low(c->listen_tcp_port, h->sockets.tcp))
		       ? "health_devices.listen"
		       : NULL;
}

/* Returns the MAC address of the first routed port, or of the first port of a gateway that devices
 * reach only at host interfaces of bridges; false: the data plane has not reported it yet. */
static bool first_mac(const struct bp_plane_context *x, uint8_t mac[6])
{
	static const uint8_t none[6];
	unsigned port = 0;

	while (port < x->config->n_ports && !bp_config_port_routes(x->config, port))
		port++;
	if (port == x->config->n_ports)
		port = 0;
	memcpy(mac, x->shm->ports[port].mac, 6);
	return memcmp(mac, none, 6) != 0;
}

/* Starts the manager when everything that it needs is available. */
static int start(void *state, char *err, size_t err_size)
{
	struct health *h = state;
	const struct bp_config *c = h->x->config;
	struct bp_phd_service_setup setup = {.config = c,
		.tables = &h->x->shm->phd,
		.fib = &h->x->shm->fib,
		.epochs = &h->x->shm->fib,
		.rings = h->x->rings,
		.readers_gone = h->x->readers_gone,
		.readers = h->x->shm->global,
		.events = bp_shm_events_of(h->x->shm, BP_EVENTS_SESSIONS),
		.fleet = h->x->fleet,
		.shown = &h->x->shm->control->fleet,
		.udp = h->sockets.udp,
		.tcp = h->sockets.tcp};

	if (!bp_config_phd(c)->enabled || h->manager != NULL ||
		(!first_mac(h->x, setup.mac) && !bp_config_phd(c)->has_system_id))
		return 0;
	h->sockets = (struct bp_phd_sockets){-1, -1};
	bp_event_ring_open(&setup.events);
	h->manager = bp_phd_service_new(h->x->base, &setup, err, err_size);
	return h->manager != NULL ? 0 : -1;
}

static struct bp_associations *associations_of(const struct health *h)
{
	return h->manager != NULL ? bp_phd_service_associations(h->manager) : NULL;
}

static int tick(void *state, char *err, size_t err_size)
{
	const struct health *h = state;

	if (associations_of(h) != NULL)
		bp_associations_show(associations_of(h));
	return start(state, err, err_size);
}

static void drain(void *state, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	const struct health *h = state;

	(void)wait_ns;
	if (associations_of(h) != NULL)
		bp_associations_finish(associations_of(h));
	done(arg);
}

static void status(const void *state, json_t *answer)
{
	const struct health *h = state;

	if (associations_of(h) != NULL)
		bp_associations_status(associations_of(h), answer);
}

static void configure(void *state)
{
	struct health *h = state;

	if (h->manager != NULL)
		bp_phd_service_configure(h->manager, h->x->config);
}

static void end(void *state)
{
	struct health *h = state;

	bp_phd_service_free(h->manager);
	bp_phd_sockets_close(&h->sockets);
	free(h);
}

static json_t *release(void *state, const json_t *request)
{
	const struct health *h = state;

	return bp_phd_release_command(h->manager, bp_config_phd(h->x->config)->enabled,
		json_string_value(json_object_get(request, "id")));
}

static const struct bp_control_command commands[] = {
	{.name = "sessions-release", .members = ",\"id\":...", .answer = release},
};

const struct bp_controlplane_service bp_controlplane_health = {
	.name = "health",
	.id = BP_SERVICE_HEALTH,
	.check = check,
	.create = create,
	.low_port = low_port,
	.start = start,
	.tick = tick,
	.configure = configure,
	.drain = drain,
	.free = end,
	.status = status,
	.commands = commands,
	.n_commands = sizeof(commands) / sizeof(commands[0]),
};
