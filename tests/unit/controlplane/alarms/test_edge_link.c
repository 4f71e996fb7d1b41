/* SPDX-License-Identifier: BSD-3-Clause */
/* Log messages about an unreachable edge broker: with real brokers and TLS. */
#include "tests/unit/controlplane/test.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/alarms/mosquitto_link.h"
#include "daemon/log.h"

struct fixture {
	char dir[64], log[96];
	int stderr_before;
	bool up;
	struct test_broker broker;
	struct event_base *base;
	struct bp_edge_link *link;
	struct bp_edge_link_settings settings;
};

static void on_up(void *arg)
{
	((struct fixture *)arg)->up = true;
}

static void on_down(void *arg)
{
	((struct fixture *)arg)->up = false;
}

static void on_acked(void *arg, uint16_t mid)
{
	(void)arg;
	(void)mid;
}

static void on_ready(void *arg)
{
	(void)arg;
}

static void sh(const char *format, const char *dir)
{
	char command[2048];

	snprintf(command, sizeof(command), format, dir);
	assert_int_equal(system(command), 0);
}

/* Two authorities, a broker's certificate by the first, and a device's by the second. */
static void make_certificates(const char *dir)
{
	sh("cd %s && exec >openssl.log 2>&1 && set -e\n"
	   "key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
	   "for ca in ca other; do\n"
	   "  openssl req -x509 $key -keyout $ca.key -out $ca.crt -days 2 -subj /CN=$ca\n"
	   "done\n"
	   "sign() {\n"
	   "  openssl req $key -keyout $1.key -out $1.csr -subj /CN=$1\n"
	   "  echo subjectAltName=$3 >$1.ext\n"
	   "  openssl x509 -req -in $1.csr -out $1.crt -days 2 -CA $2.crt -CAkey $2.key \\\n"
	   "    -CAcreateserial -extfile $1.ext\n"
	   "}\n"
	   "sign broker ca IP:127.0.0.1\n"
	   "sign elsewhere ca DNS:elsewhere.example\n"
	   "sign device other DNS:device\n",
		dir);
}

static int setup(void **state)
{
	static const struct bp_edge_link_events events = {on_up, on_down, on_acked, on_ready};
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	test_dir_make(f->dir, sizeof(f->dir));
	make_certificates(f->dir);
	f->base = event_base_new();
	f->link = bp_edge_link_new(f->base, &events, f);
	assert_non_null(f->link);
	f->settings.keep_alive_s = 30;
	f->settings.tls = true;
	snprintf(f->settings.host, sizeof(f->settings.host), "127.0.0.1");
	snprintf(f->settings.ca_file, sizeof(f->settings.ca_file), "%s/ca.crt", f->dir);
	snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	fd = open(f->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	f->stderr_before = dup(STDERR_FILENO);
	bp_log_begin("controlplane");
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	dup2(f->stderr_before, STDERR_FILENO);
	close(f->stderr_before);
	bp_edge_link_free(f->link);
	event_base_free(f->base);
	test_broker_stop(&f->broker);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

/* A broker with TLS, and a link to it. */
static void connect_to(struct fixture *f, const char *certificate, const char *more)
{
	char config[1024];

	snprintf(config, sizeof(config),
		"cafile %s/ca.crt\ncertfile %s/%s.crt\nkeyfile %s/%s.key\n%s", f->dir, f->dir,
		certificate, f->dir, certificate, more);
	test_broker_make(&f->broker, f->dir, config);
	test_broker_start(&f->broker);
	f->settings.port = f->broker.port;
	bp_edge_link_configure(f->link, &f->settings);
}

static const char *log_text(const struct fixture *f)
{
	static char text[16384];
	FILE *file = fopen(f->log, "re");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* The first warning of the link in the log: one line with these words and the broker's address. */
static void says(struct fixture *f, const char *words)
{
	/* The broker writes to stderr too. */
	static const char start[] = "warning controlplane: edge broker: ";
	char line[1024], end[64];
	const char *at;

	snprintf(end, sizeof(end), " broker=127.0.0.1 tcp_port=%u", f->settings.port);
	RUN_UNTIL(f, (at = strstr(log_text(f), start)) != NULL && strchr(at, '\n') != NULL);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	print_message("%s\n", line);
	/* Not by fail_msg(): that would write into the log. */
	if (strstr(line, words) == NULL || strstr(line, end) == NULL) {
		print_message("says nothing of '%s'\n", words);
		fail();
	}
	assert_false(f->up);
}

static void the_right_authority(void **state)
{
	struct fixture *f = *state;

	connect_to(f, "broker", "");
	RUN_UNTIL(f, f->up);
	assert_non_null(strstr(log_text(f), "edge broker connected broker="));
	assert_null(strstr(log_text(f), "warning controlplane:"));
}

/* Without a CA file the system's certificates count, which are those that OpenSSL finds. */
static void the_authorities_of_the_system(void **state)
{
	struct fixture *f = *state;
	char path[160];

	snprintf(path, sizeof(path), "%s/other.crt", f->dir);
	assert_int_equal(setenv("SSL_CERT_FILE", path, 1), 0);
	f->settings.ca_file[0] = '\0';
	connect_to(f, "broker", "");
	says(f, "certificate verify failed");
	snprintf(path, sizeof(path), "%s/ca.crt", f->dir);
	assert_int_equal(setenv("SSL_CERT_FILE", path, 1), 0);
	RUN_UNTIL(f, f->up);
	assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

static void certificate_of_another_authority(void **state)
{
	struct fixture *f = *state;

	snprintf(f->settings.ca_file, sizeof(f->settings.ca_file), "%s/other.crt", f->dir);
	connect_to(f, "broker", "");
	says(f, "certificate verify failed");
}

static void certificate_of_another_host(void **state)
{
	struct fixture *f = *state;

	connect_to(f, "elsewhere", "");
	says(f, "host name verification failed");
}

static void authority_file_without_one(void **state)
{
	struct fixture *f = *state;

	snprintf(f->settings.ca_file, sizeof(f->settings.ca_file), "%s/broker.key", f->dir);
	connect_to(f, "broker", "");
	says(f, "Unable to load CA certificates");
}

/* It is the broker that refuses, after its own part of the handshake was good. */
static void client_certificate_of_another_authority(void **state)
{
	struct fixture *f = *state;

	snprintf(f->settings.cert_file, sizeof(f->settings.cert_file), "%s/device.crt", f->dir);
	snprintf(f->settings.key_file, sizeof(f->settings.key_file), "%s/device.key", f->dir);
	connect_to(f, "broker", "require_certificate true\n");
	/* Not in the first attempt if its words come behind the end of the connection. */
	RUN_UNTIL(f, strstr(log_text(f), "alert unknown ca") != NULL);
	assert_false(f->up);
}

static void no_broker_there(void **state)
{
	struct fixture *f = *state;

	f->settings.port = test_free_port();
	bp_edge_link_configure(f->link, &f->settings);
	says(f, "cannot connect: Connection refused; retrying");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_right_authority, setup, teardown),
		cmocka_unit_test_setup_teardown(the_authorities_of_the_system, setup, teardown),
		cmocka_unit_test_setup_teardown(certificate_of_another_authority, setup, teardown),
		cmocka_unit_test_setup_teardown(certificate_of_another_host, setup, teardown),
		cmocka_unit_test_setup_teardown(authority_file_without_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			client_certificate_of_another_authority, setup, teardown),
		cmocka_unit_test_setup_teardown(no_broker_there, setup, teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("edge link", tests, NULL, NULL);
}
