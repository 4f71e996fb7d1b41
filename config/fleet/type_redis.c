/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"
#include "config/url.h"

/*
 * Redis, or its Sentinels: redis://HOST[:PORT][/DB] or
 * redis-sentinel://HOST[:PORT],...[/DB]#MASTER; rediss and rediss-sentinel with TLS.
 */
enum { REDIS, REDISS, SENTINEL, SENTINELS };
static const char *const schemes[] = {"redis", "rediss", "redis-sentinel", "rediss-sentinel", NULL};

#define DB_MAX 65535u

/* Reads one HOST[:PORT] that begins at `at` of the text. */
static bool read_server(const char *scheme, const char *text, size_t at, size_t len,
	uint16_t default_port, struct bp_config_fleet_server *out, struct bp_fault *fault)
{
	char part[320], shown[BP_SHOWN];
	struct bp_url url;
	const int n = snprintf(part, sizeof(part), "%s://%.*s", scheme, (int)len, text + at);

	if ((size_t)n >= sizeof(part))
		return bp_fault_set(fault, at, "the host is longer than 255 bytes");
	if (!bp_url_read(part, schemes, &url, fault)) {
		fault->at += at - (strlen(scheme) + 3);
		return false;
	}
	if (!bp_address_read(url.host, &out->address))
		return bp_fault_set(fault, at, "'%s' is not an IP address",
			bp_shown(url.host, strlen(url.host), shown));
	out->tcp_port = url.port != 0 ? url.port : default_port;
	return true;
}

static bool read_servers(const char *text, size_t at, size_t end, struct bp_config_redis *out,
	unsigned scheme, struct bp_fault *fault)
{
	const bool sentinels = scheme >= SENTINEL;
	const uint16_t port = sentinels ? 26379 : 6379;

	for (;;) {
		const size_t len = sentinels ? strcspn(text + at, ",/#") : end - at;

		if (out->n_servers == BP_FLEET_SERVERS_MAX)
			return bp_fault_set(fault, at, "more than %d Sentinels are given",
				BP_FLEET_SERVERS_MAX);
		if (!read_server(schemes[scheme], text, at, len, port,
			    &out->server[out->n_servers++], fault))
			return false;
		at += len;
		if (text[at] != ',' || at >= end)
			return true;
		at++;
	}
}

static bool read_master(
	const char *text, size_t at, struct bp_config_redis *out, struct bp_fault *fault)
{
	const size_t len = strlen(text + at);

	if (len == 0 || len >= sizeof(out->master))
		return bp_fault_set(fault, at,
			"the name of the master has %zu bytes; expected 1 to %zu", len,
			sizeof(out->master) - 1);
	for (size_t i = 0; i < len; i++)
		if (text[at + i] <= 0x20 || text[at + i] > 0x7e)
			return bp_fault_set(fault, at + i,
				"the name of the master has a byte that is "
				"not a printable ASCII character");
	memcpy(out->master, text + at, len + 1);
	return true;
}

static bool read_db(const char *text, size_t at, size_t end, struct bp_config_redis *out,
	struct bp_fault *fault)
{
	char *after;
	const unsigned long db = strtoul(text + at, &after, 10);

	if (text[at] < '0' || text[at] > '9' || after != text + end || db > DB_MAX)
		return bp_fault_set(fault, at, "the database is not a number from 0 to %u", DB_MAX);
	out->db = (uint16_t)db;
	return true;
}

static bool parse_redis(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_config_redis redis = {0};
	const char *rest = strstr(text, "://");
	unsigned scheme = 0;
	size_t at, hash, slash;
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	while (rest != NULL && schemes[scheme] != NULL &&
		(strlen(schemes[scheme]) != (size_t)(rest - text) ||
			strncmp(schemes[scheme], text, (size_t)(rest - text)) != 0))
		scheme++;
	if (rest == NULL || schemes[scheme] == NULL)
		return bp_fault_set(fault, 0, "'%s' is not a URL of Redis",
			bp_shown(text, strlen(text), shown));
	at = (size_t)(rest - text) + 3;
	hash = at + strcspn(text + at, "#");
	slash = at + strcspn(text + at, "/#");
	redis.tls = scheme == REDISS || scheme == SENTINELS;
	if (!read_servers(text, at, slash, &redis, scheme, fault))
		return false;
	if (text[slash] == '/' && !read_db(text, slash + 1, hash, &redis, fault))
		return false;
	if ((scheme >= SENTINEL) != (text[hash] == '#'))
		return bp_fault_set(fault, hash,
			scheme >= SENTINEL ? "#MASTER is missing after the Sentinels"
					   : "only a URL of Sentinels has #MASTER");
	if (text[hash] == '#' && !read_master(text, hash + 1, &redis, fault))
		return false;
	memcpy(field, &redis, sizeof(redis));
	return true;
}

static void format_redis(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_redis *redis = field;
	const bool sentinels = redis->master[0] != '\0';
	char address[BP_ADDRESS_TEXT], *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)s;
	(void)c;
	if (f == NULL)
		return;
	fprintf(f, "%s://", schemes[(sentinels ? SENTINEL : REDIS) + redis->tls]);
	for (uint32_t i = 0; i < redis->n_servers; i++)
		fprintf(f, redis->server[i].address.family == 6 ? "%s[%s]:%u" : "%s%s:%u",
			i == 0 ? "" : ",", bp_address_text(&redis->server[i].address, address),
			redis->server[i].tcp_port);
	if (redis->db != 0)
		fprintf(f, "/%u", redis->db);
	if (sentinels)
		fprintf(f, "#%s", redis->master);
	if (fclose(f) == 0)
		bp_write_quoted(text, out);
	free(text);
}

static void expect_redis(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("redis://ADDRESS[:PORT][/DB] or redis-sentinel://ADDRESS[:PORT],...[/DB]#MASTER, or "
	      "rediss and rediss-sentinel for TLS",
		out);
}

const struct bp_type bp_type_redis = {
	.parse = parse_redis, .format = format_redis, .expect = expect_redis};
