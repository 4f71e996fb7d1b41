/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/state_text.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "shm/mqtt/mqtt_tables.h"
#include "shm/ring.h"

void bp_state_uid(uint64_t rule_uid, const char *topic, size_t len, char out[BP_ALARM_UID_TEXT])
{
	uint8_t digest[16], bytes[8];
	struct sha256_ctx h;

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(rule_uid >> (56 - 8 * i));
	sha256_init(&h);
	sha256_update(&h, sizeof(bytes), bytes);
	sha256_update(&h, len, (const uint8_t *)topic);
	sha256_digest(&h, sizeof(digest), digest);
	for (unsigned i = 0; i < sizeof(digest); i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

bool bp_state_hex(const char *text, uint64_t *out)
{
	*out = 0;
	for (unsigned i = 0; i < 16; i++) {
		const char c = text[i];

		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return false;
		*out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

bool bp_state_offer_write(struct bp_ring *ring, const struct bp_state_offer *o, const char *topic)
{
	const struct bp_adopt_offer head = {.result = BP_ADOPT_STATE};
	uint64_t mark;
	uint8_t *at =
		bp_ring_reserve(ring, (uint32_t)(sizeof(head) + sizeof(*o) + o->topic_len), &mark);

	if (at == NULL)
		return false;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), o, sizeof(*o));
	memcpy(at + sizeof(head) + sizeof(*o), topic, o->topic_len);
	bp_ring_commit(ring, mark);
	return true;
}
