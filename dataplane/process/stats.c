/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/stats.h"

#include <inttypes.h>
#include <string.h>

#include "config/config.h"
#include "biplane/counters/general.h"
#include "dataplane/ports/port_count.h"

void bp_totals_read(const struct bp_shm *shm, unsigned n_ports, struct bp_totals *t)
{
	memset(t, 0, sizeof(*t));
	for (unsigned w = 0; w < shm->workers; w++) {
		for (unsigned p = 0; p < n_ports; p++) {
			const struct bp_port_stats *s = &shm->port_stats[w * BP_MAX_PORTS + p];

			t->port[p].rx_packets += bp_stat_get(&s->rx_packets);
			t->port[p].rx_bytes += bp_stat_get(&s->rx_bytes);
			t->port[p].tx_packets += bp_stat_get(&s->tx_packets);
			t->port[p].tx_bytes += bp_stat_get(&s->tx_bytes);
			t->port[p].tx_dropped += bp_stat_get(&s->tx_dropped);
		}
	}
	for (unsigned p = 0; p < n_ports; p++) {
		t->rx += t->port[p].rx_packets;
		t->tx += t->port[p].tx_packets;
	}
	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		t->counter[i] = bp_shm_counter(shm, i);
		if (bp_counter_info[i].group == BP_CG_ORIGINATED)
			t->originated += t->counter[i];
		else if (bp_counter_info[i].group == BP_CG_DROP)
			t->drops += t->counter[i];
		else if (bp_counter_info[i].group == BP_CG_PUNTED)
			t->punted += t->counter[i];
		else if (bp_counter_info[i].group == BP_CG_TERMINATED)
			t->terminated += t->counter[i];
	}
}

bool bp_totals_exact(const struct bp_totals *t)
{
	return t->rx + t->originated == t->tx + t->drops + t->punted + t->terminated;
}

void bp_rates_print(const struct bp_config *c, const struct bp_totals *before,
	const struct bp_totals *now, double seconds, FILE *out)
{
	if (seconds <= 0)
		return;
	for (unsigned p = 0; p < c->n_ports; p++) {
		double rx =
			(double)(now->port[p].rx_packets - before->port[p].rx_packets) / seconds;
		double tx =
			(double)(now->port[p].tx_packets - before->port[p].tx_packets) / seconds;
		double rx_bits = (double)(now->port[p].rx_bytes - before->port[p].rx_bytes) * 8;
		double tx_bits = (double)(now->port[p].tx_bytes - before->port[p].tx_bytes) * 8;

		fprintf(out,
			"  %-12s Rx-pps: %12.0f  Rx-Mbit/s: %10.1f  Tx-pps: %12.0f  Tx-Mbit/s: "
			"%10.1f\n",
			c->port[p].name, rx, rx_bits / seconds / 1e6, tx, tx_bits / seconds / 1e6);
	}
	fprintf(out, "  %-12s %.0f a second\n", "drops",
		(double)(now->drops - before->drops) / seconds);
	fflush(out);
}

void bp_totals_print(const struct bp_config *c, const struct bp_totals *t, FILE *out)
{
	fprintf(out, "totals\n  %-12s %16s %18s %16s %18s %14s\n", "port", "rx packets", "rx bytes",
		"tx packets", "tx bytes", "tx dropped");
	for (unsigned p = 0; p < c->n_ports; p++)
		fprintf(out,
			"  %-12s %16" PRIu64 " %18" PRIu64 " %16" PRIu64 " %18" PRIu64 " %14" PRIu64
			"\n",
			c->port[p].name, t->port[p].rx_packets, t->port[p].rx_bytes,
			t->port[p].tx_packets, t->port[p].tx_bytes, t->port[p].tx_dropped);
	for (unsigned g = 0; g < BP_CG_COUNT; g++) {
		bool headed = false;

		for (unsigned i = 0; i < BP_C_COUNT; i++) {
			if (bp_counter_info[i].group != g || t->counter[i] == 0)
				continue;
			if (!headed)
				fprintf(out, "  %s\n", bp_counter_group_info[g].name);
			headed = true;
			fprintf(out, "    %-24s %16" PRIu64 "  %s\n", bp_counter_info[i].name,
				t->counter[i], bp_counter_info[i].help);
		}
	}
	fprintf(out,
		"  sum: rx %" PRIu64 " + originated %" PRIu64 " = tx %" PRIu64 " + drops %" PRIu64
		" + punted %" PRIu64 " + terminated %" PRIu64 ": %s\n",
		t->rx, t->originated, t->tx, t->drops, t->punted, t->terminated,
		bp_totals_exact(t) ? "exact" : "NOT exact");
	fflush(out);
}
