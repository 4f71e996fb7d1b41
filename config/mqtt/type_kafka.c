/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/mqtt/schema.h"
#include "config/url.h"

/* The URL of a Kafka cluster, kafka://HOST[:PORT][,HOST[:PORT]...], and the name of a topic. */

static const char *const schemes[] = {"kafka", "kafkas", NULL};
#define KAFKAS 1u
#define PORT 9092u
#define TLS_PORT 9093u

/* Adds one broker to the list. `text` is a URL. */
static bool add_broker(
	struct bp_config_kafka_brokers *b, const char *text, size_t at, struct bp_fault *fault)
{
	const size_t used = strlen(b->list), size = sizeof(b->list) - used;
	struct bp_url url;
	bool ip6;
	int n;

	if (!bp_url_read(text, schemes, &url, fault))
		return false;
	ip6 = strchr(url.host, ':') != NULL;
	n = snprintf(b->list + used, size, "%s%s%s%s:%u", used != 0 ? "," : "", ip6 ? "[" : "",
		url.host, ip6 ? "]" : "",
		url.port != 0          ? (unsigned)url.port
		: url.scheme == KAFKAS ? TLS_PORT
				       : PORT);
	if (n < 0 || (size_t)n >= size)
		return bp_fault_set(fault, at, "the list is too long");
	b->tls = url.scheme == KAFKAS;
	return true;
}

static bool parse_brokers(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_config_kafka_brokers *b = field;
	const char *hosts = strstr(text, "://");
	const size_t scheme = hosts == NULL ? 0 : (size_t)(hosts - text) + 3;
	char url[sizeof(b->list)];

	(void)s;
	(void)c;
	memset(b, 0, sizeof(*b));
	for (size_t i = 0; text[i] != '\0'; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return bp_fault_set(fault, i, "the text has a control character");
	/* each host with the scheme is a URL */
	for (size_t at = scheme;; at++) {
		const size_t len = strcspn(text + at, ",");

		if (scheme + len >= sizeof(url))
			return bp_fault_set(fault, at, "the text is too long");
		memcpy(url, text, scheme);
		memcpy(url + scheme, text + at, len);
		url[scheme + len] = '\0';
		if (!add_broker(b, url, at, fault))
			return false;
		at += len;
		if (text[at] == '\0')
			return true;
	}
}

static void format_brokers(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_kafka_brokers *b = field;
	char text[sizeof(b->list) + 16];

	(void)s;
	(void)c;
	snprintf(text, sizeof(text), "%s://%s", schemes[b->tls ? KAFKAS : 0], b->list);
	bp_write_quoted(text, out);
}

static void expect_brokers(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("kafka://HOST[:PORT][,HOST[:PORT]...], or kafkas:// for TLS", out);
}

const struct bp_type bp_type_kafka_brokers = {
	.parse = parse_brokers, .format = format_brokers, .expect = expect_brokers};

#define TOPIC_MAX (sizeof(((struct bp_config_kafka *)0)->topic) - 1)

static bool parse_topic(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const size_t len = strlen(text);

	(void)s;
	(void)c;
	if (len == 0)
		return bp_fault_set(fault, 0, "the name is empty");
	if (len > TOPIC_MAX)
		return bp_fault_set(fault, TOPIC_MAX, "the name is too long");
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("._-", text[i]) == NULL)
			return bp_fault_set(fault, i, "a topic of Kafka has no such character");
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return bp_fault_set(fault, 0, "Kafka reserves this name");
	memcpy(field, text, len + 1);
	return true;
}

static void format_topic(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)s;
	(void)c;
	bp_write_quoted(field, out);
}

static void expect_topic(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("1 to 249 letters, digits, dots, underscores and hyphens", out);
}

const struct bp_type bp_type_kafka_topic = {
	.parse = parse_topic, .format = format_topic, .expect = expect_topic};
