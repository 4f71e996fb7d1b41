# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Progress of scripts/bench: the current case and an estimate of the remaining time. The estimate uses the duration of
# each case on two idle cores, scaled by the time of the cases so far.

progress_start=900   # milliseconds: start and stop of biplane-bench
progress_testpmd=300 # the same for dpdk-testpmd, in addition to its two seconds of warm-up
progress_enough=15000 # measured time before the speed of this machine is estimated
progress_cases=0 progress_at=0
progress_all=0 progress_done=0 progress_now=0
progress_began=

# runs N PARTS: N runs of biplane-bench, each for that fraction of --seconds.
runs() { echo $(($1 * (milliseconds / $2 + progress_start))); }

testpmd_takes() { echo $((milliseconds + 2000 + progress_testpmd)); }

# takes CASE: milliseconds of one round.
takes() {
	case $1 in
	text) echo $((2 * $(testpmd_takes) + $(runs 1 1))) ;;
	json | route4 | route6 | phd | aggregate | transform | lcl) echo $(($(testpmd_takes) + $(runs 1 1))) ;;
	million | route4-million) echo $(($(runs 1 1) + 4000)) ;;
	phd-million) echo $(($(runs 1 1) + 2000)) ;;
	transform-methods) runs ${#transform_methods[@]} 1 ;;
	transform-sources) runs ${#transform_sources[@]} 1 ;;
	lookup) echo $((15000 / rounds + 1000)) ;;
	figure6) runs $((2 * ${#message_rates[@]})) 1 ;;
	publish) echo $(((publish_seconds * 1000 + 4000) / rounds)) ;;
	latency) echo $((latency_rounds * 120000 / rounds)) ;; # seven to ten systems with and without CPU sleep
	monitoring) echo $((monitoring_rounds * 30000 / rounds)) ;; # two gateways and four captures
	fleet) echo 75000 ;; # two gateways, and the load of their engines
	hostile) echo $((15000 / rounds)) ;;
	sync) echo $(((sync_seconds * 1000 + sync_pings * 60 + 36000) / rounds)) ;;
	phd-sizes) runs $((4 * ${#apdu_sizes[@]})) 3 ;;
	phd-figure6) runs $((4 * ${#message_rates[@]})) 1 ;;
	phd-associations) echo $((milliseconds + 4000)) ;;
	aggregate-figure9)
		echo $((${#group_sizes[@]} * (2 * progress_start + (${#gateway_rates[@]} + ${#socket_rates[@]}) * milliseconds * 12 / 100)))
		;;
	transform-times) echo $(($(runs ${#transform_methods[@]} 3) + 500)) ;;
	transform-figure6)
		echo $((${#transform_methods[@]} * (progress_start + ${#transform_rates[@]} * milliseconds * 12 / 100) +
			${#transform_socket_rates[@]} * milliseconds * 24 / 100))
		;;
	transform-sockets) runs 6 3 ;;
	aggregate-streams) runs 2 1 ;;
	policy) runs 4 1 ;;
	bridge-before) runs 6 6 ;;
	lcl-hops) echo $(((2 + ${#lcl_hops[@]} * (1 + ${#lcl_turns[@]})) * (milliseconds + 1000) / rounds)) ;;
	alarm-paper) echo $(((15000 + alarm_count * (45 + 5 * ${#alarm_percents[@]})) / rounds)) ;;
	mix) runs 8 $mix_part ;;
	nodes) runs ${#nodes_cases[@]} $mix_part ;;
	growth) growth_takes ;;
	aggregate-models) echo $((7 * models_packets / rounds)) ;;
	lcl-paper) echo $((3 * models_frames / 2 / rounds)) ;;
	transform-accuracy) echo $((models_readings / 5 / rounds)) ;;
	peers)
		echo $((${#peers_deciders[@]} * ((2 + ${#peers_rates[@]}) * (milliseconds / peers_part + 300) + 3000) +
			${#peers_ways[@]} * (2 * milliseconds / peers_part + 2000) + 4000))
		;;
	ndr) echo $(($(ndr_takes) / rounds)) ;;
	*) runs 1 1 ;;
	esac
}

growth_takes() {
	local s steps n=0
	for s in "${growth_series[@]}"; do
		read -ra steps <<<"${growth_steps[$s]}"
		n=$((n + 2 * (${#steps[@]} - 1)))
	done
	echo $(($(runs $n $growth_part) + 10000)) # creating a million entries takes time
}

progress_ms() { echo $(($(date +%s%N) / 1000000)); }

progress_begin() {
	local c
	for c in "${cases[@]}"; do
		progress_cases=$((progress_cases + 1))
		progress_all=$((progress_all + rounds * $(takes "$c")))
	done
	progress_began=$(progress_ms)
}

progress_left() {
	local left=$((progress_all - progress_done))
	if [ $progress_done -gt $progress_enough ]; then
		left=$((left * (($(progress_ms) - progress_began) / 100) / (progress_done / 100)))
	fi
	if [ $left -lt 90000 ]; then
		echo "about $(((left + 9999) / 10000))0 s left"
	else
		echo "about $(((left + 30000) / 60000)) min left"
	fi
}

# now_at WHAT MILLISECONDS: it starts, and the previous one has ended.
now_at() {
	progress_done=$((progress_done + progress_now))
	progress_now=$2
	note "$1; $(progress_left)"
}

# case_begin CASE
case_begin() {
	progress_at=$((progress_at + 1))
	now_at "case $progress_at of $progress_cases: $1" $((rounds * $(takes "$1")))
}

# round_begin CASE...: round $round of these cases, which are measured in turn.
round_begin() {
	local c ms=0
	for c; do
		ms=$((ms + $(takes "$c")))
	done
	progress_at=$#
	now_at "cases 1 to $# of $progress_cases, round $round of $rounds" $ms
}
