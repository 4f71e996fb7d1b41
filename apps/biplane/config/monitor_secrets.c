/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/biplane/config/monitor_secrets.h"

#define FILE_MAX 65536u /* a chain of certificates has some kilobytes */

/* The contents as text; NULL with a sentence. */
static char *read_file(const char *setting, const char *path, char *err, size_t err_size)
{
	char *text = malloc(FILE_MAX + 1);
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 || text == NULL ? -1 : read(fd, text, FILE_MAX + 1);

	if (n < 0)
		snprintf(err, err_size, "%s: cannot read %s: %s", setting, path, strerror(errno));
	else if ((size_t)n > FILE_MAX)
		snprintf(err, err_size, "%s: %s has more than %u bytes", setting, path, FILE_MAX);
	if (fd >= 0)
		close(fd);
	if (n < 0 || (size_t)n > FILE_MAX) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static int read_token(
	char token[BP_MONITOR_TOKEN_MAX + 1], const char *path, char *err, size_t err_size)
{
	char *text = read_file("monitoring.token_file", path, err, err_size);
	size_t len;

	if (text == NULL)
		return -1;
	len = strcspn(text, "\r\n");
	text[len] = '\0';
	if (len < BP_MONITOR_TOKEN_MIN || len > BP_MONITOR_TOKEN_MAX ||
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			     "-._~+/=") != len) {
		snprintf(err, err_size,
			"monitoring.token_file: the first line of %s is not a token of %u to %u "
			"letters, digits and -._~+/=; create one with: openssl rand -hex 32",
			path, BP_MONITOR_TOKEN_MIN, BP_MONITOR_TOKEN_MAX);
		free(text);
		return -1;
	}
	memset(token, 0, BP_MONITOR_TOKEN_MAX + 1);
	memcpy(token, text, len);
	free(text);
	return 0;
}

int bp_monitor_secrets_read(struct bp_monitor_secrets *s, const struct bp_config_monitoring *c,
	char *err, size_t err_size)
{
	struct bp_monitor_secrets new = {.token = ""};

	if (c->token_file[0] != '\0' && read_token(new.token, c->token_file, err, err_size) != 0)
		return -1;
	if (c->tls_certificate[0] != '\0') {
		new.certificate =
			read_file("monitoring.tls_certificate", c->tls_certificate, err, err_size);
		new.key = new.certificate == NULL
				  ? NULL
				  : read_file("monitoring.tls_key", c->tls_key, err, err_size);
		if (new.key == NULL) {
			free(new.certificate);
			return -1;
		}
	}
	bp_monitor_secrets_free(s);
	*s = new;
	return 0;
}

void bp_monitor_secrets_free(struct bp_monitor_secrets *s)
{
	if (s->key != NULL)
		explicit_bzero(s->key, strlen(s->key));
	explicit_bzero(s->token, sizeof(s->token));
	free(s->certificate);
	free(s->key);
	*s = (struct bp_monitor_secrets){.token = ""};
}

int bp_monitor_secrets_check(const struct bp_config_monitoring *c, char *err, size_t err_size)
{
	struct bp_monitor_secrets s = {.token = ""};
	const int rc = bp_monitor_secrets_read(&s, c, err, err_size);

	bp_monitor_secrets_free(&s);
	return rc;
}
