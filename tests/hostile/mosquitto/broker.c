/* SPDX-License-Identifier: BSD-3-Clause */
#include "broker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOSQUITTO "/usr/sbin/mosquitto"
#define PATIENCE_MS 20000

static char folder[] = "/tmp/biplane-mosquitto-XXXXXX";
static pid_t child;
static uint16_t port;
static int observer = -1, beacon = -1;
static struct bytes observed;
static char version[32];

static void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "broker: %s: %s\n", what, strerror(errno));
		abort();
	}
}

static struct sockaddr_in address(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static uint16_t free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0, "no port");
	must(getsockname(fd, (struct sockaddr *)&a, &size) == 0, "no port");
	close(fd);
	return ntohs(a.sin_port);
}

static int dial(void)
{
	struct sockaddr_in a = address();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	must(fd >= 0, "socket");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	must(poll(&p, 1, PATIENCE_MS) == 1, "the broker does not answer");
}

/* Reads what is there; false at the end. */
static bool take(int fd, struct bytes *b)
{
	uint8_t buf[65536];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	if (n <= 0)
		return false;
	bytes_add(b, buf, (size_t)n);
	return true;
}

/* The first packet of b[from..): its length, or 0. */
static size_t whole(const struct bytes *b, size_t from, size_t *head)
{
	size_t at = from + 1, n = 0;

	for (unsigned shift = 0; at < b->n; shift += 7, at++) {
		n |= (size_t)(b->p[at] & 0x7f) << shift;
		if (b->p[at] < 0x80) {
			*head = at + 1 - from;
			return *head + n <= b->n - from ? *head + n : 0;
		}
	}
	return 0;
}

static int client(const char *id)
{
	struct bytes b = {0}, answer = {0};
	int fd = dial();

	must(fd >= 0, "connect");
	mq_connect(&b, 4, id, 0);
	b.p[10] = b.p[11] = 0; /* no keep alive */
	must(send(fd, b.p, b.n, 0) == (ssize_t)b.n, "send");
	while (answer.n < 4) {
		wait_readable(fd);
		must(take(fd, &answer), "no CONNACK");
	}
	must(answer.p[0] == 0x20 && answer.p[3] == 0, "refused");
	bytes_free(&b);
	bytes_free(&answer);
	return fd;
}

static void subscribe(int fd, const char *filter)
{
	struct bytes b = {0}, answer = {0};

	mq_subscribe(&b, 4, 1, filter);
	b.p[b.n - 1] = 0; /* QoS 0: each once, in order */
	must(send(fd, b.p, b.n, 0) == (ssize_t)b.n, "send");
	while (answer.n < 5) {
		wait_readable(fd);
		must(take(fd, &answer), "no SUBACK");
	}
	must(answer.p[0] == 0x90 && answer.p[4] != 0x80, "not subscribed");
	bytes_free(&b);
	bytes_free(&answer);
}

static void read_version(void)
{
	FILE *f = popen(MOSQUITTO " -h", "r");

	must(f != NULL, "popen");
	if (fscanf(f, "mosquitto version %31s", version) != 1)
		version[0] = 0;
	pclose(f);
}

static void write_config(const char *path)
{
	FILE *f = fopen(path, "w");

	must(f != NULL, path);
	fprintf(f,
		"listener %u 127.0.0.1\nallow_anonymous true\npersistence false\n"
		"set_tcp_nodelay true\nmax_queued_messages 0\nuser root\n"
		"log_dest file %s/log\nlog_type error\n",
		port, folder);
	fclose(f);
}

bool broker_start(void)
{
	char config[128];
	int fd = -1;

	if (access(MOSQUITTO, X_OK) != 0)
		return false;
	signal(SIGPIPE, SIG_IGN);
	read_version();
	must(mkdtemp(folder) != NULL, "mkdtemp");
	port = free_port();
	snprintf(config, sizeof(config), "%s/config", folder);
	write_config(config);
	child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 3; i++)
			(void)dup2(null, i);
		execl(MOSQUITTO, "mosquitto", "-c", config, (char *)NULL);
		_exit(127);
	}
	for (int waited = 0; fd < 0; waited += 20) {
		must(waited < PATIENCE_MS && waitpid(child, NULL, WNOHANG) == 0,
			"mosquitto does not start");
		(void)poll(NULL, 0, 20);
		fd = dial();
	}
	close(fd);
	observer = client("observer");
	subscribe(observer, "#");
	subscribe(observer, "$t/#");
	beacon = client("beacon");
	return true;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *w)
{
	(void)st;
	(void)type;
	(void)w;
	return remove(path);
}

void broker_stop(void)
{
	close(observer);
	close(beacon);
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	bytes_free(&observed);
}

const char *broker_version(void)
{
	return version;
}

/* ---- sessions ---- */

static int begin(const struct session *s)
{
	int fd = dial();

	must(fd >= 0, "connect");
	/* a session is small: it goes into the socket's buffer whole */
	must(send(fd, s->out.p, s->out.n, MSG_NOSIGNAL) == (ssize_t)s->out.n, "send");
	(void)shutdown(fd, SHUT_WR);
	return fd;
}

static void finish(struct pollfd *p, struct outcome *o, size_t n)
{
	for (size_t open = n; open != 0;) {
		must(poll(p, n, PATIENCE_MS) > 0, "the broker does not close");
		for (size_t i = 0; i < n; i++) {
			if (p[i].fd < 0 || p[i].revents == 0 || take(p[i].fd, &o[i].answers))
				continue;
			close(p[i].fd);
			p[i].fd = -1;
			open--;
		}
	}
}

void outcome_add(struct outcome *o, uint64_t number, const char *topic, size_t topic_len)
{
	o->got = realloc(o->got, (o->n_got + 1) * sizeof(*o->got));
	must(o->got != NULL, "memory");
	o->got[o->n_got].number = number;
	o->got[o->n_got].topic = strndup(topic, topic_len);
	must(o->got[o->n_got].topic != NULL, "memory");
	o->n_got++;
}

/* A PUBLISH of QoS 0 to the observer. True when it is the beacon's. */
static bool note(const uint8_t *body, size_t len, const struct session *s, struct outcome *o,
	size_t n, uint64_t round)
{
	size_t topic_len = (size_t)body[0] << 8 | body[1];
	uint64_t number = session_payload(body + 2 + topic_len, len - 2 - topic_len);

	if (topic_len == 6 && memcmp(body + 2, "beacon", 6) == 0)
		return number == round;
	for (size_t i = 0; i < n; i++) {
		if (number != 0 && s[i].number == number / SESSION_PER)
			outcome_add(&o[i], number, (const char *)body + 2, topic_len);
	}
	return false;
}

static void observe(const struct session *s, struct outcome *o, size_t n)
{
	static uint64_t round = 1;
	struct bytes b = {0};
	size_t at = 0, size, head;
	char text[32];
	bool done = false;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)++round);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "beacon", .payload = text});
	must(send(beacon, b.p, b.n, 0) == (ssize_t)b.n, "send");
	bytes_free(&b);
	while (!done) {
		wait_readable(observer);
		must(take(observer, &observed), "the observer is disconnected");
		for (; !done && (size = whole(&observed, at, &head)) != 0; at += size) {
			if (observed.p[at] >> 4 == 3)
				done = note(observed.p + at + head, size - head, s, o, n, round);
		}
	}
	must(at == observed.n, "a delivery after the beacon's");
	observed.n = 0;
}

void broker_run(const struct session *s, struct outcome *o, size_t n)
{
	struct pollfd *p = calloc(n, sizeof(*p));

	must(p != NULL, "memory");
	memset(o, 0, n * sizeof(*o));
	for (size_t i = 0; i < n; i++) {
		p[i].fd = begin(&s[i]);
		p[i].events = POLLIN;
	}
	finish(p, o, n);
	free(p);
	observe(s, o, n);
}

void outcome_free(struct outcome *o)
{
	for (size_t i = 0; i < o->n_got; i++)
		free(o->got[i].topic);
	free(o->got);
	bytes_free(&o->answers);
}
