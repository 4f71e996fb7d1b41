# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The throughput search, for scripts/bench, which includes this and has the variables and functions that it uses.

ndr_sizes=(64 128 512 1518) # bytes
ndr_drivers=(af_packet)
ndr_width=0.01
ndr_rounds=3 # unless --rounds is given
ndr_part=3 # of --seconds: the final trial duration
ndr=

ndr_ends() {
	ndr_sizes=("${ndr_sizes[0]}" "${ndr_sizes[-1]}")
	ndr_width=0.05
}

# Milliseconds of all rounds: a search has some 18 trials.
ndr_takes() { echo $((ndr_rounds * ${#ndr_sizes[@]} * (7 + 4 * ${#ndr_drivers[@]}) * 18 * (milliseconds / ndr_part + 600))); }

ndr_measure() { attempt ndr ndr ndr_all; }

ndr_all() {
	local trial
	trial=$(awk -v s="$seconds" -v p="$ndr_part" 'BEGIN {print s / p}')
	ndr=$(bench/ndr/ndr "$build" "$ndr_rounds" "$trial" "$ndr_width" "${ndr_sizes[*]}" "${ndr_drivers[*]}") || die "bench/ndr/ndr failed"
}

ndr_json() { printf '"ndr": %s' "${ndr:-null}"; }

ndr_table() {
	[ -n "$ndr" ] || return 0
	echo
	printf '%s\n' "$ndr" | /usr/bin/python3 bench/ndr/summary.py table
}
