/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/mqtt/schema.h"
#include "config/url.h"

/* The URL of an MQTT broker. */

static const char *const schemes[] = {"mqtt", "mqtts", NULL};
#define MQTTS 1u

static bool parse_broker(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_config_broker *broker = field;
	struct bp_url url;

	(void)s;
	(void)c;
	for (size_t i = 0; text[i] != '\0'; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return bp_fault_set(fault, i, "the text has a control character");
	if (!bp_url_read(text, schemes, &url, fault))
		return false;
	memset(broker, 0, sizeof(*broker));
	memcpy(broker->host, url.host, strlen(url.host) + 1);
	broker->tls = url.scheme == MQTTS;
	broker->tcp_port = url.port != 0 ? url.port : broker->tls ? 8883 : 1883;
	return true;
}

static void format_broker(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_broker *broker = field;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)s;
	(void)c;
	if (f == NULL)
		return;
	bp_url_write(schemes[broker->tls ? MQTTS : 0], broker->host, broker->tcp_port, f);
	if (fclose(f) == 0)
		bp_write_quoted(text, out);
	free(text);
}

static void expect_broker(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("mqtt://HOST[:PORT], or mqtts://HOST[:PORT] for TLS", out);
}

const struct bp_type bp_type_broker = {
	.parse = parse_broker, .format = format_broker, .expect = expect_broker};
