/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/mqtt/mqtt_fields.h"

#define STRING_MAX 65535 /* maximum of the two-byte length (1.5.4) */

enum bp_mqtt_error bp_mqtt_topic_fault(
	struct bp_mqtt_view *view, const uint8_t *s, size_t len, bool whole)
{
	while (len > 0) {
		enum bp_mqtt_error e;
		int n;

		if (*s == '+' || *s == '#')
			return BP_MQTT_E_WILDCARD;
		if (*s == 0)
			return BP_MQTT_E_UTF8;
		n = bp_utf8_char(s, len);
		if (n < 0 && !whole)
			return BP_MQTT_MORE;
		if (n <= 0)
			return BP_MQTT_E_UTF8;
		e = BP_MQTT_OK;
		if (bp_utf8_is_control(s))
			e = bp_mqtt_refusable(view, BP_MQTT_E_UTF8);
		if (e != BP_MQTT_OK)
			return e;
		s += n;
		len -= (size_t)n;
	}
	return BP_MQTT_OK;
}

enum bp_mqtt_error bp_mqtt_levels_fault(struct bp_mqtt_view *view, const uint8_t *s, size_t len)
{
	unsigned slashes = 0;

	if (len <= BP_MQTT_MOSQUITTO_SLASHES)
		return BP_MQTT_OK;
	for (size_t i = 0; i < len; i++)
		slashes += s[i] == '/';
	return slashes > BP_MQTT_MOSQUITTO_SLASHES ? bp_mqtt_refusable(view, BP_MQTT_E_LEVELS)
						   : BP_MQTT_OK;
}

enum bp_mqtt_error bp_mqtt_filter_fault(struct bp_mqtt_view *view, const uint8_t *s, size_t len)
{
	enum bp_mqtt_error e;

	if (len == 0)
		return BP_MQTT_E_TOPIC_EMPTY;
	if (len > STRING_MAX)
		return BP_MQTT_E_UTF8;
	e = bp_mqtt_string_fault(view, s, len);
	if (e != BP_MQTT_OK)
		return e;
	/* "$share" begins a shared subscription (4.8.2), here of an empty filter */
	if (bp_mqtt_as_mosquitto(view) && len == 6 && memcmp(s, "$share", 6) == 0)
		return BP_MQTT_E_WILDCARD;
	for (size_t i = 0; i < len; i++) {
		bool starts = i == 0 || s[i - 1] == '/', ends = i + 1 == len || s[i + 1] == '/';

		if (s[i] == '+' && !(starts && ends))
			return BP_MQTT_E_WILDCARD;
		if (s[i] == '#' && !(starts && i + 1 == len))
			return BP_MQTT_E_WILDCARD;
	}
	return BP_MQTT_OK;
}

bool bp_mqtt_filter_valid(const char *filter, size_t len)
{
	return bp_mqtt_filter_fault(NULL, (const uint8_t *)filter, len) == BP_MQTT_OK;
}

bool bp_mqtt_topic_valid(const char *topic, size_t len)
{
	return len > 0 && len <= STRING_MAX &&
	       bp_mqtt_topic_fault(NULL, (const uint8_t *)topic, len, true) == BP_MQTT_OK;
}

/* The length of the level at s[0..len): up to the next '/' or the end. */
static size_t level(const char *s, size_t len)
{
	const char *slash = len == 0 ? NULL : memchr(s, '/', len);

	return slash == NULL ? len : (size_t)(slash - s);
}

bool bp_mqtt_filter_matches(
	const char *filter, size_t filter_len, const char *topic, size_t topic_len)
{
	/* A wildcard at the front leaves the server's own topics alone (4.7.2). */
	if (filter_len > 0 && (filter[0] == '+' || filter[0] == '#') && topic_len > 0 &&
		topic[0] == '$')
		return false;
	for (;;) {
		size_t f = level(filter, filter_len), t = level(topic, topic_len);

		if (f == 1 && filter[0] == '#')
			return true;
		if (!(f == 1 && filter[0] == '+') && !(f == t && memcmp(filter, topic, f) == 0))
			return false;
		if (t == topic_len) {
			/* "a/#" also matches "a" itself (4.7.1.2) */
			return f == filter_len ||
			       (filter_len - f == 2 && memcmp(filter + f, "/#", 2) == 0);
		}
		if (f == filter_len)
			return false;
		filter += f + 1;
		filter_len -= f + 1;
		topic += t + 1;
		topic_len -= t + 1;
	}
}
