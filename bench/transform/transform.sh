# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The cases of coordinate transformation. Included by scripts/bench; uses its variables and functions.

transform_methods=(vector exact large medium small chebyshev userspace)
# transform_option METHOD: its name in the configuration, where those of Kunze et al. (2021) have a prefix.
transform_option() {
	case $1 in
	vector | exact) echo "$1" ;;
	*) echo "kunze2021_$1" ;;
	esac
}
transform_sources=(1 100 10000 65536)
# case transform-figure6: offered readings/s, of biplane and of the socket program
transform_rates=(100000 300000 1000000 2000000 4000000 7000000 10000000 14000000 20000000 28000000
	40000000 60000000 100000000)
transform_socket_rates=(30000 100000 200000 300000 400000 500000 700000 1000000 1500000 2000000)

transform_ends() {
	transform_methods=("${transform_methods[0]}" "${transform_methods[-1]}")
	transform_sources=("${transform_sources[0]}" "${transform_sources[-1]}")
	transform_rates=("${transform_rates[0]}" "${transform_rates[-1]}")
	transform_socket_rates=("${transform_socket_rates[0]}" "${transform_socket_rates[-1]}")
}

# ---- compared with testpmd ----

transform_round() {
	local m n
	if wants transform || wants transform-methods; then
		measure io-transform testpmd io transform
	fi
	! wants transform || measure transform gateway --pcap "$work/transform.pcap" --transform vector
	if wants transform-methods; then
		for m in "${transform_methods[@]}"; do
			measure "transform-$m" gateway --pcap "$work/transform.pcap" --transform "$(transform_option "$m")"
		done
	fi
	if wants transform-sources; then
		for n in "${transform_sources[@]}"; do
			measure "transform-of-$n" gateway --pcap "$work/transform.pcap" --transform vector --sources "$n"
		done
	fi
}

transform_rows() {
	local m n
	! wants transform || row transform transform io-transform 0.50 "82-byte readings, default method, one receiver"
	if wants transform-methods; then
		for m in "${transform_methods[@]}"; do
			row "transform-$m" "transform-$m" io-transform - "the same by method $m"
		done
	fi
	if wants transform-sources; then
		for n in "${transform_sources[@]}"; do
			row "transform-of-$n" "transform-of-$n" transform-of-1 - "of $n trackers in random order"
		done
	fi
}

# ---- cost per reading by method, and loss by rate ----

# transform_times: adds one figure to times-METHOD-alone (nanoseconds of a single reading), -full (of one in a burst of
# 64) and -gateway (total CPU time of a worker per reading).
transform_times() {
	local m out
	out=$("$build"/bench/transform_methods --rounds 5) || die "transform_methods failed: $out"
	for m in "${transform_methods[@]}"; do
		transform_least "$out" "$(transform_option "$m")" 1 >>"$work/times-$m-alone"
		transform_least "$out" "$(transform_option "$m")" 64 >>"$work/times-$m-full"
		transform_cpu "times-$m-gateway" --pcap "$work/transform.pcap" --transform "$(transform_option "$m")"
	done
	out=$("$build"/bench/transform_sockets --compute) || die "transform_sockets failed: $out"
	printf '%s\n' "$out" | field compute_ns >>"$work/times-sockets-alone"
	note "round $round/$rounds: transform-times vector $(tail -n 1 "$work/times-vector-full")" \
		"gateway $(tail -n 1 "$work/times-vector-gateway") ns"
}

# transform_least OUTPUT METHOD BURST: from the output of transform_methods; the first vector width is the active one.
transform_least() {
	printf '%s\n' "$1" | grep "\"method\": \"$2\".*\"burst\": $3, \"matrices\": \"one\"" | head -n 1 |
		field ns_least
}

# transform_cpu NAME ARGS...: adds biplane's CPU time per reading to the figures of NAME.
transform_cpu() {
	local out name=$1
	shift
	out=$("$build"/bench/biplane-bench --seconds "$(awk -v s="$seconds" 'BEGIN {print s / 3}')" \
		"--file-prefix=bench-$BIPLANE_BENCH" "$@") || die "biplane-bench $*: the counters do not add up: $out"
	printf '%s\n' "$out" | field cpu_ns >>"$work/$name"
}

# transform_points FILE COMMAND...: its points, one row each: "rate offered transformed" per second.
transform_points() {
	local out file=$1
	shift
	out=$("$@") || die "$*: what it counted does not add up: $out"
	printf '%s\n' "$out" | grep -o '{"rate"[^}]*}' | sed 's/[^0-9 ]//g' >>"$work/$file"
}

transform_figure6() {
	local m each
	each=$(awk -v s="$seconds" 'BEGIN {print s / 10}')
	for m in "${transform_methods[@]}"; do
		transform_points "points-$m" "$build"/bench/biplane-bench --seconds "$each" \
			"--file-prefix=bench-$BIPLANE_BENCH" --transform "$(transform_option "$m")" \
			--rates "$(IFS=, && echo "${transform_rates[*]}")"
	done
	transform_points points-sockets "$build"/bench/transform_sockets "$each" "${transform_socket_rates[@]}"
	transform_points points-one-by-one "$build"/bench/transform_sockets --one-by-one "$each" \
		"${transform_socket_rates[@]}"
	note "round $round/$rounds: transform-figure6"
}

# Maximum rate over the same veth pairs: the socket program in three modes, and biplane with two drivers; and biplane
# with in-memory ports. Readings per second of CPU time.
transform_sockets() {
	local way args each most=3000000
	each=$(awk -v s="$seconds" 'BEGIN {print s / 3}')
	for way in one-by-one batches segments; do
		args=()
		[ $way = batches ] || args=("--$way")
		transform_points "veth-$way" "$build"/bench/transform_sockets "${args[@]}" "$each" $most
	done
	for way in af_packet af_xdp; do
		args=("$build"/bench/transform_sockets --biplane "$build/apps/biplane" --driver $way "$each")
		"${args[@]}" >"$work/veth" || die "${args[*]} failed: $(cat "$work/veth")"
		sed 's/.*"offered": \([0-9]*\), "transformed": \([0-9]*\).*/0 \1 \2/' "$work/veth" >>"$work/veth-$way"
	done
	transform_cpu veth-memory-ns --pcap "$work/transform.pcap" --transform vector
	note "round $round/$rounds: transform-sockets $(tail -n 1 "$work/veth-batches" | awk '{print $3}')/s," \
		"biplane on the same links $(tail -n 1 "$work/veth-af_packet" | awk '{print $3}')/s"
}

transform_measure() {
	local c
	for c in times figure6 sockets; do
		attempt "transform-$c" - each_round "transform_$c"
	done
}

# ---- output ----

# transform_way WAY: the median of readings/s.
transform_way() { awk '{print $3}' "$work/veth-$1" | median; }
transform_memory() { med veth-memory-ns | awk '{printf "%.0f", 1e9 / $1}'; }

# transform_at FILE RATE COLUMN: the median of the rounds.
transform_at() { awk -v r="$2" -v c="$3" '$1 == r {print $c}' "$work/$1" | median; }

transform_tables() {
	local m way memory
	if wants transform-times; then
		printf '\ntransform-times: nanoseconds a reading: computed by itself, among 64, and through the gateway\n'
		for m in "${transform_methods[@]}"; do
			printf '%-11s %8s %8s %8s\n' "$m" "$(med "times-$m-alone")" "$(med "times-$m-full")" \
				"$(med "times-$m-gateway")"
		done
		printf '%-11s %8s\n' sockets "$(med times-sockets-alone)"
	fi
	if wants transform-figure6; then
		printf '\ntransform-figure6: million readings a second of processor time at the highest rate\n'
		for m in "${transform_methods[@]}"; do
			printf '%-11s %8.2f\n' "$m" "$(transform_at "points-$m" "${transform_rates[-1]}" 3 |
				awk '{print $1 / 1e6}')"
		done
		for way in sockets one-by-one; do
			printf '%-11s %8.3f\n' $way "$(transform_at "points-$way" "${transform_socket_rates[-1]}" 3 |
				awk '{print $1 / 1e6}')"
		done
	fi
	if wants transform-sockets; then
		memory=$(transform_memory)
		printf '\ntransform-sockets: thousand readings a second of processor time over veth (target: 1/20 of biplane in memory)\n'
		for way in one-by-one batches segments af_packet af_xdp; do
			printf '%-11s %8.0f %8.1f times in memory\n' $way "$(transform_way $way | awk '{print $1 / 1e3}')" \
				"$(transform_way $way | awk -v m="$memory" '{print m / $1}')"
		done
		printf '%-11s %8.0f\n' "in memory" "$(awk -v m="$memory" 'BEGIN {print m / 1e3}')"
	fi
}

# transform_list COMMAND ITEM...: the outputs of COMMAND for each item, comma-separated.
transform_list() {
	local command=$1 item first=1
	shift
	for item; do
		[ -n "$first" ] || printf ', '
		first=
		$command "$item"
	done
}

transform_times_json() {
	printf '{"method": "%s", "alone_ns": %s, "full_ns": %s, "gateway_ns": %s}' "$1" \
		"$(med "times-$1-alone")" "$(med "times-$1-full")" "$(med "times-$1-gateway")"
}

transform_point_json() {
	printf '{"rate": %s, "offered": %.0f, "transformed": %.0f}' "$1" "$(transform_at "$points" "$1" 2)" \
		"$(transform_at "$points" "$1" 3)"
}

transform_points_json() {
	local points=points-$1 rates=("${transform_rates[@]}")
	case $1 in sockets | one-by-one) rates=("${transform_socket_rates[@]}") ;; esac
	printf '{"who": "%s", "points": [%s]}' "$1" "$(transform_list transform_point_json "${rates[@]}")"
}

transform_way_json() { printf '"%s": %.0f' "$1" "$(transform_way "$1")"; }

transform_json() {
	local times=null figure6=null sockets=null compute=null
	if wants transform-times; then
		compute=$(med times-sockets-alone | sed 's/nan/null/')
		times="[$(transform_list transform_times_json "${transform_methods[@]}")]"
	fi
	if wants transform-figure6; then
		figure6="[$(transform_list transform_points_json "${transform_methods[@]}" sockets one-by-one)]"
	fi
	if wants transform-sockets; then
		sockets="{$(transform_list transform_way_json one-by-one batches segments af_packet af_xdp)"
		sockets+=", \"memory\": $(transform_memory), \"target_ratio\": 20}"
	fi
	printf '{"times": %s, "socket_compute_ns": %s, "figure6": %s, "sockets": %s}' "$times" \
		"$compute" "$figure6" "$sockets"
}
