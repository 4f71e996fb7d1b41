/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "services/mqtt/connection_record.h"
#include "shm/mqtt/mqtt_tables.h"

/*
 * A record of a connection, as a gateway of a fleet gets it: it is read within its bounds, a valid
 * one of this version is the same after it was written again, and a connection that waits for it
 * continues, with any result: what it carries is released in the end.
 */
static struct rig rig;

static void written_again(const struct bp_connection_record *r, const uint8_t *data, size_t size)
{
	static struct bp_record_alias aliases[2][BP_CONNECTION_RECORD_MAX];
	static uint16_t qos2[2][BP_RECORD_QOS2_MAX];
	static uint8_t out[BP_CONNECTION_RECORD_MAX];

	for (unsigned dir = 0; dir < 2; dir++) {
		const uint8_t *at = r->aliases[dir];

		for (uint16_t i = 0; i < r->n_aliases[dir]; i++)
			aliases[dir][i] = bp_record_next_alias(&at);
		for (uint16_t i = 0; i < r->n_qos2[dir]; i++)
			qos2[dir][i] = bp_record_qos2(r, dir, i);
	}
	HOLDS(bp_connection_record_write(r, (const uint16_t *const[]){qos2[0], qos2[1]},
		      (const struct bp_record_alias *const[]){aliases[0], aliases[1]}, out,
		      sizeof(out)) == size);
	HOLDS(memcmp(out, data, size) == 0);
}

static void send(const struct bp_connection_record *r, uint32_t seq, const void *p, size_t n)
{
	struct peer c = {.ip6 = r->key.ip6,
		.client_port = r->key.client_port,
		.broker_port = r->key.broker_port};

	memcpy(c.client_ip, r->key.client_ip, 16);
	memcpy(c.broker_ip, r->key.broker_ip, 16);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, seq, r->next[1], p, n);
}

/* A gateway that has this network, if the name is possible. */
static void set_network(const struct bp_connection_key *k)
{
	struct bp_config_bridge *b = &rig.config.bridge[0];
	struct bp_networks networks;

	if (k->network[0] == '\0')
		return;
	rig.config.n_ports = b->n = 2;
	rig.config.n_bridges = b->port[1] = 1;
	memcpy(b->network, k->network, sizeof(b->network));
	bp_config_networks(&rig.config, &networks);
	rig.network = networks.of_port[0];
}

/* Bytes of the record are the holds, too. */
static void offer(const struct bp_connection_key *k, const uint8_t *data, size_t size, uint32_t n)
{
	const struct bp_adopt_offer head = {.result = BP_ADOPT_FOUND, .holds_len = n};
	struct bp_ring *ring = &rig.shm.adopt_offers[0];
	uint64_t mark;
	uint8_t *p = bp_ring_reserve(ring, (uint32_t)(sizeof(head) + sizeof(*k) + n + size), &mark);

	HOLDS(p != NULL);
	memcpy(p, &head, sizeof(head));
	memcpy(p + sizeof(head), k, sizeof(*k));
	memcpy(p + sizeof(head) + sizeof(*k), data, n);
	memcpy(p + sizeof(head) + sizeof(*k) + n, data, size);
	bp_ring_commit(ring, mark);
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* QoS 1: an answer is possible */
	static const uint8_t publish[] = "\x32\x0a\0\3t/x\0\1\0"
					 "90";
	uint8_t *exact = exact_copy(data, size);
	struct bp_connection_record r;

	if (bp_connection_record_read(exact, size, &r)) {
		if (exact[3] != '3') /* of this version */
			written_again(&r, exact, size);
		rig_defaults(&rig);
		rig.config.fleet.state.enabled = true;
		rig.mqtt.directions = BP_DIRECTIONS_BOTH;
		set_network(&r.key);
		rig_open(&rig);
		rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
		/* at the position, or elsewhere */
		send(&r, r.next[0] + (r.suspicious & 7) - (r.suspicious >> 13), publish, 12);
		offer(&r.key, exact, size, r.publishes % (uint32_t)(size + 1));
		send(&r, r.next[0], publish, 12);
		send(&r, r.next[0] + 12, publish, 12);
		(void)rig_told_count(&rig);
		rig_close(&rig);
	}
	free(exact);
	return 0;
}
