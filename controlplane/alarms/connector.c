/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/connector.h"

#include <errno.h>
#include <mosquitto.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "controlplane/alarms/client.h"

struct bp_connector {
	pthread_mutex_t lock;
	bool over, abandoned; /* under lock */
	struct bp_client *client;
	char *host;
	uint16_t port;
	uint32_t keep_alive_s;
	int rc, err;
	int fd;
	pthread_t thread;
};

static void destroy(struct bp_connector *c)
{
	pthread_mutex_destroy(&c->lock);
	close(c->fd);
	free(c->host);
	free(c);
}

static void *connector_main(void *arg)
{
	struct bp_connector *c = arg;
	uint64_t one = 1;

	c->rc = mosquitto_connect(c->client->m, c->host, c->port, (int)c->keep_alive_s);
	c->err = errno;
	pthread_mutex_lock(&c->lock);
	if (c->abandoned) {
		pthread_mutex_unlock(&c->lock);
		bp_client_free(c->client);
		destroy(c);
		return NULL;
	}
	c->over = true;
	/* Under the lock, so that a thread that abandons the attempt cannot close the descriptor
	 * before the write. */
	while (write(c->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* The event loop handles signals. */
static int start_thread(struct bp_connector *c)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&c->thread, NULL, connector_main, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

struct bp_connector *bp_connector_start(
	struct bp_client *client, const char *host, uint16_t port, uint32_t keep_alive_s)
{
	struct bp_connector *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		bp_client_free(client);
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->client = client;
	c->host = strdup(host);
	c->port = port;
	c->keep_alive_s = keep_alive_s;
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->host == NULL || c->fd < 0 || start_thread(c) != 0) {
		bp_client_free(client);
		destroy(c);
		return NULL;
	}
	return c;
}

int bp_connector_fd(const struct bp_connector *c)
{
	return c->fd;
}

struct bp_client *bp_connector_finish(struct bp_connector *c, int *rc, int *err)
{
	struct bp_client *client = c->client;

	pthread_join(c->thread, NULL);
	*rc = c->rc;
	*err = c->err;
	destroy(c);
	return client;
}

void bp_connector_abandon(struct bp_connector *c)
{
	int rc, err;

	pthread_mutex_lock(&c->lock);
	if (!c->over) {
		c->abandoned = true;
		pthread_detach(c->thread);
		pthread_mutex_unlock(&c->lock);
		return;
	}
	pthread_mutex_unlock(&c->lock);
	bp_client_free(bp_connector_finish(c, &rc, &err));
}
