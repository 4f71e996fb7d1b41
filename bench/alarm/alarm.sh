# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The experiments of the alarm paper (Atutxa et al. 2021). Included by scripts/bench; uses its variables and functions.

alarm_count=1000
alarm_percents=(1 5 10 15 20 30 50)
alarm_paper=

alarm_ends() {
	alarm_count=50
	alarm_percents=("${alarm_percents[0]}" "${alarm_percents[-1]}")
}

alarm_measure() { attempt alarm-paper alarm_paper alarm_run; }

alarm_run() {
	alarm_paper=$(bench/alarm/alarm_paper "$build" "$alarm_count" "${alarm_percents[@]}") ||
		die "bench/alarm/alarm_paper failed: $alarm_paper"
}

alarm_json() { printf '"alarm_paper": %s' "${alarm_paper:-null}"; }

alarm_tables() {
	[ -n "$alarm_paper" ] || return 0
	printf '%s\n' "$alarm_paper" | /usr/bin/python3 bench/report/alarm_table.py
}
