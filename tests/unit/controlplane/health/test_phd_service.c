/* SPDX-License-Identifier: BSD-3-Clause */
/* The service of health devices as a whole: a device on a UDP socket, and a scripted CSE. */
#include "tests/unit/controlplane/test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/health/settings.h"
#include "config/service.h"
#include "controlplane/health/phd_service.h"
#include "controlplane/health/server.h"
#include "services/health/last_report.h"
#include "tests/unit/controlplane/health/cse_peer.h"
#include "tests/unit/shm/health/phd_rig.h"

#define REPORT_LEN 36u
#define RORS 0x0201 /* CHOICEs of a PRST: the response to a confirmed report, */
#define ROER 0x0300 /* an error, */
#define RORJ 0x0400 /* and a rejection */
#define CIN 4

struct fixture {
	char dir[64];
	struct event_base *base;
	struct bp_config *config;
	struct phd_rig x;
	struct peer cse;
	bool denies;   /* the CSE, each instance */
	bool adopted;  /* the session has the last report of another gateway */
	unsigned cins; /* requests for instances */
	struct bp_phd_service *service;
	int device;
};

/* ---- the device ---- */

static void report_of(uint8_t n, uint8_t out[REPORT_LEN])
{
	const uint8_t apdu[REPORT_LEN] = {0xe7, 0, 0, 32, 0, 30, 0, n, 0x01, 0x01, 0, 24, 0, 0, 0,
		0, 0, 0, 0x0d, 0x1d, 0, 14, 0xf0, 0, 0, n, 0, 1, 0, 6, 0, 1, 0, 2, 0, 90};

	memcpy(out, apdu, REPORT_LEN);
}

/* Returns the CHOICE of the next PRST; the device ignores all other APDUs. */
static unsigned response_to(struct fixture *f, uint8_t n)
{
	uint8_t apdu[REPORT_LEN], in[64] = {0};

	report_of(n, apdu);
	assert_int_equal(send(f->device, apdu, sizeof(apdu), 0), sizeof(apdu));
	do {
		RUN_UNTIL(f, recv(f->device, in, sizeof(in), MSG_PEEK | MSG_DONTWAIT) > 0);
		assert_true(recv(f->device, in, sizeof(in), 0) > 10);
	} while (in[0] != 0xe7);
	assert_int_equal(in[7], n);
	return (unsigned)(in[8] << 8 | in[9]);
}

static void associate(struct fixture *f)
{
	const uint8_t aarq[] = {0xe2, 0x00, 0x00, 0x32, 0x80, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
		0x2a, 0x50, 0x79, 0x00, 0x26, 0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x80, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x08, 1, 2, 3, 4, 5, 6,
		7, 8, 0x01, 0x90, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00};

	assert_int_equal(send(f->device, aarq, sizeof(aarq), 0), sizeof(aarq));
}

static struct bp_phd_session *session_of(const struct fixture *f)
{
	uint32_t slot = 0;

	while (bp_phd_word_state(f->x.t->sessions[slot].word) == BP_PHD_FREE)
		assert_true(++slot < f->x.t->n_slots);
	return &f->x.t->sessions[slot];
}

static bool is_ready(const struct fixture *f)
{
	return (bp_phd_word_flags(session_of(f)->word) & BP_PHD_READY) != 0;
}

/* ---- the CSE ---- */

/* As bp_phd_manager_take() leaves it: the last report is one of another gateway, with an open
 * part. */
static void adopt(struct fixture *f, uint8_t n)
{
	struct bp_phd_session *s = session_of(f);
	uint8_t apdu[REPORT_LEN];

	report_of(n, apdu);
	s->origin = (struct bp_phd_origin){.associated_s = 1, .report = 5, .life = 3};
	s->reports = 6 + (1u << 20);
	s->last = bp_phd_last_pack(n, n, 1);
	s->sent = bp_phd_sent_pack(BP_PHD_SENT_NONE,
		bp_phd_report_hash(bp_phd_report_key, apdu, sizeof(apdu)), test_now_ns());
	f->adopted = true;
}

static void on_request(struct peer *p, const struct peer_message *m)
{
	struct fixture *f = p->arg;
	size_t len;
	const uint8_t *ty = peer_option(m, 267, 0, &len);
	const bool cin = ty != NULL && len == 1 && ty[0] == CIN;

	if (!f->adopted) /* before the session has its containers */
		adopt(f, 7);
	f->cins += cin;
	if (cin && f->denies)
		peer_put(p, PEER_ACK, 0x83, m->mid, &m->token, 4103);
	else
		peer_created(p, m);
}

/* ---- set-up ---- */

static struct bp_config *configuration(const struct fixture *f)
{
	struct bp_config_phd *phd;
	struct bp_config *c;
	char text[512];

	snprintf(text, sizeof(text),
		"version: 1\nname: g\nports: [{name: a, device: x, routed: {}}]\n"
		"health_devices:\n  listen: {udp_port: 6024, tcp_port: off}\n"
		"  max_sessions: 16\n  store: {path: %s/phd.db}\n"
		"  cse: {coap: \"coap://192.0.2.20:%u\", path: \"cse-in/{system_id}/{object}\"}\n",
		f->dir, f->cse.port);
	c = bp_config_parse("test", text, strlen(text), stderr);
	assert_non_null(c);
	phd = c->service[BP_SERVICE_HEALTH];
	phd->cse.coap_address = (struct bp_address){.family = 4, .bytes = {127, 0, 0, 1}};
	return c;
}

/* A socket of the service, and one of a device that sends to it. */
static int open_sockets(struct fixture *f)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6};
	socklen_t len = sizeof(a);
	struct sockaddr_in to = {.sin_family = AF_INET};
	char err[256];
	int fd = bp_phd_server_socket(0, err, sizeof(err));

	if (fd < 0)
		fail_msg("%s", err);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	to.sin_port = a.sin6_port;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->device = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(f->device >= 0);
	assert_int_equal(connect(f->device, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static bool no_workers(void *arg)
{
	(void)arg;
	return true;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct bp_phd_service_setup s = {.readers_gone = no_workers, .mac = {2}, .tcp = -1};
	char err[512];

	assert_non_null(f);
	*state = f;
	test_dir_make(f->dir, sizeof(f->dir));
	f->base = event_base_new();
	f->cse.on = on_request;
	f->cse.arg = f;
	peer_open(&f->cse, f->base);
	f->config = configuration(f);
	phd_open(&f->x, 16, 16, 1);
	bp_phd_writer_free(f->x.w); /* the service has its own one */
	f->x.w = NULL;
	s.config = f->config;
	s.tables = f->x.t;
	s.epochs = &f->x.epochs;
	s.udp = open_sockets(f);
	f->service = bp_phd_service_new(f->base, &s, err, sizeof(err));
	if (f->service == NULL)
		fail_msg("%s", err);
	RUN_UNTIL(f, f->x.t->control->loading == 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_phd_service_free(f->service);
	phd_close(&f->x);
	peer_close(&f->cse);
	close(f->device);
	bp_config_free(f->config);
	event_base_free(f->base);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

/* ---- tests ---- */

/* The session of another gateway began with a report that the CSE refused, and the device sends its
 * next report when it does not repeat that one any more. */
static void adopted_session_is_ready_after_a_refused_report(void **state)
{
	struct fixture *f = *state;
	struct bp_phd_session *s;
	unsigned response;

	associate(f);
	f->denies = true;
	RUN_UNTIL(f, f->adopted);
	do { /* rejected until the containers are complete */
		response = response_to(f, 7);
	} while (response == RORJ);
	assert_int_equal(response, ROER);
	assert_int_equal(f->cins, 1);
	s = session_of(f);
	assert_int_equal(bp_phd_last_open(s->last), 1);
	assert_int_equal(s->origin.report, 5);
	assert_false(is_ready(f));
	f->denies = false;
	s->sent = bp_phd_sent_at(bp_phd_sent_number(s->sent), bp_phd_sent_hash(s->sent),
		(uint16_t)(bp_phd_sent_time(test_now_ns()) - BP_PHD_REPEAT_AGE - 1));
	assert_int_equal(response_to(f, 8), RORS);
	assert_true(is_ready(f));
	assert_int_equal(s->origin.associated_s, 0);
	assert_int_equal(bp_phd_last_open(s->last), 0);
	assert_int_equal(f->cins, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			adopted_session_is_ready_after_a_refused_report, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
