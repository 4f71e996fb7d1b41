# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The cases of coordinate transformation, for scripts/bench, which includes this and has what it uses.

transform_methods=(vector exact large medium small chebyshev userspace)
transform_sources=(1 100 10000 65536)
# case transform-figure6: readings offered per second, of biplane and of the program of sockets
transform_rates=(100000 300000 1000000 2000000 4000000 7000000 10000000 14000000 20000000 28000000
	40000000 60000000 100000000)
transform_socket_rates=(30000 100000 200000 300000 400000 500000 700000 1000000 1500000 2000000)

transform_ends() {
	transform_methods=("${transform_methods[0]}" "${transform_methods[-1]}")
	transform_sources=("${transform_sources[0]}" "${transform_sources[-1]}")
	transform_rates=("${transform_rates[0]}" "${transform_rates[-1]}")
	transform_socket_rates=("${transform_socket_rates[0]}" "${transform_socket_rates[-1]}")
}

# ---- beside testpmd ----

transform_round() {
	local m n
	if wants transform || wants transform-methods; then
		measure io-transform testpmd io transform
	fi
	! wants transform || measure transform gateway --pcap "$work/transform.pcap" --transform vector
	if wants transform-methods; then
		for m in "${transform_methods[@]}"; do
			measure "transform-$m" gateway --pcap "$work/transform.pcap" --transform "$m"
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
