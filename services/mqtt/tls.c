/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/peek.h"

/*
 * Connections that begin with TLS: they are not inspected, but the names that both ends say in the
 * clear are kept, to show what passes. The ClientHello is read, then what the server answers up to
 * its certificate, or up to the next bytes of the client. Then inspection stops.
 *
 * A flow without CONNECT and without a search has its state where others have that of a search.
 * Each hello is kept in reassembly memory while it is cut, and then the names.
 */

/* The names, one after the other. */
struct kept {
	uint8_t len[BP_TLS_TEXTS];
	uint8_t text[];
};
_Static_assert(sizeof(struct kept) + BP_TLS_SERVER_NAME_MAX + BP_TLS_ALPN_MAX + BP_TLS_SUBJECT_MAX +
			       BP_TLS_NAMES_MAX <=
		       BP_TLS_KEPT_MAX,
	"names fit");

static uint32_t length_of(const struct kept *k)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < BP_TLS_TEXTS; i++)
		n += k->len[i];
	return n;
}

static void unpack(const struct kept *k, struct bp_tls_info *info)
{
	const uint8_t *at = k->text;

	for (unsigned i = 0; i < BP_TLS_TEXTS; i++) {
		info->text[i].len = k->len[i];
		memcpy(info->text[i].bytes, at, k->len[i]);
		at += k->len[i];
	}
}

static struct kept *kept(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return (struct kept *)(void *)bp_reassembly_data(in->reassembly, f->tls.info);
}

/* Without memory the names remain unknown: they are only informative. */
static void keep(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_tls_info *info)
{
	struct kept head;
	uint8_t *at;

	for (unsigned i = 0; i < BP_TLS_TEXTS; i++)
		head.len[i] = info->text[i].len;
	bp_flow_release(in, f, f->tls.info);
	f->tls.info = 0;
	if (length_of(&head) == 0)
		return;
	f->tls.info = bp_flow_alloc(in, f, sizeof(head) + length_of(&head));
	if (f->tls.info == 0)
		return;
	memcpy(kept(in, f)->len, head.len, sizeof(head.len));
	at = kept(in, f)->text;
	for (unsigned i = 0; i < BP_TLS_TEXTS; i++) {
		memcpy(at, info->text[i].bytes, info->text[i].len);
		at += info->text[i].len;
	}
}

bool bp_tls_names(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, struct bp_tls_info *info)
{
	if (!bp_flow_is_tls(f) || f->tls.info == 0)
		return false;
	unpack(kept(in, f), info);
	return true;
}

void bp_tls_release(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (!bp_flow_is_tls(f))
		return;
	bp_flow_release(in, f, f->tls.info);
	f->tls.info = 0;
}

void bp_tls_stop(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_TLS);
}

void bp_tls_end(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (bp_flow_is_tls(f) && f->stream[BP_TO_BROKER] == BP_STREAM_BOUNDARY)
		bp_tls_stop(in, f, BP_TO_BROKER);
}

/* ---- reading ---- */

/* Adds bytes to the kept ones of this direction, and reads them if there are as many as are needed.
 * BP_TLS_MORE also at the end of what is read at most: then `need` is not reached. */
static enum bp_tls read_more(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, struct bp_tls_info *info)
{
	const uint32_t have = f->reassembly_len[dir];
	bp_reassembly_ref *ref = &f->reassembly[dir];
	uint32_t all;

	if (n > BP_TLS_BYTES_MAX - have)
		n = BP_TLS_BYTES_MAX - have;
	all = have + n;
	if ((*ref == 0 || bp_reassembly_size(in->reassembly, *ref) < all) &&
		!bp_flow_grow(in, f, ref, have, all, 2 * (uint64_t)all))
		return BP_TLS_BAD;
	memcpy(bp_reassembly_data(in->reassembly, *ref) + have, p, n);
	f->reassembly_len[dir] = all;
	if (all < f->tls.need && all < BP_TLS_BYTES_MAX)
		return BP_TLS_MORE;
	/* records of a few bytes are read again and again */
	bp_work_add(&in->work, all);
	if (!bp_within_budget(in))
		return BP_TLS_BAD;
	return (dir == BP_TO_BROKER ? bp_tls_client : bp_tls_server)(
		bp_reassembly_data(in->reassembly, *ref), all, in->unmasked, info, &f->tls.need);
}

static bool is_full(const struct bp_flow *f, unsigned dir)
{
	return f->reassembly_len[dir] == BP_TLS_BYTES_MAX;
}

static void read_client(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p, uint32_t n)
{
	struct bp_tls_info info;
	enum bp_tls e;

	memset(&info, 0, sizeof(info));
	e = read_more(in, f, BP_TO_BROKER, p, n, &info);
	if (e == BP_TLS_MORE && !is_full(f, BP_TO_BROKER))
		return;
	bp_cut_drop(in, f, BP_TO_BROKER);
	keep(in, f, &info);
	f->tls.need = 0;
	f->tls.state = BP_TLS_SERVER;
	if (e != BP_TLS_OK)
		bp_tls_stop(in, f, BP_TO_BROKER);
}

static void read_server(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p, uint32_t n)
{
	struct bp_tls_info info;
	enum bp_tls e;

	memset(&info, 0, sizeof(info));
	(void)bp_tls_names(in, f, &info);
	e = read_more(in, f, BP_FROM_BROKER, p, n, &info);
	if (e == BP_TLS_MORE && !is_full(f, BP_FROM_BROKER))
		return;
	bp_cut_drop(in, f, BP_FROM_BROKER);
	keep(in, f, &info);
	bp_tls_stop(in, f, BP_FROM_BROKER);
}

/* The first byte alone may also be that of a CONNECT with invalid flags. */
static uint32_t read_after_first(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p, uint32_t n, uint32_t seq)
{
	static const uint8_t first = 22;

	if (p[0] == 3) {
		f->tls.state = BP_TLS_CLIENT;
		read_client(in, f, &first, 1);
		if (f->stream[BP_TO_BROKER] == BP_STREAM_BOUNDARY)
			read_client(in, f, p, n);
		return n;
	}
	f->tls.state = BP_TLS_NONE;
	(void)bp_mqtt_read(in, f, BP_TO_BROKER, &first, 1, seq - 1);
	return bp_mqtt_read(in, f, BP_TO_BROKER, p, n, seq);
}

static uint32_t begin(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p, uint32_t n)
{
	f->tls.state = n == 1 ? BP_TLS_FIRST : BP_TLS_CLIENT;
	if (n > 1)
		read_client(in, f, p, n);
	return n;
}

uint32_t bp_opening_read(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const uint8_t *p, uint32_t n, uint32_t seq)
{
	if (f->stream[dir] != BP_STREAM_BOUNDARY)
		return bp_mqtt_read(in, f, dir, p, n, seq);
	switch (f->tls.state) {
	case BP_TLS_NONE:
		if (dir == BP_TO_BROKER && bp_tls_begins(p, n))
			return begin(in, f, p, n);
		return bp_mqtt_read(in, f, dir, p, n, seq);
	case BP_TLS_FIRST:
		if (dir == BP_TO_BROKER)
			return read_after_first(in, f, p, n, seq);
		break;
	case BP_TLS_CLIENT:
		if (dir == BP_TO_BROKER) {
			read_client(in, f, p, n);
			return n;
		}
		break;
	case BP_TLS_SERVER:
		if (dir == BP_FROM_BROKER) {
			read_server(in, f, p, n);
			return n;
		}
		break;
	}
	/* the other end speaks before the end of what was read */
	bp_tls_stop(in, f, dir);
	return n;
}

/* ---- adopt.c ---- */

bool bp_tls_is_sound(const struct bp_flow *f)
{
	return f->tls.state <= BP_TLS_SERVER;
}

void bp_tls_adopt(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const bool has_names = f->tls.state == BP_TLS_SERVER;

	if (has_names && f->tls.info != 0 &&
		bp_adopt_block(in, f, f->tls.info, sizeof(struct kept))) {
		if (sizeof(struct kept) + length_of(kept(in, f)) <=
			bp_reassembly_size(in->reassembly, f->tls.info))
			return;
		bp_adopt_undo(in, f, f->tls.info);
	}
	f->tls.info = 0;
}

bool bp_tls_adopt_hello(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	return f->stream[dir] == BP_STREAM_BOUNDARY && f->reassembly_need[dir] == 0 &&
	       f->reassembly_len[dir] < BP_TLS_BYTES_MAX &&
	       bp_adopt_block(in, f, f->reassembly[dir], f->reassembly_len[dir]);
}

/* ---- another process: flow_show.c ---- */

bool bp_tls_peek(const struct bp_arena *a, bp_reassembly_ref ref, struct bp_tls_info *info)
{
	uint8_t block[BP_TLS_KEPT_MAX];
	struct kept *k = (void *)block;
	uint64_t n;

	memset(info, 0, sizeof(*info));
	if (ref == 0)
		return false;
	memset(block, 0, sizeof(block));
	n = bp_reassembly_peek(a->memory, a->bytes, ref, block, sizeof(block));
	if (n < sizeof(*k) || sizeof(*k) + length_of(k) > sizeof(block))
		return false;
	unpack(k, info);
	return true;
}
