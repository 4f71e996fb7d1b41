/* SPDX-License-Identifier: BSD-3-Clause */
#include "test.h"
#include "config/segment.h"
#include "config/config.h"
#include "config/mqtt/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t test_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void test_nap(void)
{
	usleep(1000);
}

void test_dir_make(char *path, size_t size)
{
	/* In memory: processes are killed here, machines are not, so that nothing is learnt of a
	 * disk but how slow it is. */
	snprintf(path, size, "/dev/shm/biplane-test-XXXXXX");
	assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void test_dir_remove(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void test_write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

uint64_t test_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static size_t length(const char *s)
{
	return s == NULL ? 0 : strlen(s);
}

static char *append(char *at, const char *s)
{
	memcpy(at, s == NULL ? "" : s, length(s));
	return at + length(s);
}

struct bp_alarm *test_alarm_make(const struct test_alarm *t)
{
	struct bp_alarm *a =
		calloc(1, sizeof(*a) + length(t->rule) + length(t->client_id) + length(t->topic) +
				  length(t->to) + length(t->payload) + length(t->value_string));
	static const uint8_t ip[4] = {10, 0, 0, 5};
	char *at = a->text;

	assert_non_null(a);
	a->id = t->id;
	a->time_ns = t->time_ns;
	a->value = t->value;
	a->state = t->state;
	a->flags = t->flags;
	a->qos = t->qos;
	a->severity = t->severity;
	a->client_port = 40312;
	memcpy(a->client_ip, ip, sizeof(ip));
	a->rule_len = (uint8_t)length(t->rule);
	a->client_id_len = (uint16_t)length(t->client_id);
	a->topic_len = (uint16_t)length(t->topic);
	a->to_len = (uint16_t)length(t->to);
	a->payload_len = (uint32_t)length(t->payload);
	at = append(at, t->rule);
	at = append(at, t->client_id);
	at = append(at, t->topic);
	at = append(at, t->to);
	at = append(at, t->payload);
	a->value_text = bp_alarm_value_text(t->value_type, (uint8_t)length(t->value_string));
	append(at, t->value_string);
	return a;
}

struct bp_alarm *test_alarm_number(uint64_t id, const char *to, size_t pad)
{
	char *payload = calloc(1, pad + 32);
	struct bp_alarm *a;
	size_t n;

	assert_non_null(payload);
	n = (size_t)sprintf(payload, "%" PRIu64, id);
	if (n < pad)
		memset(payload + n, ' ', pad - n);
	a = test_alarm_make(&(struct test_alarm){.id = id,
		.time_ns = (uint64_t)time(NULL) * 1000000000u,
		.value = 1,
		.state = BP_ALARM_RAISED,
		.rule = "r",
		.topic = "t",
		.to = to,
		.payload = payload});
	free(payload);
	return a;
}

bool test_ring_put(struct bp_ring *ring, const struct bp_alarm *a)
{
	const uint64_t now = test_now_ns();

	return test_ring_put_times(ring, a, &(struct bp_alarm_times){now, now});
}

bool test_ring_put_times(
	struct bp_ring *ring, const struct bp_alarm *a, const struct bp_alarm_times *times)
{
	uint64_t mark;
	uint32_t size = (uint32_t)bp_alarm_size(a), at = (uint32_t)bp_alarm_times_at(size);
	char *room =
		bp_ring_reserve(ring, times != NULL ? at + (uint32_t)sizeof(*times) : size, &mark);

	if (room == NULL)
		return false;
	memcpy(room, a, size);
	if (times != NULL)
		memcpy(room + at, times, sizeof(*times));
	bp_ring_commit(ring, mark);
	return true;
}

void test_config(struct bp_config *c, struct bp_config_mqtt *m, const char *dir, uint16_t port,
	uint32_t workers, uint64_t ring)
{
	memset(c, 0, sizeof(*c));
	memset(m, 0, sizeof(*m));
	c->service[BP_SERVICE_MQTT] = m;
	snprintf(c->name, sizeof(c->name), "test");
	snprintf(c->runtime_dir, sizeof(c->runtime_dir), "%s", dir);
	c->hugepages = BP_HUGEPAGES_NEVER;
	c->n_workers = workers;
	c->n_ports = 2;
	m->enabled = true;
	m->max_rules = 16;
	m->max_alarm_states = 16;
	m->alarm_queue_size = ring;
	m->publisher.enabled = port != 0;
	snprintf(m->publisher.broker.host, sizeof(m->publisher.broker.host), "127.0.0.1");
	snprintf(m->publisher.client_id, sizeof(m->publisher.client_id), "biplane-test");
	m->publisher.broker.tcp_port = port;
	m->publisher.keep_alive_s = 600; /* longer than a test: it hides no event that is missing */
	m->publisher.max_inflight = 100;
	m->publisher.puback_timeout_ns = 30000000000ull;
	snprintf(m->spool.path, sizeof(m->spool.path), "%s/spool/alarms.db", dir);
	m->spool.max_bytes = 64u << 20;
	m->spool.max_age_ns = 3600000000000ull;
	m->spool.max_keys = 1024;
}

void test_shm_make(struct bp_shm *m, const struct bp_config *c)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	unsigned n = bp_shm_specs(c, specs);
	char err[256] = "";
	struct bp_segment *s = bp_segment_anonymous(specs, n, err, sizeof(err));

	if (s == NULL || bp_shm_map(m, s, err, sizeof(err)) != 0)
		fail_msg("no segment: %s", err);
}

void test_shm_free(struct bp_shm *m)
{
	bp_segment_close(m->segment);
}

static struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

uint16_t test_free_port(void)
{
	struct sockaddr_in a = loopback(0);
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	close(fd);
	return ntohs(a.sin_port);
}

bool test_takes_connections(uint16_t port)
{
	struct sockaddr_in a = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool yes = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

	close(fd);
	return yes;
}

void test_broker_make(struct test_broker *b, const char *dir, const char *more_config)
{
	char path[300], text[2048];

	memset(b, 0, sizeof(*b));
	snprintf(b->dir, sizeof(b->dir), "%s/broker", dir);
	assert_int_equal(mkdir(b->dir, 0755), 0);
	b->port = test_free_port();
	snprintf(text, sizeof(text),
		"listener %u 127.0.0.1\n"
		"%s"
		"max_queued_messages 0\n"
		"set_tcp_nodelay true\n"
		"persistence true\n"
		"persistence_location %s/\n"
		"user root\n"
		"log_dest none\n"
		"%s",
		b->port, strstr(more_config, "allow_anonymous") ? "" : "allow_anonymous true\n",
		b->dir, more_config);
	snprintf(path, sizeof(path), "%s/mosquitto.conf", b->dir);
	test_write_file(path, text);
}

void test_broker_start(struct test_broker *b)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/mosquitto.conf", b->dir);
	b->pid = fork();
	assert_true(b->pid >= 0);
	if (b->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* no broker outlives a test that was killed */
		execlp("mosquitto", "mosquitto", "-c", path, (char *)NULL);
		execl("/usr/sbin/mosquitto", "mosquitto", "-c", path, (char *)NULL);
		_exit(127);
	}
	WAIT_UNTIL(test_takes_connections(b->port));
}

void test_broker_stop(struct test_broker *b)
{
	int status;

	if (b->pid == 0)
		return;
	kill(b->pid, SIGTERM);
	kill(b->pid, SIGCONT); /* a test that failed may have left it stopped */
	/* A cmocka test may be interrupted by signals of its children. */
	while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
}
