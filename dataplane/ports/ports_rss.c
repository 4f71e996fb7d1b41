/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive side scaling. A device distributes its frames among workers by a hash that is the same
 * for both directions of a connection and on all ports of a bridge.
 */
#include <string.h>

#include <rte_ethdev.h>

#include "dataplane/ports/ports.h"

#define RETA_MAX 4096

/* A repeated 0x6d5a makes the Toeplitz hash the same for (a, b) and (b, a). */
static void symmetric_key(uint8_t *key, size_t len)
{
	for (size_t i = 0; i < len; i++)
		key[i] = i % 2 ? 0x5a : 0x6d;
}

void bp_ports_rss_conf(
	const struct bp_port *p, uint64_t types, uint8_t *key, struct rte_eth_rss_conf *conf)
{
	const uint8_t len = p->info.hash_key_size ? p->info.hash_key_size : 40;

	/* from 23.11 on, it has an algorithm, too: the default one */
	*conf = (struct rte_eth_rss_conf){.rss_key = key,
		.rss_key_len = RTE_MIN(len, (uint8_t)BP_RSS_KEY_MAX),
		.rss_hf = types};
	symmetric_key(key, conf->rss_key_len);
}

static uint16_t entry(const struct bp_port_queues *q, unsigned i)
{
	return (uint16_t)(i % q->reta_base % q->n_rx);
}

/*
 * Sets the redirection table such that the same hash selects the same worker on all ports of a
 * bridge.
 */
static const char *set_redirection(
	const struct bp_port *p, uint16_t id, const struct bp_port_queues *q)
{
	struct rte_eth_rss_reta_entry64 table[RETA_MAX / RTE_ETH_RETA_GROUP_SIZE] = {0};
	const unsigned size = p->info.reta_size;
	int rc;

	if (q->reta_base == 0)
		return NULL;
	if (size > RETA_MAX)
		return "its redirection table is longer than 4096";
	for (unsigned i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *e = &table[i / RTE_ETH_RETA_GROUP_SIZE];

		e->mask |= 1ull << (i % RTE_ETH_RETA_GROUP_SIZE);
		e->reta[i % RTE_ETH_RETA_GROUP_SIZE] = entry(q, i);
	}
	rc = rte_eth_dev_rss_reta_update(id, table, (uint16_t)size);
	if (rc == 0)
		return NULL;
	if (rc != -ENOTSUP)
		return "it refuses the redirection table";
	/* the default table may be the required one */
	if (rte_eth_dev_rss_reta_query(id, table, (uint16_t)size) != 0)
		return NULL;
	for (unsigned i = 0; i < size; i++)
		if (table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] !=
			entry(q, i))
			return "its redirection table differs, and cannot be set";
	return NULL;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* Reads the hash configuration back. A driver that does not report it is trusted. */
static const char *request_rss_hash(uint16_t id, const struct bp_port_queues *q)
{
	uint8_t key[BP_RSS_KEY_MAX] = {0}, want[BP_RSS_KEY_MAX];
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = sizeof(key)};
	size_t len;

	if (rte_eth_dev_rss_hash_conf_get(id, &conf) != 0)
		return NULL;
	if ((conf.rss_hf & q->rss) == 0)
		return "it does not use any of the configured hash types";
	len = RTE_MIN((size_t)conf.rss_key_len, sizeof(key));
	symmetric_key(want, sizeof(want));
	/* if the driver returned the length unchanged, it reports only the bytes that it wrote */
	if (len == sizeof(key))
		while (len > 0 && key[len - 1] == 0)
			len--;
	if (!all_zero(key, sizeof(key)) && memcmp(key, want, len) != 0)
		return "it did not take the symmetric key";
	return NULL;
}

const char *bp_ports_rss_check(const struct bp_port *p, uint16_t id, const struct bp_port_queues *q)
{
	const char *why;

	if (q->rss == 0)
		return NULL;
	why = set_redirection(p, id, q);
	return why ? why : request_rss_hash(id, q);
}
