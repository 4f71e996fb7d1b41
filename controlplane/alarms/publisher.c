/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, end and timers; publisher_internal.h lists the other files. */
#include "controlplane/alarms/publisher.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "controlplane/process/clock.h"
#include "controlplane/alarms/publisher_internal.h"
#include "controlplane/process/ring_events.h"
#include "controlplane/process/sqlite_file.h"

/*
 * The tick is for what depends on time; alarms, acknowledgements and the link are events. It is
 * short while alarms wait, longer while only acknowledgements are awaited, and off after a period
 * without either.
 */
#define TICK_WAITING_NS 1000000
#define TICK_HELD_NS 10000000
#define TICK_KEPT_NS 100000000ull
/* Delay between two attempts to read the password and TLS files. */
#define SETTINGS_BACKOFF_MIN_NS 1000000000ull
#define SETTINGS_BACKOFF_MAX_NS 60000000000ull
/* Tenths of a second. */
#define SPOOL_PATIENCE 20u
#define LANE_ENTRIES (4 * BP_PUBLISHER_WINDOW_MAX)

static void set(_Atomic uint64_t *gauge, uint64_t v)
{
	atomic_store_explicit(gauge, v, memory_order_relaxed);
}

void bp_publish_update_brokers(struct bp_publisher *p)
{
	uint32_t known, connected;

	if (p->to->brokers == NULL)
		return;
	p->to->brokers(p->link, &known, &connected);
	atomic_store_explicit(&p->c->brokers, known, memory_order_relaxed);
	atomic_store_explicit(&p->c->brokers_connected, connected, memory_order_relaxed);
}

static void update_gauges(struct bp_publisher *p)
{
	set(&p->c->inflight, p->inflight.count);
	set(&p->c->spool_rows, bp_spool_rows(p->spool));
	set(&p->c->spool_bytes, bp_spool_bytes(p->spool));
}

void bp_publish_reschedule(struct bp_publisher *p)
{
	static const struct timeval now = {0, 0};

	/* A timer of zero and not event_active(): sockets are handled in between. Adding it again
	 * would delay it by one iteration, for ever if sockets are always ready. */
	if (!evtimer_pending(p->reschedule_event, NULL))
		evtimer_add(p->reschedule_event, &now);
}

/* ---- timers ---- */

bool bp_publish_unresponsive(const struct bp_publisher *p, uint64_t now)
{
	return p->unacked_ns != 0 && now > p->unacked_ns && now - p->unacked_ns > p->ack_timeout_ns;
}

static bool ack_timed_out(struct bp_publisher *p, uint64_t now)
{
	const struct bp_inflight_slot *oldest = &p->inflight.slot[p->inflight.oldest];

	return p->inflight.oldest != 0 && oldest->written_ns != 0 && now > oldest->written_ns &&
	       now - oldest->written_ns > p->ack_timeout_ns;
}

/* The rings are empty. */
static bool empty(const struct bp_publisher *p)
{
	if (p->inflight.count != 0)
		return false;
	for (unsigned i = 0; i < p->lanes; i++)
		if (bp_lane_used(&p->lane[i]) != 0)
			return false;
	return true;
}

static bool all_drained(const struct bp_publisher *first)
{
	for (const struct bp_publisher *p = first; p != NULL; p = p->next)
		if (!p->drained)
			return false;
	return true;
}

static void drain(struct bp_publisher *p, uint64_t now)
{
	struct bp_publisher *first = p->first;

	if ((!empty(p) && bp_publish_up(p) && now < p->drain_deadline_ns) || p->drained)
		return;
	p->drained = true;
	bp_publish_spool_rest(p, now);
	p->spool_retry_ns = 0;
	bp_publish_delete_done(p, now);
	update_gauges(p);
	if (all_drained(first))
		first->on_drained(first->drained_arg);
}

static void send_all(struct bp_publisher *p, uint64_t now)
{
	bp_publish_lanes(p);
	bp_publish_backlog(p, now);
	if (p->mid_clash)
		p->to->reset(p->link, "a PUBACK is missing");
	p->mid_clash = false;
}

/* The period that the state needs; 0: none. */
static long tick_needed(const struct bp_publisher *p)
{
	bool held = p->inflight.count != 0 || p->delete_due_ns != 0;

	if (p->draining || p->spilling)
		return TICK_WAITING_NS;
	for (unsigned i = 0; i < p->lanes; i++) {
		if (p->lane[i].pending != 0 || bp_lane_unread(&p->lane[i]) != 0)
			return TICK_WAITING_NS;
		held |= bp_lane_used(&p->lane[i]) != 0;
	}
	return held || bp_spool_rows(p->spool) != 0 ? TICK_HELD_NS : 0;
}

/* A longer period only follows after some time, so that single alarms do not set the timer each
 * time. */
static void adapt_tick(struct bp_publisher *p, uint64_t now)
{
	const long ns = tick_needed(p);
	const struct itimerspec t = {{0, ns}, {0, ns}};
	const bool same = ns == p->tick_ns,
		   shorter = ns != 0 && (p->tick_ns == 0 || ns < p->tick_ns);

	if (same || shorter)
		p->tick_kept_ns = now;
	if (same || (!shorter && now - p->tick_kept_ns < TICK_KEPT_NS))
		return;
	if (timerfd_settime(p->tick_fd, 0, &t, NULL) == 0)
		p->tick_ns = ns;
}

/* At most one transaction. Deletions first: alarms wait for them, and they are rare. */
static void use_disk(struct bp_publisher *p, uint64_t now)
{
	if (bp_publish_delete_done(p, now))
		return;
	if (bp_publish_disk_rests(p, now)) {
		bp_publish_give_up(p);
		return;
	}
	if (!bp_publish_up(p))
		bp_publish_spool_down(p, now);
	else if (!bp_publish_spool_overdue(p, now))
		bp_publish_spool_overflow(p, now);
}

static bool held(const struct bp_publisher *p, uint64_t now)
{
	return p->keeper != NULL && p->keeper->hold(p->keeper->arg, now);
}

/*
 * Overload, more alarms than the broker acknowledges, must not delay what the broker can take. So
 * each event fills the window and writes it to the connection, but only one event of an iteration
 * of the event loop, on_reschedule(), uses the disk: for one transaction of bounded size, during
 * which the broker works.
 */
static void pump(struct bp_publisher *p, bool disk)
{
	uint64_t now = bp_mono_ns();

	bp_publish_update_order(p, now);
	if (!p->to->repeats && bp_publish_up(p) && ack_timed_out(p, now)) {
		struct bp_log_field field[BP_DESTINATION_FIELDS + 2] = {{.key = NULL}};

		p->to->fields(&p->settings, field);
		field[BP_DESTINATION_FIELDS] =
			(struct bp_log_field)BP_LOG_NUM("in_flight", p->inflight.count);
		bp_log_limited(&p->log_timeout, BP_LOG_WARNING, field,
			"publisher: no PUBACK within mqtt.publisher.puback_timeout; in-flight "
			"alarms move to the spool, reconnecting");
		p->to->reset(p->link, "no PUBACK within puback_timeout");
		p->down_since_ns = now - BP_PUBLISH_DOWN_GRACE_NS;
		p->spooled_ns = 0;
	}
	if (bp_publish_up(p) && !held(p, now))
		send_all(p, now);
	else
		bp_publish_skip(p);
	/* May detect a lost connection. */
	p->to->flush(p->link);
	now = bp_mono_ns();
	bp_inflight_written(&p->inflight, now);
	bp_publish_release(p);
	if (disk)
		use_disk(p, now);
	update_gauges(p);
	adapt_tick(p, now);
	if (p->draining)
		drain(p, now);
}

void bp_publish_ready(void *arg)
{
	pump(arg, false);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	uint64_t expirations;

	(void)what;
	if (read(fd, &expirations, sizeof(expirations)) == (ssize_t)sizeof(expirations))
		bp_publish_reschedule(arg);
}

static void on_records(void *arg)
{
	for (struct bp_publisher *p = arg; p != NULL; p = p->next)
		pump(p, false);
}

static void on_reschedule(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pump(arg, true);
}

/* After a failure the file may have been closed or replaced: reads all its rows again. */
static void reopen_spool(struct bp_publisher *p, uint64_t now)
{
	if (!bp_spool_ready(p->spool)) {
		bp_publish_unreadable(p, now);
		return;
	}
	p->spool_broken = false;
	bp_backlog_rescan(&p->backlog);
	bp_publish_reschedule(p); /* the next event of the link may be its keepalive */
}

#define SPOOL_PATH_SIZE (sizeof(((struct bp_config_spool *)0)->path) + 16)

static void spool_path(const struct bp_config_mqtt *mqtt, const struct bp_destination *to,
	char out[SPOOL_PATH_SIZE])
{
	snprintf(out, SPOOL_PATH_SIZE, "%s%s", mqtt->spool.path, to->spool_suffix);
}

static struct bp_destination_settings settings_of(const struct bp_config_mqtt *mqtt)
{
	return (struct bp_destination_settings){.publisher = mqtt->publisher, .kafka = mqtt->kafka};
}

static void take_bounds(struct bp_publisher *p, const struct bp_config_mqtt *mqtt)
{
	p->settings = settings_of(mqtt);
	p->to->limits(&p->settings, &p->limits);
	p->window = p->limits.max_inflight < 1 ? 1 : p->limits.max_inflight;
	if (p->window > p->to->window_max)
		p->window = p->to->window_max;
	set(&p->c->max_inflight, p->limits.enabled ? p->window : 0);
	set(&p->c->spool_max_bytes, mqtt->spool.max_bytes);
	p->ack_timeout_ns = p->limits.ack_timeout_ns;
	p->backlog_warning = mqtt->spool.backlog_warning;
	bp_spool_set_bounds(p->spool, mqtt->spool.max_bytes, mqtt->spool.max_age_ns);
}

/* Reads the password, checks the TLS files, and applies them to the link. On failure it is repeated
 * later; forwarding continues meanwhile. */
static void try_settings(struct bp_publisher *p, uint64_t now)
{
	p->settings_bad = p->to->configure(p->link, &p->settings, p->settings_error,
				  sizeof(p->settings_error)) != 0;
	if (p->settings_backoff_ns == 0)
		p->settings_backoff_ns = SETTINGS_BACKOFF_MIN_NS;
	p->settings_retry_ns = now + p->settings_backoff_ns;
	p->settings_backoff_ns = p->settings_bad && p->settings_backoff_ns < SETTINGS_BACKOFF_MAX_NS
					 ? p->settings_backoff_ns * 2
				 : p->settings_bad ? p->settings_backoff_ns
						   : SETTINGS_BACKOFF_MIN_NS;
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct bp_publisher *p = arg;
	uint64_t now = bp_mono_ns();

	(void)fd;
	(void)what;
	if (p->settings_bad && now >= p->settings_retry_ns)
		try_settings(p, now);
	bp_publish_update_brokers(p);
	if (empty(p) && bp_spool_rows(p->spool) == 0)
		p->unacked_ns = 0; /* dropped */
	bp_publish_count_dropped(p);
	bp_publish_faults(p, now);
	if (bp_publish_disk_rests(p, now))
		return;
	if (p->spool_broken)
		reopen_spool(p, now);
	if (!bp_spool_expire(p->spool, bp_unix_ns()))
		bp_publish_disk_failed(p, now);
	bp_publish_count_dropped(p);
	if (bp_spool_rows(p->spool) == 0)
		bp_spool_shrink(p->spool);
	update_gauges(p);
}

/* ---- start and end ---- */

int bp_publisher_check(const struct bp_config_mqtt *mqtt, char *err, size_t err_size)
{
	const struct bp_destination_settings s = settings_of(mqtt);

	if (bp_mqtt_destination.check(&s, err, err_size) != 0)
		return -1;
	return bp_kafka_destination.check(&s, err, err_size);
}

static bool in_use(const struct bp_config_mqtt *mqtt, const struct bp_destination *to, char *err,
	size_t err_size)
{
	static const struct timespec little = {.tv_nsec = 100000000};
	char path[SPOOL_PATH_SIZE], why[768];

	spool_path(mqtt, to, path);
	/* A control plane that was killed a moment ago may still hold the lock. */
	for (unsigned i = 0; bp_sqlite_locked(path, why, sizeof(why)); i++) {
		if (i == SPOOL_PATIENCE) {
			snprintf(err, err_size, "mqtt.spool.path: %s", why);
			return true;
		}
		nanosleep(&little, NULL);
	}
	return false;
}

bool bp_publisher_spool_in_use(const struct bp_config_mqtt *mqtt, char *err, size_t err_size)
{
	if (!mqtt->enabled)
		return false;
	return (mqtt->publisher.enabled && in_use(mqtt, &bp_mqtt_destination, err, err_size)) ||
	       (mqtt->kafka.enabled && in_use(mqtt, &bp_kafka_destination, err, err_size));
}

int bp_publisher_configure(
	struct bp_publisher *p, const struct bp_config_mqtt *mqtt, char *err, size_t err_size)
{
	const struct bp_destination_settings s = settings_of(mqtt);
	int rc = 0;

	if (!bp_annotations_set(&p->annotations, mqtt->rules, mqtt->n_rules)) {
		snprintf(err, err_size, "no memory for the annotations of the rules");
		rc = -1;
	}
	for (; p != NULL; p = p->next) {
		if (p->to->configure(p->link, &s, err, err_size) != 0) {
			rc = -1;
			continue;
		}
		take_bounds(p, mqtt);
		p->settings_bad = false;
	}
	return rc;
}

/* Ids of new alarms must differ from those on disk. The id 0 is unchanged: no valid part has it,
 * and the data plane must detect that. */
static void raise_next_id(struct bp_publisher *p)
{
	uint64_t want = bp_spool_max_id(p->spool) + 1;
	uint64_t next = atomic_load_explicit(&p->shm->shared->next_alarm_id, memory_order_relaxed);

	while (next != 0 && next < want &&
		!atomic_compare_exchange_weak_explicit(&p->shm->shared->next_alarm_id, &next, want,
			memory_order_relaxed, memory_order_relaxed))
		;
}

static bool open_lanes(struct bp_publisher *p)
{
	p->lane = calloc(p->shm->workers, sizeof(*p->lane));
	if (p->lane == NULL)
		return false;
	for (p->lanes = 0; p->lanes < p->shm->workers; p->lanes++)
		if (!bp_lane_open(&p->lane[p->lanes], bp_shm_ring(p->shm, p->lanes), LANE_ENTRIES))
			return false;
	return true;
}

static bool start_tick(struct bp_publisher *p)
{
	struct timeval second = {1, 0};

	p->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (p->tick_fd < 0)
		return false;
	p->tick_event = event_new(p->base, p->tick_fd, EV_READ | EV_PERSIST, on_tick, p);
	p->reschedule_event = event_new(p->base, -1, 0, on_reschedule, p);
	p->second_event = event_new(p->base, -1, EV_PERSIST, on_second, p);
	return p->tick_event != NULL && p->reschedule_event != NULL && p->second_event != NULL &&
	       event_add(p->tick_event, NULL) == 0 && event_add(p->second_event, &second) == 0;
}

/* Without its publisher. The spool's are those of the file. */
static void clear_gauges(struct bp_publisher_counters *c)
{
	atomic_store_explicit(&c->connected, 0, memory_order_relaxed);
	atomic_store_explicit(&c->brokers, 0, memory_order_relaxed);
	atomic_store_explicit(&c->brokers_connected, 0, memory_order_relaxed);
	set(&c->inflight, 0);
}

static void free_publisher(struct bp_publisher *p)
{
	for (uint16_t mid = p->inflight.oldest; mid != 0; mid = p->inflight.slot[mid].newer)
		if (p->inflight.slot[mid].kind == BP_INFLIGHT_DROPPED)
			bp_publish_dropped(p, (enum bp_publish_drop)p->inflight.slot[mid].ref, 1);
	p->to->free(p->link);
	if (p->tick_event != NULL)
		event_free(p->tick_event);
	if (p->reschedule_event != NULL)
		event_free(p->reschedule_event);
	if (p->second_event != NULL)
		event_free(p->second_event);
	if (p->tick_fd >= 0)
		close(p->tick_fd);
	for (unsigned i = 0; i < p->lanes; i++)
		bp_lane_close(&p->lane[i]);
	free(p->lane);
	bp_backlog_free(&p->backlog);
	bp_key_order_free(&p->order);
	bp_spool_free(p->spool);
	bp_text_free(&p->envelope);
	free(p->renumbered);
	clear_gauges(p->c);
	free(p);
}

/* Opens the spool's file if there is a reason to open it now. */
static void open_spool(struct bp_publisher *p)
{
	if (!p->limits.enabled && access(bp_spool_path(p->spool), F_OK) != 0)
		return;
	if (!bp_spool_ready(p->spool))
		bp_publish_unreadable(p, bp_mono_ns());
	else
		raise_next_id(p);
	bp_publish_update_order(p, bp_mono_ns());
}

/* The publisher of one destination. NULL without memory or a timer. */
static struct bp_publisher *new_publisher(const struct bp_destination *to, struct event_base *base,
	struct bp_shm *shm, const struct bp_config_mqtt *mqtt)
{
	struct bp_publisher *p = calloc(1, sizeof(*p));
	char path[SPOOL_PATH_SIZE];

	if (p == NULL)
		return NULL;
	p->base = base;
	p->shm = shm;
	p->g = shm->control;
	p->to = to;
	p->c = &p->g->publisher[to->id];
	p->first = p;
	p->latency = &shm->alarm_latency[to->id];
	p->tick_fd = -1;
	p->down_since_ns = bp_mono_ns();
	bp_inflight_init(&p->inflight);
	bp_alarm_log_open(&p->log, shm->alarm_log);
	bp_alarm_stages_reset(p->latency);
	clear_gauges(p->c);
	spool_path(mqtt, to, path);
	p->spool = bp_spool_new(path, mqtt->spool.max_bytes, mqtt->spool.max_age_ns);
	bp_backlog_init(&p->backlog, p->spool);
	bp_key_order_init(&p->order, mqtt->spool.max_keys);
	p->link = to->new (base, &bp_publish_link_events, p);
	if (p->spool != NULL && p->link != NULL && open_lanes(p) && start_tick(p))
		return p;
	free_publisher(p);
	return NULL;
}

/* Adds the publisher of another destination, which reads the same rings. */
static bool add_publisher(struct bp_publisher *first, const struct bp_config_mqtt *mqtt)
{
	struct bp_publisher *p =
		new_publisher(&bp_kafka_destination, first->base, first->shm, mqtt);

	if (p == NULL)
		return false;
	p->first = first;
	first->next = p;
	for (unsigned i = 0; i < p->lanes; i++)
		bp_lane_join(&first->lane[i], &p->lane[i]);
	return true;
}

static void begin(struct bp_publisher *p, const struct bp_config_mqtt *mqtt)
{
	take_bounds(p, mqtt);
	open_spool(p);
	try_settings(p, p->down_since_ns);
}

struct bp_publisher *bp_publisher_new(struct event_base *base, struct bp_shm *shm,
	struct bp_ring_events *rings, const struct bp_config_mqtt *mqtt, char *err, size_t err_size)
{
	struct bp_publisher *p = new_publisher(&bp_mqtt_destination, base, shm, mqtt);

	/* of an earlier configuration; the views use it to know whether there is a Kafka */
	clear_gauges(&shm->control->publisher[BP_TO_KAFKA]);
	set(&shm->control->publisher[BP_TO_KAFKA].max_inflight, 0);
	if (p == NULL || (mqtt->kafka.enabled && !add_publisher(p, mqtt)) ||
		!bp_annotations_set(&p->annotations, mqtt->rules, mqtt->n_rules) ||
		!bp_ring_events_add(rings, bp_shm_ring(shm, 0), shm->workers, on_records, p)) {
		snprintf(err, err_size, "no memory or timer for the publisher");
		bp_publisher_free(p);
		return NULL;
	}
	bp_faults_init(&p->faults, shm->cp_faults, "publisher", BP_LOG_EVERY_NS, p->down_since_ns);
	p->faults.events = &shm->main_events;
	bp_publish_faults_begin(p);
	for (struct bp_publisher *each = p; each != NULL; each = each->next)
		begin(each, mqtt);
	return p;
}

void bp_publisher_free(struct bp_publisher *p)
{
	while (p != NULL) {
		struct bp_publisher *next = p->next;

		free_publisher(p);
		p = next;
	}
}

void bp_publisher_drain(
	struct bp_publisher *p, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	p->on_drained = done;
	p->drained_arg = arg;
	for (; p != NULL; p = p->next) {
		p->draining = true;
		p->drain_deadline_ns = bp_mono_ns() + wait_ns;
		bp_publish_reschedule(p);
	}
}
