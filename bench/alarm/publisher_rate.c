/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maximum rate of the alarm publisher: alarms/s that a real mosquitto acknowledges at QoS 1. A
 * forked writer fills an alarm ring as a worker does; the publisher reads the ring and publishes to
 * a mosquitto of its own on a loopback port.
 *
 *   publisher_rate [--rate N] [--seconds N] [--inflight N] [--payload BYTES] [--envelope] [--json]
 *
 * Without --rate the writer fills the ring as fast as possible, which measures the maximum rate
 * including the overflow to the spool. With --rate N it writes N alarms/s; alarms that do not fit
 * in the ring are counted as `ring_full`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "biplane/counters/mqtt.h"
#include "bench/harness/instance.h"
#include "controlplane/process/clock.h"
#include "controlplane/alarms/publisher.h"
#include "controlplane/process/ring_events.h"
#include "shm/doorbell.h"
#include "shm/layout.h"
#include "config/segment.h"
#include "config/mqtt/settings.h"

struct options {
	uint64_t rate, seconds;
	uint32_t inflight, payload;
	bool envelope, json;
};

static struct options options = {.seconds = 10, .inflight = 1000, .payload = 16};

static void die(const char *what)
{
	fprintf(stderr, "publisher_rate: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the broker ---- */

static int loopback_socket(struct sockaddr_in *a, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_port = htons(port);
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static uint16_t free_port(void)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = loopback_socket(&a, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
		getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		die("no free port");
	close(fd);
	return ntohs(a.sin_port);
}

static bool takes_connections(uint16_t port)
{
	struct sockaddr_in a;
	int fd = loopback_socket(&a, port);
	bool yes = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

	close(fd);
	return yes;
}

static pid_t start_broker(const char *dir, uint16_t port)
{
	char path[256];
	FILE *f;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/mosquitto.conf", dir);
	f = fopen(path, "we");
	if (f == NULL)
		die(path);
	fprintf(f,
		"listener %u 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
		"max_queued_messages 0\nlog_dest none\n",
		port);
	fclose(f);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execlp("mosquitto", "mosquitto", "-c", path, (char *)NULL);
		execl("/usr/sbin/mosquitto", "mosquitto", "-c", path, (char *)NULL);
		die("mosquitto cannot be started; is it installed?");
	}
	for (unsigned tries = 0; !takes_connections(port); tries++) {
		if (tries == 5000)
			die("mosquitto does not take connections");
		usleep(1000);
	}
	unlink(path);
	return pid;
}

/* ---- the writer ---- */

static struct bp_alarm *make_alarm(uint32_t *size)
{
	static const char rule[] = "overheat", id[] = "sensor-17";
	static const char topic[] = "plant/17/temperature", to[] = "alarm/plant/17/temperature";
	uint32_t strings = sizeof(rule) + sizeof(id) + sizeof(topic) + sizeof(to) - 4;
	struct bp_alarm *a = calloc(1, BP_ALARM_HEAD + strings + options.payload);
	char *at;

	if (a == NULL)
		die("no memory");
	a->state = BP_ALARM_RAISED;
	a->flags = options.envelope ? BP_ALARM_F_ENVELOPE : 0;
	a->value = 81.5;
	a->rule_len = sizeof(rule) - 1;
	a->client_id_len = sizeof(id) - 1;
	a->topic_len = sizeof(topic) - 1;
	a->to_len = sizeof(to) - 1;
	a->payload_len = options.payload;
	at = mempcpy(a->text, rule, a->rule_len);
	at = mempcpy(at, id, a->client_id_len);
	at = mempcpy(at, topic, a->topic_len);
	at = mempcpy(at, to, a->to_len);
	memset(at, '7', options.payload);
	*size = (uint32_t)bp_alarm_size(a);
	return a;
}

/* Uses the counters of worker 0 in the segment, as a worker does. */
static void writer(struct bp_shm *shm, struct bp_doorbell *doorbell)
{
	struct bp_ring *ring = bp_shm_ring(shm, 0);
	uint64_t *queued = &shm->counters->v[BP_C_ALARM_QUEUED];
	uint64_t *full = &shm->counters->v[BP_C_ALARM_QUEUE_FULL];
	uint64_t start = bp_mono_ns(), now = start, end = start + options.seconds * 1000000000u;
	uint64_t offered = 0, mark;
	struct bp_alarm *a;
	uint32_t size;
	void *room;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	a = make_alarm(&size);
	for (; now < end; now = bp_mono_ns()) {
		if (options.rate != 0 && offered >= (now - start) * options.rate / 1000000000u) {
			usleep(50);
			continue;
		}
		room = bp_ring_reserve(ring, size, &mark);
		if (room == NULL && options.rate == 0) {
			usleep(100);
			continue;
		}
		offered++;
		if (room == NULL) {
			__atomic_store_n(full, *full + 1, __ATOMIC_RELAXED);
			continue;
		}
		a->id = offered;
		a->time_ns = bp_unix_ns();
		memcpy(room, a, size);
		bp_ring_commit(ring, mark);
		bp_doorbell_check(doorbell);
		__atomic_store_n(queued, *queued + 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

/* ---- the publisher ---- */

struct run {
	struct bp_shm shm;
	struct event_base *base;
	struct bp_doorbell doorbell; /* shared with the writer */
	struct bp_ring_events *rings;
	struct bp_publisher *publisher;
	pid_t writer;
	uint64_t start_ns, acked_at_end, end_ns, idle_since_ns;
};

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Ends the loop when the writer has finished and all alarms are acknowledged. */
static void look(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;
	struct bp_shm_control *g = r->shm.control;

	(void)fd;
	(void)what;
	if (r->writer == 0 && atomic_load(&g->publisher[BP_TO_MQTT].connected) == 1) {
		r->writer = fork();
		if (r->writer == 0)
			writer(&r->shm, &r->doorbell);
		r->start_ns = bp_mono_ns();
	}
	if (r->writer == 0)
		return;
	if (r->end_ns == 0 && bp_mono_ns() >= r->start_ns + options.seconds * 1000000000u) {
		r->end_ns = bp_mono_ns();
		r->acked_at_end = get(&g->publisher[BP_TO_MQTT].acked);
	}
	if (r->end_ns != 0 && waitpid(r->writer, NULL, WNOHANG) != 0 &&
		bp_ring_used(bp_shm_ring(&r->shm, 0)) == 0 &&
		get(&g->publisher[BP_TO_MQTT].inflight) == 0 &&
		get(&g->publisher[BP_TO_MQTT].spool_rows) == 0)
		event_base_loopbreak(r->base);
}

static void report(const struct run *r)
{
	const struct bp_shm_control *g = r->shm.control;
	double seconds = (double)(r->end_ns - r->start_ns) / 1e9;
	double rate = (double)r->acked_at_end / seconds;
	const uint64_t *v = r->shm.counters->v;
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	double cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		     (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;

	printf(options.json
			? "{\"acknowledged_per_second\":%.0f,\"seconds\":%.2f,\"queued\":%" PRIu64
			  ",\"ring_full\":%" PRIu64 ",\"acknowledged\":%" PRIu64
			  ",\"spooled\":%" PRIu64 ",\"dropped\":%" PRIu64
			  ",\"publisher_cpu_seconds\":%.2f}\n"
			: "%.0f alarms/s acknowledged over %.2f s\n"
			  "queued %" PRIu64 ", ring full %" PRIu64 ", acknowledged %" PRIu64
			  ", spooled %" PRIu64 ", dropped %" PRIu64
			  "; publisher used %.2f s of CPU\n",
		rate, seconds, v[BP_C_ALARM_QUEUED], v[BP_C_ALARM_QUEUE_FULL],
		get(&g->publisher[BP_TO_MQTT].acked), get(&g->publisher[BP_TO_MQTT].spooled),
		get(&g->publisher[BP_TO_MQTT].dropped_size) +
			get(&g->publisher[BP_TO_MQTT].dropped_age),
		cpu);
}

static void configure(struct bp_config *c, struct bp_config_mqtt *m, const char *dir, uint16_t port)
{
	memset(c, 0, sizeof(*c));
	memset(m, 0, sizeof(*m));
	c->service[BP_SERVICE_MQTT] = m;
	c->n_workers = 1;
	c->n_ports = 1;
	m->enabled = true;
	m->max_rules = 1;
	m->max_alarm_states = 1;
	m->alarm_queue_size = 4 << 20;
	m->publisher.enabled = true;
	snprintf(m->publisher.broker.host, sizeof(m->publisher.broker.host), "127.0.0.1");
	snprintf(m->publisher.client_id, sizeof(m->publisher.client_id), "biplane-bench");
	m->publisher.broker.tcp_port = port;
	m->publisher.keep_alive_s = 30;
	m->publisher.max_inflight = options.inflight;
	m->publisher.puback_timeout_ns = 30000000000ull;
	snprintf(m->spool.path, sizeof(m->spool.path), "%s/spool.db", dir);
	m->spool.max_bytes = 1ull << 30;
	m->spool.max_age_ns = 3600000000000ull;
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {{"rate", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"inflight", required_argument, NULL, 'i'},
		{"payload", required_argument, NULL, 'p'}, {"envelope", no_argument, NULL, 'e'},
		{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};

	for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (c) {
		case 'r':
			options.rate = strtoull(optarg, NULL, 10);
			break;
		case 's':
			options.seconds = strtoull(optarg, NULL, 10);
			break;
		case 'i':
			options.inflight = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			options.payload = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'e':
			options.envelope = true;
			break;
		case 'j':
			options.json = true;
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	char dir[200], err[256] = "", command[sizeof(dir) + 16];
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	static struct bp_config config;
	static struct bp_config_mqtt mqtt;
	struct timeval every = {0, 10000};
	struct run r = {0};
	pid_t broker;

	parse(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (bench_directory(dir, sizeof(dir)) != 0)
		die("no directory");
	uint16_t port = free_port();

	configure(&config, &mqtt, dir, port);
	broker = start_broker(dir, port);
	/* A file, because writer and publisher are two processes, as in the product. */
	struct bp_segment *s = bp_segment_open(
		"bench", NULL, dir, specs, bp_shm_specs(&config, specs), true, err, sizeof(err));

	r.base = event_base_new();
	if (s == NULL || bp_shm_map(&r.shm, s, err, sizeof(err)) != 0 || r.base == NULL)
		die(err);
	r.doorbell.sleeps = &r.shm.control->cp_sleeps;
	r.doorbell.fd = bp_doorbell_create(dir, "bench", err, sizeof(err));
	bp_doorbell_watch(&r.doorbell, bp_shm_ring(&r.shm, 0));
	r.rings = bp_ring_events_new(r.base, &r.shm.control->cp_sleeps, dir, "bench");
	if (r.rings != NULL && r.doorbell.fd >= 0)
		r.publisher = bp_publisher_new(r.base, &r.shm, r.rings, &mqtt, err, sizeof(err));
	if (r.publisher == NULL)
		die(err);
	struct event *timer = event_new(r.base, -1, EV_PERSIST, look, &r);

	event_add(timer, &every);
	event_base_dispatch(r.base);
	report(&r);
	event_free(timer);
	bp_ring_events_free(r.rings);
	bp_publisher_free(r.publisher);
	event_base_free(r.base);
	bp_segment_close(s);
	kill(broker, SIGTERM);
	waitpid(broker, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) == 0 ? 0 : 1;
}
