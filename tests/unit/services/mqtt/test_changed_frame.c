/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of which a policy changed bytes: the checksum, and the lengths before IP without padding.
 */
#include "test.h"

#include <string.h>

#include "mqtt_peer.h"
#include "services/mqtt/enforce.h"

#define PADDING 8u

static uint8_t frame[PEER_FRAME_MAX];

/* A frame with `n_head` bytes in place of its EtherType, and with padding; then it is changed. */
static void change(bool ip6, const uint8_t *head, size_t n_head, struct bp_frame *f, uint32_t *len)
{
	struct peer c;
	size_t n;

	peer_init(&c, ip6, 7, 1, 2);
	n = peer_frame(&c, CLIENT, TH_ACK | TH_PSH, 1000, 2000, "refused", 7, frame);
	memmove(frame + 12 + n_head, frame + 14, n - 14);
	memcpy(frame + 12, head, n_head);
	n += n_head - 2;
	memset(frame + n, 0, PADDING);
	assert_int_equal(bp_frame_parse(frame, (uint32_t)n + PADDING, (uint32_t)n + PADDING, f),
		BP_FRAME_TCP);
	assert_true(bp_frame_checksum_ok(f));
	memcpy(frame + f->payload, "changed", 7);
	assert_false(bp_frame_checksum_ok(f));
	*len = bp_frame_changed(frame, f);
	assert_int_equal(*len, n);
	assert_true(bp_frame_checksum_ok(f));
	assert_memory_equal(frame + f->payload, "changed", 7);
}

static void ethernet(void **state)
{
	(void)state;
	for (unsigned ip6 = 0; ip6 < 2; ip6++) {
		const uint8_t type[2][2] = {{0x08, 0x00}, {0x86, 0xdd}};
		struct bp_frame f;
		uint32_t len;

		change(ip6, type[ip6], 2, &f, &len);
	}
}

/* A receiver drops a session's frame that is shorter than its length (RFC 2516, 4). */
static void length_of_pppoe_is_without_padding(void **state)
{
	(void)state;
	for (unsigned ip6 = 0; ip6 < 2; ip6++) {
		uint8_t head[] = {0x88, 0x64, 0x11, 0, 0, 9, 0xff, 0xff, 0, ip6 ? 0x57 : 0x21};
		struct bp_frame f;
		uint32_t len;

		change(ip6, head, sizeof(head), &f, &len);
		assert_int_equal(frame[18] << 8 | frame[19], len - 20);
	}
}

/* IEEE 802.3: the length is that of LLC, SNAP and the datagram. */
static void length_of_llc_is_without_padding(void **state)
{
	const uint8_t head[] = {0x05, 0xdc, 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00};
	struct bp_frame f;
	uint32_t len;

	(void)state;
	change(false, head, sizeof(head), &f, &len);
	assert_int_equal(frame[12] << 8 | frame[13], len - 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ethernet),
		cmocka_unit_test(length_of_pppoe_is_without_padding),
		cmocka_unit_test(length_of_llc_is_without_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
