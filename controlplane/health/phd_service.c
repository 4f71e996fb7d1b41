/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/phd_service.h"

#include "config/health/settings.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/process/clock.h"
#include "daemon/log.h"
#include "controlplane/health/associations.h"
#include "controlplane/health/cse/cse_http.h"
#include "controlplane/health/events.h"
#include "controlplane/health/store/persist.h"
#include "controlplane/health/ready.h"
#include "controlplane/health/server.h"
#include "controlplane/health/session_events.h"
#include "controlplane/health/slow.h"
#include "controlplane/health/status.h"
#include "controlplane/health/tcp.h"
#include "services/health/last_report.h"
#include "services/health/layout.h"
#include "services/health/manager.h"
#include "services/health/settings.h"

#define CONNECTIONS_MAX 8192u
#define CONNECTION_IDLE_S 86400u /* devices may measure once a day */
/* a connection without an association is closed after a minute at most */
#define UNASSOCIATED_MS 30000u
/* Reports in flight, and their source ports: 24 times 264 per second. */
#define OUTSTANDING_MAX 256u
#define REPORT_PORTS 24u
#define RESOURCE_PORTS 4u
#define SECOND_NS 1000000000ull

struct bp_phd_service {
	struct event_base *base;
	struct bp_ring_events *rings;
	const struct bp_config *config;
	struct bp_phd_tables *t;
	const struct bp_fib *fib;
	struct bp_phd_writer *w;
	struct bp_phd_manager *m;
	struct bp_phd_manager_counts counts;
	struct bp_phd_server *server;
	struct bp_phd_tcp *tcp;
	struct bp_cse_client *cse; /* for resources: this client, or the HTTP client below */
	struct bp_cse_http *cse_http;
	struct bp_cse_client *cse_reports;
	struct bp_ready *ready;
	struct bp_slow *slow;
	struct bp_worker_events *events;
	struct bp_phd_persist *keep;
	struct bp_phd_store *store;     /* owned by `persist` */
	struct bp_config_phd_ids allow; /* of the file that allow_file names */
	struct event *timer;
	struct bp_phd_status_writer status;
	uint64_t status_ns; /* time of the last write */
	bool by_type;       /* the path contains {type} */
	struct bp_session_events session_events;
	struct bp_associations *associations; /* NULL: not shared with a fleet */
};

/* ---- callbacks of the manager ---- */

static void on_reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct bp_phd_service *s = arg;

	if (to->transport == BP_PHD_TRANSPORT_TCP && s->tcp)
		bp_phd_tcp_send(s->tcp, to->connection, apdu, len);
	else if (to->transport == BP_PHD_TRANSPORT_UDP && s->server)
		bp_phd_server_send(s->server, to, apdu, len);
}

static bool on_known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	struct bp_phd_service *s = arg;

	return bp_phd_store_known(s->store, system_id, config_id, out, spec);
}

static void on_learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
	struct bp_phd_service *s = arg;

	(void)m;
	bp_phd_store_learn(s->store, system_id, report);
}

static void on_mds_attributes(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	struct bp_phd_service *s = arg;

	bp_phd_store_spec(s->store, system_id, config_id, spec);
	if (s->ready && s->by_type)
		bp_ready_request(s->ready, slot);
}

/* A session is operating: its containers are provisioned. */
static void request_ready(void *arg, uint32_t slot)
{
	struct bp_phd_service *s = arg;

	if (!s->ready) /* it searches for existing containers */
		return;
	if (!s->by_type || s->t->sessions[slot].mds_known != BP_PHD_MDS_REQUESTED)
		bp_ready_request(s->ready, slot);
}

static void on_opened(void *arg, uint32_t slot)
{
	struct bp_phd_service *s = arg;

	bp_session_event_associated(&s->session_events, bp_config_phd(s->config), slot);
	bp_phd_persist_opened(s->keep, slot);
	if (s->associations)
		bp_associations_opened(s->associations, slot);
	request_ready(s, slot);
}

/* Another gateway had the association. */
static void on_adopted(void *arg, uint32_t slot)
{
	struct bp_phd_service *s = arg;

	bp_session_event_associated(&s->session_events, bp_config_phd(s->config), slot);
	bp_phd_persist_opened(s->keep, slot);
	request_ready(s, slot);
}

static void on_closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
	struct bp_phd_service *s = arg;
	const struct bp_phd_session *x = &s->t->sessions[slot];

	bp_session_event_closed(&s->session_events, bp_config_phd(s->config), slot, why);
	bp_phd_persist_closed(s->keep, slot);
	if (s->associations)
		bp_associations_closed(s->associations, slot, why);
	/* after errors of the CSE, the resources of the device are checked at its next association:
	 * only that repairs a policy that denies access */
	if (atomic_load_explicit(&x->errors, memory_order_relaxed) != 0)
		bp_phd_store_set_created(s->store, x->system_id, x->config_id, 0);
}

static void on_unassociated(void *arg, const struct bp_phd_peer *device)
{
	struct bp_phd_service *s = arg;

	bp_phd_persist_unassociated(s->keep, device);
}

static bool on_unknown(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	struct bp_phd_service *s = arg;

	return s->associations && bp_associations_unknown(s->associations, from, apdu, len);
}

static bool on_allowed(void *arg, const uint8_t system_id[8])
{
	const struct bp_phd_service *s = arg;

	return bp_config_phd_allowed(bp_config_phd(s->config), &s->allow, system_id);
}

/* Whether the reports of a session must come by the slow path, because it began with a report of
 * another gateway that is not stored yet. */
static bool is_held(struct bp_phd_service *s, uint32_t slot)
{
	struct bp_phd_session *x = &s->t->sessions[slot];

	if (bp_phd_carries_open(x, bp_mono_ns()))
		return true;
	if (x->transport == BP_PHD_TRANSPORT_UDP) /* the next reports are of this session */
		x->origin = (struct bp_phd_origin){.associated_s = 0};
	return false;
}

/* Whether a session that is not ready must take the slow path: the report that it is held for may
 * never end, as the device does not repeat it any more. The end of the next one makes it ready. */
static bool is_slow(struct bp_phd_service *s, uint32_t slot)
{
	return bp_ready_is_suspended(s->ready, slot) &&
	       (is_held(s, slot) || !bp_slow_busy(s->slow, slot));
}

static enum bp_phd_taken on_report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
{
	struct bp_phd_service *s = arg;

	/* without its containers the report cannot be stored yet: the device repeats it */
	if (!bp_ready_is(s->ready, slot) && !is_slow(s, slot))
		return BP_PHD_TAKEN_FULL;
	return bp_slow_report(s->slow, slot, apdu, len, bp_mono_ns());
}

/* ---- reports ---- */

static void on_answer(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len)
{
	struct bp_phd_service *s = arg;

	bp_phd_manager_send(s->m, slot, life, apdu, len);
}

static void on_no_target(void *arg, uint32_t slot, uint16_t life)
{
	struct bp_phd_service *s = arg;

	(void)life;
	bp_ready_lost(s->ready, slot);
}

static void on_idle(void *arg, uint32_t slot)
{
	struct bp_phd_service *s = arg;

	if (!is_held(s, slot))
		bp_ready_idle(s->ready, slot);
}

static uint64_t get_created(void *arg, const uint8_t system_id[8], uint16_t config_id)
{
	struct bp_phd_service *s = arg;

	return bp_phd_store_created(s->store, system_id, config_id);
}

static void set_created(void *arg, const uint8_t system_id[8], uint16_t config_id, uint64_t made)
{
	struct bp_phd_service *s = arg;

	bp_phd_store_set_created(s->store, system_id, config_id, made);
}

static bool on_busy(void *arg, uint32_t slot)
{
	struct bp_phd_service *s = arg;

	return bp_slow_busy(s->slow, slot) || is_held(s, slot);
}

/* ---- sockets ---- */

static void receive(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	struct bp_phd_service *s = arg;

	bp_phd_manager_receive(s->m, from, apdu, len, bp_mono_ns(), bp_unix_ns());
}

static void on_disconnect(void *arg, uint32_t connection)
{
	struct bp_phd_service *s = arg;

	bp_phd_manager_disconnected(s->m, connection, bp_mono_ns());
}

static void written(void *arg, uint32_t connection)
{
	struct bp_phd_service *s = arg;

	bp_phd_manager_written(s->m, connection);
}

static bool associated(void *arg, uint32_t connection)
{
	const struct bp_phd_service *s = arg;

	return bp_phd_manager_connected(s->m, connection);
}

static bool ours(void *arg, unsigned ifindex)
{
	const struct bp_phd_service *s = arg;

	return !s->fib || bp_fib_has_ifindex(s->fib, ifindex);
}

static int start_udp(struct bp_phd_service *s, int fd, char *err, size_t err_size)
{
	const struct bp_phd_server_ops ops = {.receive = receive, .ours = ours};
	const uint16_t port = bp_config_phd(s->config)->listen_udp_port;

	if (port == 0)
		return 0;
	if (fd < 0)
		fd = bp_phd_server_socket(port, err, err_size);
	if (fd >= 0)
		s->server = bp_phd_server_new(s->base, fd, &ops, s, err, err_size);
	return s->server ? 0 : -1;
}

static int start_tcp(struct bp_phd_service *s, int fd, char *err, size_t err_size)
{
	const struct bp_phd_tcp_ops ops = {.receive = receive,
		.on_disconnect = on_disconnect,
		.written = written,
		.associated = associated};
	const struct bp_config_phd *c = bp_config_phd(s->config);
	struct bp_phd_tcp_limits limits = {.connections = c->max_sessions < CONNECTIONS_MAX
								  ? c->max_sessions
								  : CONNECTIONS_MAX,
		.per_address = c->limits.sessions_per_address,
		.idle_s = CONNECTION_IDLE_S,
		.unassociated_ms = UNASSOCIATED_MS};

	if (c->listen_tcp_port == 0)
		return 0;
	limits.connections = bp_phd_tcp_capacity(limits.connections);
	if (fd < 0)
		fd = bp_phd_tcp_socket(c->listen_tcp_port, err, err_size);
	if (fd >= 0)
		s->tcp = bp_phd_tcp_new(s->base, fd, &limits, &ops, s, err, err_size);
	return s->tcp ? 0 : -1;
}

/* ---- CSE ---- */

static void endpoint(const struct bp_address *a, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memset(out, 0, sizeof(*out));
	memcpy(&a4.sin_addr, a->bytes, 4);
	memcpy(&a6.sin6_addr, a->bytes, 16);
	if (a->family == 4)
		memcpy(out, &a4, sizeof(a4));
	else
		memcpy(out, &a6, sizeof(a6));
}

/* Returns the source address that the kernel's routes select for requests to the CSE. Family 0:
 * there is no route. */
static struct bp_address find_source(const struct bp_config_phd *c)
{
	struct bp_address source = {0};
	struct sockaddr_storage to, from;
	socklen_t len = sizeof(from);
	int fd;

	endpoint(&c->cse.coap_address, c->cse.coap_port, &to);
	fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return source;
	if (connect(fd, (const struct sockaddr *)&to,
		    to.ss_family == AF_INET ? sizeof(struct sockaddr_in)
					    : sizeof(struct sockaddr_in6)) == 0 &&
		getsockname(fd, (struct sockaddr *)&from, &len) == 0) {
		source.family = c->cse.coap_address.family;
		if (from.ss_family == AF_INET)
			memcpy(source.bytes, &((struct sockaddr_in *)&from)->sin_addr, 4);
		else
			memcpy(source.bytes, &((struct sockaddr_in6 *)&from)->sin6_addr, 16);
	}
	close(fd);
	return source;
}

static bool same_address(const struct bp_address *a, const struct bp_address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* Returns the source address of requests in the active settings. Family 0: there is none. */
static struct bp_address settings_source(const struct bp_phd_service *s)
{
	const struct bp_phd_settings *p = &s->t->control->plan;
	struct bp_address source = {0};

	if (s->t->control->settings_generation == 0 ||
		p->family != bp_config_phd(s->config)->cse.coap_address.family ||
		!bp_phd_settings_has_source(p))
		return source;
	return p->family == 4 ? bp_address4(p->source + 12) : bp_address6(p->source);
}

/*
 * Layouts and workers use the settings. Without a route to the CSE the last address remains:
 * workers then send nothing, but they detect the return of the route earlier than this process.
 * file_changed: the configuration file is another one.
 */
static void publish_settings(struct bp_phd_service *s, bool file_changed)
{
	const struct bp_config_phd *c = bp_config_phd(s->config);
	const struct bp_address before = settings_source(s);
	struct bp_address source = find_source(c);
	struct bp_phd_settings plan;

	if (source.family == 0)
		source = before;
	if (!file_changed && same_address(&source, &before))
		return;
	if (source.family == 0)
		source.family = c->cse.coap_address.family;
	bp_phd_settings_init(&plan, c, &source);
	bp_phd_settings_publish(s->w, &plan);
}

/* Selects the client for resources. False: no memory. */
static bool start_provisioning(struct bp_phd_service *s, struct bp_cse *out)
{
	const struct bp_config_phd_cse *c = &bp_config_phd(s->config)->cse;
	struct bp_cse_settings by_coap = {.release = (enum bp_m2m_release)c->release,
		.outstanding = c->max_inflight,
		.ports = RESOURCE_PORTS};
	struct bp_cse_http_settings by_http = {
		.release = (enum bp_m2m_release)c->release, .outstanding = c->max_inflight};

	if (c->provision == BP_PHD_BINDING_HTTP) {
		endpoint(&c->http_address, c->http_port, &by_http.address);
		s->cse_http = bp_cse_http_new(s->base, &by_http);
		*out = bp_cse_by_http(s->cse_http);
	} else {
		endpoint(&c->coap_address, c->coap_port, &by_coap.address);
		s->cse = bp_cse_client_new(s->base, &by_coap);
		*out = bp_cse_by_coap(s->cse);
	}
	return s->cse_http || s->cse;
}

static int start_cse(struct bp_phd_service *s, char *err, size_t err_size)
{
	const struct bp_config_phd *c = bp_config_phd(s->config);
	const struct bp_slow_ops ops = {
		.answer = on_answer, .no_target = on_no_target, .idle = on_idle};
	static const struct bp_ready_memory memory = {
		.made = get_created, .set_created = set_created};
	const struct bp_worker_events_ops event_ops = {.answer = on_answer, .stale = on_no_target};
	struct bp_cse_settings settings = {.release = (enum bp_m2m_release)c->cse.release,
		.outstanding = OUTSTANDING_MAX,
		.ports = REPORT_PORTS};
	struct bp_cse cse;

	endpoint(&c->cse.coap_address, c->cse.coap_port, &settings.address);
	s->cse_reports = bp_cse_client_new(s->base, &settings);
	if (s->cse_reports && start_provisioning(s, &cse)) {
		s->ready = bp_ready_new(s->base, s->t, s->w, &cse, c, s->config->name);
		s->slow = bp_slow_new(s->t, s->cse_reports, c->limits.max_pending_reports, &ops, s);
	}
	if (s->ready && s->slow) {
		bp_ready_hold(s->ready, on_busy, s);
		bp_ready_set_memory(s->ready, &memory, s);
		s->events = bp_worker_events_new(s->base, s->rings, s->t, &event_ops, s);
	}
	if (s->events)
		return 0;
	snprintf(err, err_size, "no memory");
	return -1;
}

/* ---- timer ---- */

static void write_status(struct bp_phd_service *s, uint64_t now)
{
	const struct bp_phd_status_from from = {.tables = s->t,
		.manager = &s->counts,
		.slow = s->slow,
		.events = s->events,
		.cse = {s->cse, s->cse_reports},
		.http = s->cse_http,
		.ready = s->ready,
		.store = s->store,
		.keep = s->keep,
		.server = s->server,
		.tcp = s->tcp};

	s->status_ns = now;
	bp_phd_status_write(&s->status, &from, now);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_phd_service *s = arg;
	const uint64_t now = bp_mono_ns();
	const uint64_t next = bp_phd_manager_tick(s->m, now);
	uint64_t wait = next <= now ? 1000000 : next - now;
	struct timeval t;

	(void)fd;
	(void)what;
	publish_settings(s, false);
	bp_phd_writer_settle(s->w);
	if (now - s->status_ns >= SECOND_NS)
		write_status(s, now);
	if (wait > SECOND_NS / 10) /* new events may be due earlier */
		wait = SECOND_NS / 10;
	t = (struct timeval){.tv_usec = (suseconds_t)(wait / 1000)};
	evtimer_add(s->timer, &t);
}

/* ---- start and end ---- */

static int start_manager(struct bp_phd_service *s, const struct bp_phd_service_setup *setup,
	char *err, size_t err_size)
{
	static const struct bp_phd_manager_ops ops = {.reply = on_reply,
		.known = on_known,
		.learned = on_learned,
		.mds_attributes = on_mds_attributes,
		.opened = on_opened,
		.closed = on_closed,
		.allowed = on_allowed,
		.unassociated = on_unassociated,
		.unknown = on_unknown,
		.report = on_report};
	static const struct bp_phd_persist_ops kept = {.restored = request_ready};
	uint8_t system_id[8];

	s->keep = bp_phd_persist_new(s->base, bp_config_phd(s->config), s->t, &kept, s);
	if (!s->keep) {
		snprintf(err, err_size, "no memory");
		return -1;
	}
	s->store = bp_phd_persist_store(s->keep);
	s->w = bp_phd_writer_new(
		s->t, setup->epochs, setup->readers_gone, setup->readers, err, err_size);
	if (!s->w)
		return -1;
	publish_settings(s, true);
	bp_phd_own_system_id(system_id, bp_config_phd(s->config), setup->mac);
	s->m = bp_phd_manager_new(
		bp_config_phd(s->config), s->t, s->w, system_id, &s->counts, &ops, s);
	if (!s->m)
		snprintf(err, err_size, "no memory");
	else
		bp_phd_persist_manager(s->keep, s->m);
	return s->m ? 0 : -1;
}

static bool start_associations(struct bp_phd_service *s, const struct bp_phd_service_setup *setup,
	char *err, size_t err_size)
{
	const struct bp_associations_setup a = {.base = s->base,
		.fleet = setup->fleet,
		.tables = s->t,
		.manager = s->m,
		.store = s->store,
		.shown = setup->shown,
		.name = s->config->name,
		.idle_timeout_ns = bp_config_phd(s->config)->idle_timeout_ns,
		.adopted = on_adopted,
		.arg = s};

	if (setup->fleet == NULL || bp_config_phd(s->config)->listen_udp_port == 0)
		return true;
	s->associations = bp_associations_new(&a);
	if (s->associations == NULL)
		snprintf(err, err_size, "no memory for the associations of the fleet");
	return s->associations != NULL;
}

struct bp_phd_service *bp_phd_service_new(struct event_base *base,
	const struct bp_phd_service_setup *setup, char *err, size_t err_size)
{
	struct bp_phd_service *s = calloc(1, sizeof(*s));

	if (!s) {
		snprintf(err, err_size, "no memory");
		return NULL;
	}
	s->base = base;
	s->rings = setup->rings;
	s->config = setup->config;
	s->t = setup->tables;
	s->session_events =
		(struct bp_session_events){.ring = setup->events, .tables = setup->tables};
	s->fib = setup->fib;
	s->by_type = strstr(bp_config_phd(s->config)->cse.path, "{type}") ||
		     strstr(bp_config_phd(s->config)->cse.originator, "{type}");
	bp_phd_status_begin(&s->status, s->t->status);
	s->timer = evtimer_new(base, on_timer, s);
	if (s->timer &&
		bp_config_phd_allow_load(bp_config_phd(s->config), &s->allow, err, err_size) == 0 &&
		start_manager(s, setup, err, err_size) == 0) {
		/* the sessions of the table are adopted before any datagram is received */
		bp_phd_manager_adopt(s->m, bp_mono_ns());
		if (start_cse(s, err, err_size) == 0 &&
			start_associations(s, setup, err, err_size) &&
			start_udp(s, setup->udp, err, err_size) == 0 &&
			start_tcp(s, setup->tcp, err, err_size) == 0) {
			on_timer(-1, 0, s);
			return s;
		}
	}
	bp_phd_service_free(s);
	return NULL;
}

void bp_phd_service_free(struct bp_phd_service *s)
{
	if (!s)
		return;
	if (s->status_ns != 0) /* the values of the last second, if it was started */
		write_status(s, bp_mono_ns());
	bp_phd_tcp_free(s->tcp);
	bp_phd_server_free(s->server);
	bp_worker_events_free(s->events);
	bp_cse_client_free(s->cse_reports);
	bp_cse_client_free(s->cse);
	bp_cse_http_free(s->cse_http);
	bp_slow_free(s->slow);
	bp_ready_free(s->ready);
	bp_associations_free(s->associations);
	bp_phd_manager_free(s->m);
	bp_phd_writer_free(s->w);
	bp_phd_persist_free(s->keep);
	if (s->timer)
		event_free(s->timer);
	free(s->allow.id);
	free(s);
}

const struct bp_phd_manager_counts *bp_phd_service_counts(const struct bp_phd_service *s)
{
	return &s->counts;
}

void bp_phd_service_configure(struct bp_phd_service *s, const struct bp_config *c)
{
	struct bp_config_phd_ids allow;
	char err[1024];

	s->config = c;
	bp_phd_manager_configure(s->m, bp_config_phd(c));
	if (s->tcp)
		bp_phd_tcp_limit(s->tcp, bp_config_phd(c)->limits.sessions_per_address);
	/* the file was checked before the reload was accepted: this can fail only if it has changed
	 * since */
	if (bp_config_phd_allow_load(bp_config_phd(c), &allow, err, sizeof(err)) != 0) {
		bp_log(BP_LOG_WARNING, "%s; the previous allow-list stays active", err);
	} else {
		free(s->allow.id);
		s->allow = allow;
	}
	publish_settings(s, true);
	if (s->associations)
		bp_associations_configure(s->associations, bp_config_phd(c)->idle_timeout_ns);
}

struct bp_associations *bp_phd_service_associations(const struct bp_phd_service *s)
{
	return s->associations;
}

enum bp_phd_disconnect_result bp_phd_service_release(
	struct bp_phd_service *s, const uint8_t system_id[8])
{
	uint32_t slot;

	if (bp_phd_manager_release(s->m, system_id, bp_mono_ns()) == 0)
		return BP_PHD_DISCONNECT_REQUESTED;
	return bp_phd_manager_find(s->m, system_id, &slot) == 0 ? BP_PHD_DISCONNECT_PENDING
								: BP_PHD_DISCONNECT_UNKNOWN;
}
