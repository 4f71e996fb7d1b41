/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/health/cse/cse_http_request.h"

/*
 * A hostile CSE over HTTP: any bytes as its answer. The result is an outcome, or an invalid answer.
 */

static int listener = -1;
static char url[64];

static void start(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, len) != 0 ||
		listen(listener, 1) != 0 ||
		getsockname(listener, (struct sockaddr *)&at, &len) != 0)
		abort();
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/cse-in", ntohs(at.sin_port));
}

static size_t ignore(char *p, size_t size, size_t n, void *arg)
{
	(void)p;
	(void)arg;
	return size * n;
}

/* The transfer and the CSE's side in turn: the answer is written as soon as there is a connection.
 */
static void transfer(CURLM *multi, const uint8_t *answer, size_t n)
{
	/* without the state TIME-WAIT, or the ports are used up */
	const struct linger reset = {1, 0};
	int running = 1, fd = -1;

	for (unsigned turns = 0; running != 0 && turns < 1000; turns++) {
		if (curl_multi_perform(multi, &running) != CURLM_OK)
			break;
		if (fd < 0 && (fd = accept(listener, NULL, NULL)) >= 0) {
			if (send(fd, answer, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && n != 0)
				abort();
			shutdown(fd, SHUT_WR);
		}
		if (running != 0)
			(void)curl_multi_poll(multi, NULL, 0, 1, NULL);
	}
	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_m2m_reply reply = {0};
	CURLM *multi = curl_multi_init();
	CURL *e = curl_easy_init();

	if (listener < 0)
		start();
	if (multi == NULL || e == NULL)
		abort();
	if (size >= 1 && size <= 65536) {
		curl_easy_setopt(e, CURLOPT_URL, url);
		curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(e, CURLOPT_PROXY, "");
		curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, ignore);
		curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, 1000L);
		curl_multi_add_handle(multi, e);
		transfer(multi, data + 1, size - 1);
		if (bp_http_reply_read(e, (enum bp_http_operation)(data[0] % 3), &reply)) {
			HOLDS(reply.rsc != 0);
			HOLDS(bp_m2m_outcome(&reply, true) <= BP_M2M_REFUSED);
			HOLDS(bp_m2m_outcome(&reply, false) <= BP_M2M_REFUSED);
		}
		curl_multi_remove_handle(multi, e);
	}
	curl_easy_cleanup(e);
	curl_multi_cleanup(multi);
	return 0;
}
