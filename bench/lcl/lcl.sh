# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The cases of LCL scheduling. Included by scripts/bench; uses its variables and functions.

# case lcl-hops: numbers of gateways in a line, and slots in nanoseconds; the runs whose delays are plotted over time
# use the longest slot
lcl_hops=(1 2 3 4 6 8)
lcl_turns=(8000 20000 50000 100000)
lcl_flows=4
lcl_traffic=(--rate 2500000000 --burst 2 --load 0.02 --best-effort 0.4)

lcl_ends() {
	lcl_hops=("${lcl_hops[0]}" 3)
	lcl_turns=("${lcl_turns[0]}" "${lcl_turns[-1]}")
}

# ---- compared with testpmd ----

lcl_round() {
	! wants lcl || measure io-lcl testpmd io lcl
	! wants lcl || measure lcl gateway --pcap "$work/lcl.pcap" --lcl
}

lcl_rows() {
	! wants lcl || row lcl lcl io-lcl 0.35 "128-byte labelled frames, update and schedule, full load"
}

# ---- the plain bridge, of this build and of an older one ----

# lcl_least NAME BUILD: adds the CPU time of a frame through the bridge to the figures of NAME.
lcl_least() {
	local out args=(--seconds "$(awk -v s="$seconds" 'BEGIN {print s / 6}')" --pcap "$work/text.pcap")
	out=$("$2"/bench/biplane-bench "${args[@]}" "--file-prefix=bench-$BIPLANE_BENCH") ||
		die "$2/bench/biplane-bench ${args[*]}: the counters do not add up: $out"
	printf '%s\n' "$out" | field cpu_ns >>"$work/$1"
}

least() { sort -n "$work/$1" | head -n 1; }

lcl_bridge() {
	for ((round = 1; round <= rounds; round++)); do
		for _ in 1 2 3; do
			lcl_least bridge-before "$before"
			lcl_least bridge-now "$build"
		done
		note "round $round/$rounds: bridge-before $(least bridge-before) ns, now $(least bridge-now)"
	done
}

lcl_bridge_ratio() { awk -v a="$(least bridge-before)" -v b="$(least bridge-now)" 'BEGIN {printf "%.3f", a / b}'; }

# ---- in real time ----

# lcl_run FILE ARGS...: writes the output of lcl_hops to FILE.
lcl_run() {
	local file=$1
	shift
	nice -n -10 "$build"/bench/lcl_hops "--file-prefix=bench-$BIPLANE_BENCH" --seconds "$seconds" "${lcl_traffic[@]}" "$@" \
		>"$work/$file" || die "lcl_hops $*: what it counted does not add up: $(cat "$work/$file")"
}

# lcl_same N: as many flows as gateways, each with N hops.
lcl_same() {
	local i list=$1
	for ((i = 1; i < lcl_flows; i++)); do
		list+=,$1
	done
	printf '%s' "$list"
}

lcl_real() {
	local n tau
	lcl_run hops-plain --hops 1,2,3,3 --plain --tau "${lcl_turns[-1]}"
	lcl_run hops-lcl --hops 1,2,3,3 --tau "${lcl_turns[-1]}"
	for n in "${lcl_hops[@]}"; do
		lcl_run "hops-sweep-plain-$n" --hops "$(lcl_same "$n")" --plain --tau "${lcl_turns[-1]}"
		for tau in "${lcl_turns[@]}"; do
			lcl_run "hops-sweep-$tau-$n" --hops "$(lcl_same "$n")" --tau "$tau"
		done
		note "lcl-hops: $n of ${lcl_hops[-1]}"
	done
}

lcl_measure() {
	attempt bridge-before - lcl_bridge
	attempt lcl-hops - lcl_real
}

# ---- output ----

# lcl_worst FILE NAME: the maximum of a member over all parts of a run.
lcl_worst() { grep -o "\"$2\": [0-9]*" "$work/$1" | awk '{if ($2 > m) m = $2} END {print m + 0}'; }

# lcl_lateness FILE NAME: the same of a member of lateness_ns.
lcl_lateness() {
	grep -o '"lateness_ns": {[^}]*}' "$work/$1" | grep -o "\"$2\": [0-9]*" |
		awk '{if ($2 > m) m = $2} END {print m + 0}'
}

lcl_inside() {
	grep -o '"frames": [0-9]*, "inside": [0-9]*' "$work/$1" | awk -F '[ ,]+' '{f += $2; i += $4}
		END {printf "%.4f", f ? 100 * i / f : 0}'
}

# lcl_variation FILE: maximum of p9900 - p0100 over the flows, microseconds.
lcl_variation() {
	grep -o '"p0100_ns": [0-9]*\|"p9900_ns": [0-9]*' "$work/$1" | awk '/p0100/ {a = $2}
		/p9900/ {if ($2 - a > m) m = $2 - a} END {printf "%.1f", m / 1e3}'
}

lcl_tables() {
	local n tau
	if wants bridge-before; then
		printf '\nbridge-before: nanoseconds of processor time a frame, the least of short runs in turn: before %s, now %s, ratio %s\n' \
			"$(least bridge-before)" "$(least bridge-now)" "$(lcl_bridge_ratio)"
	fi
	if wants lcl-hops; then
		printf '\nlcl-hops: real time, microseconds: frames within d0 +- tau, variation of 98 %% of the frames, how late slots began\n'
		printf '%5s %7s %10s %10s %12s %9s %9s %9s\n' hops tau "inside, %" variation "without LCL" median p99.99 max
		for n in "${lcl_hops[@]}"; do
			for tau in "${lcl_turns[@]}"; do
				printf '%5s %7s %10s %10s %12s %9s %9s %9s\n' "$n" "$((tau / 1000))" \
					"$(lcl_inside "hops-sweep-$tau-$n")" "$(lcl_variation "hops-sweep-$tau-$n")" \
					"$(lcl_variation "hops-sweep-plain-$n")" \
					"$(lcl_us lcl_lateness "hops-sweep-$tau-$n" median)" \
					"$(lcl_us lcl_lateness "hops-sweep-$tau-$n" p9999)" \
					"$(lcl_us lcl_lateness "hops-sweep-$tau-$n" max)"
			done
		done
	fi
}

# lcl_us COMMAND...: its output, converted to microseconds.
lcl_us() { "$@" | awk '{printf "%.1f", $1 / 1e3}'; }

lcl_file() { cat "$work/$1"; }

lcl_hops_json() {
	local n tau files=()
	for n in "${lcl_hops[@]}"; do
		files+=("hops-sweep-plain-$n")
		for tau in "${lcl_turns[@]}"; do
			files+=("hops-sweep-$tau-$n")
		done
	done
	printf '{"title": "gateways in a line, in real time", "part": "p9900", "plain": %s, "lcl": %s, "sweep": [%s]}' \
		"$(lcl_file hops-plain)" "$(lcl_file hops-lcl)" "$(transform_list lcl_file "${files[@]}")"
}

lcl_json() {
	local bridge=null hops=null
	if wants bridge-before; then
		bridge="{\"before_ns\": $(least bridge-before), \"now_ns\": $(least bridge-now), \"ratio\": $(lcl_bridge_ratio)}"
	fi
	! wants lcl-hops || hops=$(lcl_hops_json)
	printf '"bridge_before": %s, "lcl_hops": %s' "$bridge" "$hops"
}
