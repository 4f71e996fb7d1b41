/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGGREGATION_AGG_FULL_H
#define BP_PROTO_AGGREGATION_AGG_FULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/net/copy.h"
#include "proto/net/frame.h"

/*
 * Aggregation format `full`, version 1: UDP messages of any length and of several senders in one
 * UDP payload. docs/reference/aggregation-format.md specifies it byte by byte with reasons.
 *
 * 	header, 16 bytes | directory: an entry for each message | the payloads of the messages,
 * 	one after the other
 *
 * Destination address and port, IP version, DSCP and ECN of all messages are those of the packet
 * that carries them. Numbers are in network byte order.
 */
#define BP_AGG_FULL_MAGIC 0xfda6u
#define BP_AGG_FULL_VERSION 1u

/* The header, by offsets. */
#define BP_AGG_FULL_HEADER 16u
#define BP_AGG_FULL_AT_VERSION 2u   /* version in the upper four bits, 4 or 6 (IP) in the lower */
#define BP_AGG_FULL_AT_COUNT 3u     /* messages, 1..255 */
#define BP_AGG_FULL_AT_DIRECTORY 4u /* u16: size of the directory, bytes */
#define BP_AGG_FULL_AT_STREAM 6u    /* u16 */
#define BP_AGG_FULL_AT_SEQUENCE 8u  /* u32 */
#define BP_AGG_FULL_AT_CHECKSUM 12u /* u32: CRC-32C of bytes 0..11 and of the directory */

#define BP_AGG_FULL_MOST 255u /* messages */

/*
 * An entry: one byte of flags, and in this order the fields that differ from the entry before:
 * length, hops, port, and the last bytes of the address. The first entry has all of them.
 */
#define BP_AGG_FULL_LENGTH_SHIFT 6u /* 0: as before; 1, 2: number of bytes; 3: invalid */
#define BP_AGG_FULL_HOPS 0x20u      /* a byte follows */
#define BP_AGG_FULL_PORT_SHIFT                                                                     \
	3u                        /* 0: as before; 1: its low byte follows; 2: both; 3: no entry   \
				   */
#define BP_AGG_FULL_ADDRESS 0x07u /* code of the number of following address bytes */

/* The longest entries. */
#define BP_AGG_FULL_ENTRY4 10u
#define BP_AGG_FULL_ENTRY6 22u

static inline unsigned bp_agg_full_entry_most(unsigned family)
{
	return family == 4 ? BP_AGG_FULL_ENTRY4 : BP_AGG_FULL_ENTRY6;
}

/* Bytes before the payloads that no aggregate of `n_` messages ever exceeds. */
#define BP_AGG_FULL_FRONT4(n_) (BP_AGG_FULL_HEADER + BP_AGG_FULL_ENTRY4 * (n_))
#define BP_AGG_FULL_FRONT6(n_) (BP_AGG_FULL_HEADER + BP_AGG_FULL_ENTRY6 * (n_))

struct bp_agg_sender {
	uint8_t addr[16]; /* IPv4: the first four bytes; the others may be anything, and are read
			     as 0 */
	uint16_t port;    /* host byte order */
	uint8_t hops;     /* TTL or hop limit */
};

struct bp_agg_message {
	struct bp_agg_sender from;
	uint16_t offset; /* of its payload, from the first byte of the aggregate */
	uint16_t len;    /* may be 0 */
};

struct bp_agg_full {
	uint32_t sequence;
	uint16_t stream;
	uint8_t count;
};

enum bp_agg_full_error {
	BP_AGG_FULL_OK,
	BP_AGG_FULL_E_MAGIC,    /* no aggregate at all: does not begin as one */
	BP_AGG_FULL_E_VERSION,  /* an aggregate of another version: nothing else was read */
	BP_AGG_FULL_E_SHORT,    /* ends within the header or the directory */
	BP_AGG_FULL_E_CHECKSUM, /* header or directory are damaged */
	BP_AGG_FULL_E_FAMILY,   /* not of the IP version of the packet that carries it */
	BP_AGG_FULL_E_MANY,     /* more messages than the caller's array holds */
	BP_AGG_FULL_E_COUNT,    /* the directory has more or fewer entries than the header says */
	BP_AGG_FULL_E_ENTRY,    /* invalid flags, or a missing field in the first entry */
	BP_AGG_FULL_E_LENGTH    /* the payloads are longer or shorter than the entries say */
};

/* Whether a UDP payload begins as an aggregate does; if not, it is a plain message. */
static inline bool bp_agg_full_is(const uint8_t *p, size_t len)
{
	return len >= 2 && bp_be16(p) == BP_AGG_FULL_MAGIC;
}

/*
 * Checks the UDP payload p[0..len) that an IP packet of `family` (4 or 6) carried, and writes the
 * position of each message to messages[0..out->count), at most `most`. With OK, the payloads follow
 * each other up to p + len. With another result, *out and messages[] are undefined. Payload bytes
 * are not read. The checks are in the order of the errors above, but COUNT, ENTRY and LENGTH are
 * reported for the first entry with such a fault.
 *
 * The checksum protects against damage, not against forgery: the caller checks whether the senders
 * are allowed, and the UDP checksum, which protects the payloads.
 */
enum bp_agg_full_error bp_agg_full_read(const uint8_t *p, size_t len, unsigned family,
	struct bp_agg_full *out, struct bp_agg_message *messages, unsigned most);

/* An aggregate under construction; its members are private to the functions below, except
 * `count`. */
struct bp_agg_full_writer {
	uint8_t *buf;
	/* fields that change with each message: in eight bytes */
	uint16_t directory; /* bytes, at buf + BP_AGG_FULL_HEADER until the end */
	uint16_t payloads;  /* bytes */
	uint16_t last_len;  /* of the message before */
	uint8_t count;
	uint8_t last_hops;
	uint16_t front; /* the payloads begin at buf + front */
	uint16_t size;  /* maximum size of the aggregate in bytes */
	uint8_t most;
	uint8_t family;
	/* Sender of the message before. Its address is last, so that the fields for IPv4 are
	 * contiguous. */
	uint16_t last_port;
	uint8_t last_addr[16];
};

/*
 * Begins an aggregate of at most `most` (1..255) messages and `size` bytes (the MTU without IP and
 * UDP headers, at most 65,535). `buf` has front + size bytes and remains owned by the caller.
 * Header and directory are built in its first `front` bytes and moved up to the payloads at the
 * end: with BP_AGG_FULL_FRONT4(most) or BP_AGG_FULL_FRONT6(most) they always fit; with less, the
 * aggregate is full earlier.
 */
static inline void bp_agg_full_begin(struct bp_agg_full_writer *w, uint8_t *buf, uint16_t front,
	uint16_t size, unsigned family, uint8_t most)
{
	w->buf = buf;
	w->front = front;
	w->size = size;
	w->directory = 0;
	w->payloads = 0;
	w->count = 0;
	w->most = most;
	w->family = (uint8_t)family;
}

/* The sender of the message that was appended last. */
static inline void bp_agg_full_set_sender(
	struct bp_agg_full_writer *w, const struct bp_agg_sender *s)
{
	memcpy(w->last_addr, s->addr, sizeof(w->last_addr));
	w->last_port = s->port;
	w->last_hops = s->hops;
}

/* Number of last bytes in which two addresses differ, from the first different byte on. */
static inline unsigned bp_agg_full_differ4(const uint8_t *a, const uint8_t *b)
{
	const uint32_t x = bp_be32(a) ^ bp_be32(b);

	return x != 0 ? (39 - (unsigned)__builtin_clz(x)) >> 3 : 0;
}

static inline unsigned bp_agg_full_differ6(const uint8_t *a, const uint8_t *b)
{
	const uint64_t high = __builtin_bswap64(bp_sum_word(a) ^ bp_sum_word(b));
	const uint64_t low = __builtin_bswap64(bp_sum_word(a + 8) ^ bp_sum_word(b + 8));

	if (high != 0)
		return 8 + ((71 - (unsigned)__builtin_clzll(high)) >> 3);
	return low != 0 ? (71 - (unsigned)__builtin_clzll(low)) >> 3 : 0;
}

/* Number of address bytes by the code in the flags; 0xff if it is invalid. */
static inline unsigned bp_agg_full_suffix(unsigned family, unsigned code)
{
	const uint64_t bytes = family == 4 ? 0xffffff0403020100 : 0x100c0a0803020100;

	return bytes >> 8 * code & 0xff;
}

/* The shortest code for this number of bytes. */
static inline unsigned bp_agg_full_code(unsigned family, unsigned bytes)
{
	static const uint8_t of[17] = {0, 1, 2, 3, 4, 4, 4, 4, 4, 5, 5, 6, 6, 7, 7, 7, 7};

	return family == 4 ? bytes : of[bytes];
}

/* Size of an entry with these flags, which must be valid. */
static inline unsigned bp_agg_full_entry_len(unsigned family, unsigned flags)
{
	const unsigned code = flags & BP_AGG_FULL_ADDRESS;

	return 1 + (flags >> BP_AGG_FULL_LENGTH_SHIFT) + (flags >> 5 & 1) +
	       (flags >> BP_AGG_FULL_PORT_SHIFT & 3) +
	       (family == 4 ? code : bp_agg_full_suffix(family, code));
}

/* The flags that the next message's entry has. */
static inline unsigned bp_agg_full_flags_of(unsigned family, const struct bp_agg_full_writer *w,
	const struct bp_agg_sender *s, unsigned len)
{
	const unsigned how_long = len < 256 ? 1 : 2;
	unsigned length, hops, port, bytes;

	if (w->count == 0)
		return how_long << BP_AGG_FULL_LENGTH_SHIFT | BP_AGG_FULL_HOPS |
		       2 << BP_AGG_FULL_PORT_SHIFT | (family == 4 ? 4 : 7);
	length = len == w->last_len ? 0 : how_long;
	hops = s->hops == w->last_hops ? 0 : BP_AGG_FULL_HOPS;
	port = (s->port != w->last_port) + (s->port >> 8 != w->last_port >> 8);
	bytes = family == 4 ? bp_agg_full_differ4(s->addr, w->last_addr)
			    : bp_agg_full_differ6(s->addr, w->last_addr);
	return length << BP_AGG_FULL_LENGTH_SHIFT | hops | port << BP_AGG_FULL_PORT_SHIFT |
	       bp_agg_full_code(family, bytes);
}

/* Size by which a message of `len` bytes of `s` extends the aggregate, with its payload. The
 * header is not included: it exists from the beginning. */
static inline unsigned bp_agg_full_cost(
	const struct bp_agg_full_writer *w, const struct bp_agg_sender *s, unsigned len)
{
	return bp_agg_full_entry_len(w->family, bp_agg_full_flags_of(w->family, w, s, len)) + len;
}

/* Size of an aggregate with a single message of `len` bytes: a message for which it exceeds `size`
 * fits into no aggregate. */
static inline unsigned bp_agg_full_alone(unsigned family, unsigned len)
{
	return BP_AGG_FULL_HEADER + bp_agg_full_entry_most(family) - (len < 256) + len;
}

/* Current size of the aggregate, bytes. */
static inline unsigned bp_agg_full_len(const struct bp_agg_full_writer *w)
{
	return BP_AGG_FULL_HEADER + w->directory + w->payloads;
}

/* Copies the `n` bytes, up to 16, of an address that an entry has. */
static inline void bp_agg_full_copy_address(uint8_t *to, const uint8_t *from, unsigned n)
{
	uint64_t a, b;
	uint32_t c, d;

	if (n >= 8) {
		memcpy(&a, from, 8);
		memcpy(&b, from + n - 8, 8);
		memcpy(to, &a, 8);
		memcpy(to + n - 8, &b, 8);
	} else if (n >= 4) {
		memcpy(&c, from, 4);
		memcpy(&d, from + n - 4, 4);
		memcpy(to, &c, 4);
		memcpy(to + n - 4, &d, 4);
	} else {
		if (n & 2)
			memcpy(to, from, 2);
		if (n & 1)
			to[n & 2] = from[n & 2];
	}
}

/* Writes an entry; the bytes after it may be overwritten, up to the size of the longest entry. */
static inline void bp_agg_full_put_entry(
	uint8_t *p, unsigned family, unsigned flags, const struct bp_agg_sender *s, unsigned len)
{
	const unsigned length = flags >> BP_AGG_FULL_LENGTH_SHIFT;
	const unsigned port = flags >> BP_AGG_FULL_PORT_SHIFT & 3;
	const unsigned code = flags & BP_AGG_FULL_ADDRESS;
	const unsigned bytes = family == 4 ? code : bp_agg_full_suffix(family, code);

	/* Each field is stored as a whole word, with the used byte first, and the next field
	 * overwrites the rest. */
	*p++ = (uint8_t)flags;
	bp_put_be16(p, (uint16_t)(length == 1 ? len << 8 : len));
	p += length;
	*p = s->hops;
	p += flags >> 5 & 1;
	bp_put_be16(p, (uint16_t)(port == 1 ? s->port << 8 : s->port));
	p += port;
	if (family == 4)
		memcpy(p, s->addr + 4 - bytes, 4);
	else
		bp_agg_full_copy_address(p, s->addr + 16 - bytes, bytes);
}

/*
 * Appends a message: its payload is copied. False, and nothing is changed, if the aggregate has
 * `most` messages, or the message does not fit. A message may have any length, also 0.
 *
 * `family`: that of the aggregate; as a compile-time constant it halves the work.
 */
static inline __attribute__((always_inline)) bool bp_agg_full_append_of(unsigned family,
	struct bp_agg_full_writer *w, const struct bp_agg_sender *s, const uint8_t *payload,
	unsigned len)
{
	const unsigned flags = bp_agg_full_flags_of(family, w, s, len);
	const unsigned entry = bp_agg_full_entry_len(family, flags);

	if (w->count >= w->most || len > w->size || bp_agg_full_len(w) + entry + len > w->size ||
		BP_AGG_FULL_HEADER + w->directory + bp_agg_full_entry_most(family) > w->front)
		return false;
	bp_agg_full_put_entry(w->buf + BP_AGG_FULL_HEADER + w->directory, family, flags, s, len);
	bp_copy(w->buf + w->front + w->payloads, payload, len);
	w->directory = (uint16_t)(w->directory + entry);
	w->payloads = (uint16_t)(w->payloads + len);
	w->count++;
	bp_agg_full_set_sender(w, s);
	w->last_len = (uint16_t)len;
	return true;
}

/*
 * The same for IPv4, with source address, port and TTL as separate arguments, for an aggregate that
 * is known to hold fewer messages than the maximum.
 */
static inline __attribute__((always_inline)) bool bp_agg_full_append4(struct bp_agg_full_writer *w,
	const uint8_t *addr, uint16_t port, uint8_t hops, const uint8_t *payload, unsigned len)
{
	const unsigned how_long = len < 256 ? 1 : 2;
	unsigned length = how_long, hop = 1, ports = 2, bytes = 4, entry;
	uint8_t *p = w->buf + BP_AGG_FULL_HEADER + w->directory;
	uint32_t from, before;

	memcpy(&from, addr, 4);
	if (w->count != 0) {
		memcpy(&before, w->last_addr, 4);
		length = len == w->last_len ? 0 : how_long;
		hop = hops != w->last_hops;
		ports = (port != w->last_port) + (port >> 8 != w->last_port >> 8);
		bytes = bp_agg_full_differ4((const uint8_t *)&from, (const uint8_t *)&before);
	}
	entry = 1 + length + hop + ports + bytes;
	if (bp_agg_full_len(w) + entry + len > w->size ||
		BP_AGG_FULL_HEADER + w->directory + BP_AGG_FULL_ENTRY4 > w->front)
		return false;
	*p++ = (uint8_t)(length << BP_AGG_FULL_LENGTH_SHIFT | hop * BP_AGG_FULL_HOPS |
			 ports << BP_AGG_FULL_PORT_SHIFT | bytes);
	bp_put_be16(p, (uint16_t)(length == 1 ? len << 8 : len));
	p += length;
	*p = hops;
	p += hop;
	bp_put_be16(p, (uint16_t)(ports == 1 ? port << 8 : port));
	p += ports;
	memcpy(p, addr + 4 - bytes, 4);
	bp_copy(w->buf + w->front + w->payloads, payload, len);
	w->directory = (uint16_t)(w->directory + entry);
	w->payloads = (uint16_t)(w->payloads + len);
	w->count++;
	memcpy(w->last_addr, &from, 4);
	w->last_port = port;
	w->last_hops = hops;
	w->last_len = (uint16_t)len;
	return true;
}

static inline bool bp_agg_full_append(struct bp_agg_full_writer *w, const struct bp_agg_sender *s,
	const uint8_t *payload, unsigned len)
{
	return bp_agg_full_append_of(w->family, w, s, payload, len);
}

/*
 * Ends the aggregate: returns its begin in the buffer, with its length in *len, or NULL if it holds
 * no message. It must be begun again before the next append.
 */
uint8_t *bp_agg_full_end(
	const struct bp_agg_full_writer *w, uint16_t stream, uint32_t sequence, size_t *len);
/* The same, with the bp_sum() of the data before the payloads, for a caller that has their sum. */
uint8_t *bp_agg_full_end_summed(const struct bp_agg_full_writer *w, uint16_t stream,
	uint32_t sequence, size_t *len, uint64_t *sum);

#endif
