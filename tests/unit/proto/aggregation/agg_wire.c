/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"

/*
 * agg_wire: the C side of agg_wire_test.py. A line in, a line out; bytes are in hexadecimal, and
 * "-" is none.
 *
 *	full-read FAMILY MOST BYTES     OK STREAM SEQUENCE {ADDRESS PORT HOPS PAYLOAD}, or a reason
 *	full-write FAMILY FRONT SIZE MOST STREAM SEQUENCE {ADDRESS PORT HOPS PAYLOAD}
 *	                                 HOW MANY WERE TAKEN, BYTES
 *	paper-read MOST BYTES           OK TYPE COUNT, or a reason
 *	paper-write TYPE MESSAGES        BYTES
 */

static const char *const full_reasons[] = {"OK", "MAGIC", "VERSION", "SHORT", "CHECKSUM", "FAMILY",
	"MANY", "COUNT", "ENTRY", "LENGTH"};
static const char *const paper_reasons[] = {
	"OK", "SHORT", "TYPE", "EMPTY", "LENGTH", "SINGLE", "MANY"};

static char *word(void)
{
	char *w = strtok(NULL, " \n");

	if (w == NULL) {
		fputs("agg_wire: the line ends too early\n", stderr);
		exit(1);
	}
	return w;
}

static unsigned number(void)
{
	return (unsigned)strtoul(word(), NULL, 10);
}

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(tolower(c) - 'a' + 10);
}

/* In a block of exactly that size; freed by the caller. */
static uint8_t *bytes(size_t *len)
{
	const char *hex = word();
	uint8_t *p;

	*len = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
	p = malloc(*len); /* NOLINT(*UnixAPI): no byte of 0 may be read either */
	for (size_t i = 0; i < *len; i++)
		p[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	return p;
}

static void print(const uint8_t *p, size_t len)
{
	putchar(' ');
	if (len == 0)
		putchar('-');
	for (size_t i = 0; i < len; i++)
		printf("%02x", p[i]);
}

static void full_read(void)
{
	static struct bp_agg_message m[BP_AGG_FULL_MOST];
	const unsigned family = number(), most = number();
	struct bp_agg_full head;
	size_t len;
	uint8_t *p = bytes(&len);
	const enum bp_agg_full_error e = bp_agg_full_read(p, len, family, &head, m, most);

	printf("%s", full_reasons[e]);
	if (e == BP_AGG_FULL_OK) {
		printf(" %u %" PRIu32, head.stream, head.sequence);
		for (unsigned i = 0; i < head.count; i++) {
			print(m[i].from.addr, family == 4 ? 4 : 16);
			printf(" %u %u", m[i].from.port, m[i].from.hops);
			print(p + m[i].offset, m[i].len);
		}
	}
	free(p);
}

static void full_write(void)
{
	const unsigned family = number(), front = number(), size = number(), most = number();
	const unsigned stream = number(), sequence = number();
	uint8_t *block = malloc(front + size), *address, *payload, *p;
	struct bp_agg_full_writer w;
	bool fits = true;
	unsigned taken = 0;
	size_t len, n;

	bp_agg_full_begin(&w, block, (uint16_t)front, (uint16_t)size, family, (uint8_t)most);
	for (char *next; fits && (next = strtok(NULL, " \n")) != NULL; taken += fits) {
		struct bp_agg_sender s;

		/* bytes that mean nothing with IPv4 must make no difference */
		memset(&s, (int)taken * 85, sizeof(s));
		n = strlen(next) / 2;
		address = s.addr;
		for (size_t i = 0; i < n; i++)
			address[i] = (uint8_t)(digit(next[2 * i]) << 4 | digit(next[2 * i + 1]));
		s.port = (uint16_t)number();
		s.hops = (uint8_t)number();
		payload = bytes(&n);
		fits = bp_agg_full_append(&w, &s, payload, (unsigned)n);
		free(payload);
	}
	printf("%u", taken);
	p = bp_agg_full_end(&w, (uint16_t)stream, sequence, &len);
	print(p, p != NULL ? len : 0);
	free(block);
}

static void paper_read(void)
{
	const unsigned most = number();
	struct bp_agg_lin2018 m;
	size_t len;
	uint8_t *p = bytes(&len);
	const enum bp_agg_lin2018_error e = bp_agg_lin2018_read(p, len, most, &m);

	printf("%s", paper_reasons[e]);
	if (e == BP_AGG_LIN2018_OK) {
		printf(" %u %u", m.type, m.count);
		print(m.messages, (size_t)16 * m.count);
	}
	free(p);
}

static void paper_write(void)
{
	const unsigned type = number();
	size_t len;
	uint8_t *messages = bytes(&len), *p = malloc(BP_AGG_LIN2018_HEADER + len);

	bp_agg_lin2018_put_header(p, (uint8_t)type);
	for (unsigned i = 0; i < len / 16; i++)
		bp_agg_lin2018_put(p, i, messages + (size_t)16 * i);
	print(p, BP_AGG_LIN2018_HEADER + len);
	free(messages);
	free(p);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} commands[] = {{"full-read", full_read}, {"full-write", full_write},
		{"paper-read", paper_read}, {"paper-write", paper_write}};
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		const char *name = strtok(line, " \n");

		for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
			if (name != NULL && strcmp(name, commands[i].name) == 0)
				commands[i].run();
		putchar('\n');
	}
	free(line);
	return 0;
}
