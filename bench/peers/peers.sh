# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# What else a user would take, for scripts/bench, which includes this and has what it uses.

peers_rates=(5000 10000 20000 40000 80000 160000 320000) # measurements a second
peers_deciders=(mosquitto-c mosquitto-python suricata nanomq ekuiper biplane-af_packet biplane-af_xdp)
peers_ways=(direct kernel-bridge kernel-route xdp-bridge xdp-route grout-route-af_packet grout-route-af_xdp
	biplane-bridge-af_packet biplane-bridge-af_xdp biplane-route-af_packet biplane-route-af_xdp
	biplane-bridge-af_packet-busy biplane-bridge-af_xdp-busy)
peers_message_rates=(20000 40000 80000 160000 320000 640000) # messages a second
peers_services=({aggregation,coordinates,health}-{sockets,biplane-af_packet,biplane-af_xdp})
peers_part=1 # of --seconds, for each measurement
peers=

peers_ends() {
	peers_rates=("${peers_rates[0]}" "${peers_rates[-1]}")
	peers_deciders=(mosquitto-python biplane-af_packet)
	peers_ways=(direct kernel-route xdp-bridge biplane-route-af_xdp)
	peers_message_rates=("${peers_message_rates[0]}" "${peers_message_rates[-1]}")
	peers_services=(health-sockets aggregation-biplane-af_packet)
	peers_part=3
}

peers_measure() { attempt peers peers peers_all; }

peers_all() {
	local each
	each=$(awk -v s="$seconds" -v p="$peers_part" 'BEGIN {print s / p}')
	for ((round = 1; round <= rounds; round++)); do
		bench/peers/peers "$build" "$each" "${peers_rates[*]}" "${peers_deciders[*]}" "${peers_ways[*]}" \
			"${peers_message_rates[*]}" "${peers_services[*]}" \
			>"$work/peers-$round" || die "bench/peers/peers failed: $(cat "$work/peers-$round")"
	done
	peers=$(/usr/bin/python3 bench/report/peers_table.py --merge "$work"/peers-*)
}

peers_json() { printf '"peers": %s' "${peers:-null}"; }

peers_tables() {
	[ -n "$peers" ] || return 0
	printf '%s\n' "$peers" | /usr/bin/python3 bench/report/peers_table.py
}
