/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/client.h"

#include <mosquitto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the first errors that fit: the first error is the cause of the later ones. */
static void on_log(struct mosquitto *m, void *arg, int level, const char *text)
{
	struct bp_client *c = arg;
	size_t used = strlen(c->errors);

	(void)m;
	if (level == MOSQ_LOG_ERR)
		snprintf(c->errors + used, sizeof(c->errors) - used, "%s%s", used > 0 ? "; " : "",
			text);
}

struct bp_client *bp_client_new(const char *id, void *arg)
{
	struct bp_client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->arg = arg;
	c->m = mosquitto_new(id[0] != '\0' ? id : NULL, true, c);
	if (c->m == NULL) {
		free(c);
		return NULL;
	}
	bp_client_listen(c, true);
	return c;
}

void bp_client_free(struct bp_client *c)
{
	if (c == NULL)
		return;
	mosquitto_destroy(c->m);
	free(c);
}

void bp_client_listen(struct bp_client *c, bool on)
{
	c->errors[0] = '\0';
	mosquitto_log_callback_set(c->m, on ? on_log : NULL);
}

void bp_client_reason(
	const struct bp_client *c, const char *what, int rc, int err, char *text, size_t size)
{
	const char *reason = rc == MOSQ_ERR_ERRNO ? strerror(err)
			     : rc == MOSQ_ERR_EAI ? "its name cannot be looked up"
						  : mosquitto_strerror(rc);
	int len = (int)strlen(reason);

	/* Messages of the library are sentences, this is a part of a sentence. */
	if (len > 0 && reason[len - 1] == '.')
		len--;
	snprintf(text, size, c->errors[0] != '\0' ? "%s: %.*s (%s)" : "%s: %.*s", what, len, reason,
		c->errors);
}
