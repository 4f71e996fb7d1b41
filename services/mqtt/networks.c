/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/mqtt/mqtt_worker.h"

/*
 * Networks of VRFs. The name of one is "vrf:TABLE": a VRF keeps its table for its whole life, while
 * its device may be renamed, and may be reported after the interfaces in it. A number belongs to
 * its name as long as there is a connection in the network, also after the VRF is gone.
 */
#define OTHER_NAME "vrf:other"

static void name_of(uint32_t table, char out[BP_NAME_MAX + 1])
{
	memset(out, 0, BP_NAME_MAX + 1);
	snprintf(out, BP_NAME_MAX + 1, "vrf:%u", table);
}

/* 0: it is not such a name. It may come from another process. */
static uint32_t table_of(const char name[BP_NAME_MAX + 1])
{
	char copy[BP_NAME_MAX + 1], same[BP_NAME_MAX + 1];
	uint32_t table;

	memcpy(copy, name, sizeof(copy));
	copy[BP_NAME_MAX] = '\0';
	if (strncmp(copy, "vrf:", 4) != 0)
		return 0;
	table = (uint32_t)strtoul(copy + 4, NULL, 10);
	name_of(table, same);
	return memcmp(copy, same, sizeof(copy)) == 0 ? table : 0;
}

/* BP_NETWORK_OTHER: none has this table. */
static uint8_t find(const struct bp_mqtt_worker *in, uint32_t table)
{
	uint8_t n = BP_NETWORKS_CONFIGURED;

	if (table == 0)
		return 0;
	while (n < BP_NETWORK_OTHER && in->network_table[n] != table)
		n++;
	return n;
}

/* The numbers are given in turn, so that a process which copies a connection and then its name
 * does not find that of another network. */
static uint8_t add(struct bp_mqtt_worker *in, uint32_t table, bool used[BP_NETWORKS])
{
	for (unsigned i = BP_NETWORKS_CONFIGURED; i < BP_NETWORK_OTHER; i++) {
		const uint8_t n = in->next_network;

		in->next_network = n + 1 < BP_NETWORK_OTHER ? n + 1 : BP_NETWORKS_CONFIGURED;
		if (used[n] || in->table.in_network[n] != 0)
			continue;
		used[n] = true;
		in->network_table[n] = table;
		name_of(table, in->table.header->network[n]);
		return n;
	}
	return BP_NETWORK_OTHER;
}

void bp_mqtt_worker_networks(
	struct bp_mqtt_worker *in, const uint32_t *table, uint8_t *network, unsigned n)
{
	bool used[BP_NETWORKS] = {false};

	memset(network, 0, n);
	if (!in->separate_vrfs)
		return;
	for (unsigned i = 0; i < n; i++) {
		network[i] = find(in, table[i]);
		used[network[i]] = true;
	}
	for (unsigned i = 0; i < n; i++) {
		if (network[i] == BP_NETWORK_OTHER)
			network[i] = find(in, table[i]); /* another interface is in it, too */
		if (network[i] == BP_NETWORK_OTHER)
			network[i] = add(in, table[i], used);
	}
}

void bp_networks_adopt(struct bp_mqtt_worker *in)
{
	char(*name)[BP_NAME_MAX + 1] = in->table.header->network;

	in->next_network = BP_NETWORKS_CONFIGURED;
	for (unsigned n = BP_NETWORKS_CONFIGURED; n < BP_NETWORK_OTHER; n++) {
		const uint32_t table = table_of(name[n]);
		const bool valid = table != 0 && find(in, table) == BP_NETWORK_OTHER;

		in->network_table[n] = valid ? table : 0;
		if (!valid)
			memset(name[n], 0, sizeof(name[n]));
	}
	memset(name[BP_NETWORK_OTHER], 0, sizeof(name[0]));
	memcpy(name[BP_NETWORK_OTHER], OTHER_NAME, sizeof(OTHER_NAME));
}
