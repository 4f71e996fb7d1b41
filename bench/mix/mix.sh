# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The cases of all five services at the same time, and of cycles by graph node. Included by scripts/bench; uses its
# variables and functions.

# case mix: the parts to measure alone, then the whole mix (bench/mix/mix_shares.h); and the rate for the loss
# measurement, as a fraction of the maximum rate
mix_parts=(mqtt phd messages readings lcl plain)
mix_paced=0.7
mix_part=3 # fraction of --seconds, for each measurement
# case nodes: cases of this script
nodes_cases=(bridge text route4 phd aggregate disaggregate transform lcl mix)

mix_ends() { nodes_cases=("${nodes_cases[0]}" "${nodes_cases[-1]}"); }

# ---- all five services at the same time ----

# mix_gateway FILE ARGS...: appends one JSON object to FILE.
mix_gateway() {
	local out file=$1
	shift
	out=$("$build"/bench/biplane-bench --seconds "$(awk -v s="$seconds" -v p="$mix_part" 'BEGIN {print s / p}')" \
		"--file-prefix=bench-$BIPLANE_BENCH" "$@") || die "biplane-bench $*: the counters do not add up: $out"
	printf '%s\n' "$out" >>"$work/$file"
}

mix_round() {
	local part
	for part in "${mix_parts[@]}" all; do
		mix_gateway "mix-$part" --mix "$part"
	done
	mix_gateway mix-paced --mix all --paced "$mix_paced"
	note "round $round/$rounds: mix $(tail -n 1 "$work/mix-all" | field cpu_ns) ns a packet, lost at $mix_paced of the" \
		"most $(tail -n 1 "$work/mix-paced" | field wire_lost)"
}

# ---- cycles by graph node ----

nodes_round() {
	local c args
	for c in "${nodes_cases[@]}"; do
		case $c in
		bridge) args=(--pcap "$work/text.pcap") ;;
		text) args=(--pcap "$work/text.pcap" --inspect) ;;
		route4) args=(--pcap "$work/route4.pcap" --routes 16) ;;
		phd) args=(--pcap "$work/phd.pcap" --phd 1000) ;;
		aggregate) args=(--pcap "$work/agg.pcap" --aggregate 8) ;;
		disaggregate) args=(--pcap "$work/disagg.pcap" --disaggregate 8) ;;
		transform) args=(--pcap "$work/transform.pcap" --transform vector) ;;
		lcl) args=(--pcap "$work/lcl.pcap" --lcl) ;;
		mix) args=(--mix all) ;;
		*) die "case nodes has no '$c'; there are: bridge text route4 phd aggregate disaggregate transform lcl mix" ;;
		esac
		mix_gateway "nodes-$c" --nodes "${args[@]}"
	done
	note "round $round/$rounds: nodes"
}

# ---- output ----

mix_result=
nodes_result=

mix_files() { printf '%s\n' "${@:2}" | while read -r part; do printf '%s\n' "$work/$1-$part"; done; }

mix_all() {
	local files
	each_round mix_round
	mapfile -t files < <(mix_files mix "${mix_parts[@]}" all paced)
	mix_result=$(/usr/bin/python3 bench/report/mix_result.py "$mix_paced" "${files[@]}") || die "bench/report/mix_result.py failed"
}

nodes_all() {
	local files
	each_round nodes_round
	mapfile -t files < <(mix_files nodes "${nodes_cases[@]}")
	nodes_result=$(/usr/bin/python3 bench/report/nodes_result.py "${files[@]}") || die "bench/report/nodes_result.py failed"
}

mix_measure() {
	attempt mix mix_result mix_all
	attempt nodes nodes_result nodes_all
}

mix_tables() {
	[ -z "$mix_result" ] || printf '%s\n' "$mix_result" | /usr/bin/python3 bench/report/mix_result.py --table
	[ -z "$nodes_result" ] || printf '%s\n' "$nodes_result" | /usr/bin/python3 bench/report/nodes_result.py --table
}

mix_json() { printf '"mix": %s, "nodes": %s' "${mix_result:-null}" "${nodes_result:-null}"; }
