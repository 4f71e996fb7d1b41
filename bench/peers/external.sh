# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# Systems of other projects, for the benchmarks that include bench/peers/systems.sh and this file, and set $build. None
# of them is a requirement of biplane: a benchmark leaves out what is not installed, and says why.
# docs/performance/peers.md has the commands that build them.

# shellcheck source=bench/peers/xdp.sh
. bench/peers/xdp.sh
# shellcheck source=bench/peers/grout.sh
. bench/peers/grout.sh
# shellcheck source=bench/peers/suricata.sh
. bench/peers/suricata.sh
# shellcheck source=bench/peers/rule_engines.sh
. bench/peers/rule_engines.sh

await_s=30

# await PID LOG COMMAND...: until COMMAND succeeds; the process must live.
await() {
	local pid=$1 log=$2 end=$((SECONDS + await_s))
	shift 2
	until "$@" >/dev/null 2>&1; do
		kill -0 "$pid" 2>/dev/null || fail "a system under test ended: $(tail -n 10 "$log")"
		[ $SECONDS -lt $end ] || fail "timeout of '$*': $(tail -n 10 "$log")"
		sleep 0.05
	done
}

# publishes_alarms BROKER [-j]: a value above the threshold comes back as an alarm from this broker.
publishes_alarms() { in_lab dev "$build/bench/alarm_latency" -p 10.99.0.2 -a "$@" -n 1; }

# why_missing SYSTEM: prints why it is not measured here; nothing if it is.
why_missing() {
	case $1 in
	xdp*) xdp_missing ;;
	grout*) grout_missing ;;
	suricata) suricata_missing ;;
	nanomq) nanomq_missing ;;
	ekuiper) ekuiper_missing ;;
	esac
}

missing=() # JSON objects of the systems that are not installed

# only_installed ARRAY: removes from this array what is not installed.
only_installed() {
	local -n wanted=$1
	local name why kept=()
	for name in "${wanted[@]}"; do
		why=$(why_missing "${name#*:}") # bench/ndr: CASE:SYSTEM
		if [ -z "$why" ]; then
			kept+=("$name")
		else
			printf '%s is not installed: %s\n' "$name" "$why" >&2
			missing+=("{\"name\": \"$name\", \"why\": \"$why\"}")
		fi
	done
	wanted=("${kept[@]}")
}

missing_json() { printf '[%s]' "$(IFS=, && printf '%s' "${missing[*]}")"; }
