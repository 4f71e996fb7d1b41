# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Cost against the size of tables and traffic. Included by scripts/bench; uses its variables and functions. Each series
# varies one quantity from its minimum to its maximum, about one step per decade. Each step is measured directly after
# the smallest one of its series, so that their ratio is not influenced by the varying load of a shared machine.

growth_series=(connections rules routes sessions streams trackers workers octets)
declare -A growth_steps=(
	[connections]="1000 10000 100000 1000000"
	[rules]="1 10 100 1000 10000"
	[routes]="16 100 1000 10000 100000 1000000"
	[sessions]="1000 10000 100000 1000000"
	[streams]="1 10 100 1000 10000"
	[trackers]="1 10 100 1000 10000 65536"
	[workers]="1 2"
	[octets]="64 128 256 512 1024 1280 1518"
)
declare -A growth_what=(
	[connections]="MQTT connections, inspected, in random order"
	[rules]="alarm rules; from 1,000 on, one rule per connection"
	[routes]="IPv4 routes, random destinations from 100 on"
	[sessions]="health device sessions, in random order"
	[streams]="aggregation streams, in random order"
	[trackers]="trackers, transformed, in random order"
	[workers]="workers, one bridge each"
	[octets]="frame size in bytes, routed"
)
growth_tries=5
growth_part=3 # fraction of --seconds, for each measurement

growth_ends() {
	local s steps
	growth_part=10
	for s in "${growth_series[@]}"; do
		read -ra steps <<<"${growth_steps[$s]}"
		growth_steps[$s]="${steps[0]} ${steps[-1]}"
	done
}

# growth_arguments SERIES STEP: arguments of biplane-bench.
growth_arguments() {
	case $1 in
	connections) args=(--pcap "$work/text.pcap" --inspect --connections "$2") ;;
	rules) args=(--pcap "$work/text.pcap" --inspect --rules "$2") ;;
	routes) args=(--pcap "$work/route4.pcap" --routes "$2") ;;
	sessions) args=(--pcap "$work/phd.pcap" --phd "$2") ;;
	streams) args=(--pcap "$work/agg.pcap" --aggregate 8 --streams "$2") ;;
	trackers) args=(--pcap "$work/transform.pcap" --transform vector --sources "$2") ;;
	octets)
		[ -e "$work/route4-$2.pcap" ] || "$build"/bench/make_pcap route4 "$2" "$work/route4-$2.pcap"
		args=(--pcap "$work/route4-$2.pcap" --routes 16)
		;;
	esac
}

# growth_ns SERIES STEP: CPU time of the worker per frame, in nanoseconds. If the worker was preempted, the measurement
# is repeated.
growth_ns() {
	local out ns i each args
	each=$(awk -v s="$seconds" -v p="$growth_part" 'BEGIN {print s / p}')
	for ((i = 0; i < growth_tries; i++)); do
		if [ "$1" = workers ]; then
			# the counters are not read at the same instant: a longer measurement
			out=$(bench/routes/workers "$build" "$2" "$(awk -v e="$each" 'BEGIN {print 3 * e}')" "$work/route4.pcap") || die "bench/routes/workers $2 failed"
			ns=$(printf '%s\n' "$out" | field mpps | awk '{print ($1 > 0 ? 1e3 / $1 : "nan")}')
		else
			growth_arguments "$1" "$2"
			out=$("$build"/bench/biplane-bench --seconds "$each" "--file-prefix=bench-$BIPLANE_BENCH" "${args[@]}") ||
				die "biplane-bench ${args[*]}: the counters do not add up: $out"
			ns=$(printf '%s\n' "$out" | sed -n 's/.*"cpu_ns": \([0-9.]*\),.*/\1/p')
		fi
		if [[ $ns =~ ^[0-9.]+(e[+-]?[0-9]+)?$ ]]; then
			printf '%s\n' "$ns"
			return
		fi
	done
	die "growth: $1 of $2: others leave the worker no processor time; run again when they have ended"
}

# growth_step SERIES LEAST STEP: adds one figure to growth-SERIES-STEP-ns, and to growth-SERIES-STEP-ratio.
growth_step() {
	local least now
	least=$(growth_ns "$1" "$2")
	now=$(growth_ns "$1" "$3")
	printf '%s\n' "$least" >>"$work/growth-$1-$2-ns"
	printf '%s\n' "$now" >>"$work/growth-$1-$3-ns"
	growth_of "$least" "$now" >>"$work/growth-$1-$3-ratio"
	note "round $round/$rounds: growth: $1 $3: $now ns, $2: $least ns, ratio $(tail -n 1 "$work/growth-$1-$3-ratio")"
}

# growth_of LEAST NOW: the rate of a step relative to the smallest one, from nanoseconds of each.
growth_of() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.3f\n", a / b}'; }

growth_measure() { attempt growth - growth_all; }

growth_all() {
	local s step steps
	for ((round = 1; round <= rounds; round++)); do
		for s in "${growth_series[@]}"; do
			read -ra steps <<<"${growth_steps[$s]}"
			for step in "${steps[@]:1}"; do
				growth_step "$s" "${steps[0]}" "$step"
			done
		done
	done
}

growth_step_json() {
	local ns ratio=1
	ns=$(med "growth-$s-$1-ns")
	[ "$1" = "${growth_steps[$s]%% *}" ] || ratio=$(med "growth-$s-$1-ratio")
	awk -v n="$1" -v ns="$ns" -v r="$ratio" 'BEGIN {
		printf "{\"n\": %d, \"ns\": %.2f, \"mpps\": %.3f, \"ratio\": %.3f}", n, ns, 1e3 / ns, r}'
}

growth_series_json() {
	local s=$1 steps
	read -ra steps <<<"${growth_steps[$s]}"
	printf '{"name": "%s", "what": "%s", "steps": [%s]}' "$s" "${growth_what[$s]}" \
		"$(transform_list growth_step_json "${steps[@]}")"
}

growth_json() {
	local all=null
	! wants growth || all="[$(transform_list growth_series_json "${growth_series[@]}")]"
	printf '"growth": %s' "$all"
}

growth_tables() {
	local s step least
	wants growth || return 0
	printf '\ngrowth: a second of the worker'\''s processor time; ratio: to the least of the series, in turn\n'
	printf '%-12s %9s %9s %9s %7s  %s\n' series step ns Mpps ratio what
	for s in "${growth_series[@]}"; do
		least=${growth_steps[$s]%% *}
		for step in ${growth_steps[$s]}; do
			growth_row "$s" "$step" "$least"
		done
	done
	printf 'workers: the sum of their rates, each of its own processor; a machine of two has none left for anything else\n'
}

# growth_row SERIES STEP LEAST
growth_row() {
	local ns ratio=1 what=
	ns=$(med "growth-$1-$2-ns")
	if [ "$2" = "$3" ]; then
		what=${growth_what[$1]}
	else
		ratio=$(med "growth-$1-$2-ratio")
	fi
	awk -v s="$1" -v n="$2" -v ns="$ns" -v r="$ratio" -v w="$what" 'BEGIN {
		line = sprintf("%-12s %9d %9.2f %9.2f %7.2f  %s", s, n, ns, 1e3 / ns, r, w)
		sub(/ +$/, "", line)
		print line}'
}
