# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154,SC2317
# A failed case does not end the others. Included by scripts/bench. A case runs in a subshell, so that a fatal error
# ends only this case. It is then no longer selected and has no figures, not even those of earlier rounds: the result
# reports the failure and its reason.

declare -A failed=() # failure reason by case
tried=0
why_most=500 # maximum characters of a reason

wants() { [[ " ${cases[*]} " == *" $1 "* ]] && [ -z "${failed[$1]+x}" ]; }

# try COMMAND...: runs it in a subshell and sets $tried to its exit status. It is not part of a condition: there `set
# -e` is inactive within COMMAND.
try() {
	rm -f "$work/why" "$work/ended"
	set +e
	(
		set -eE
		trap 'printf "%s: exit status %s" "$BASH_COMMAND" $? >"$work/ended"' ERR
		die() {
			printf '%s' "$*" >"$work/why"
			printf '%s: %s\n' "$tool" "$*" >&2
			exit 1
		}
		"$@"
	)
	tried=$?
	set -e
}

# fail CASE: the last try belonged to this case and failed.
fail() {
	local why="exit status $tried" file
	for file in why ended; do # the last line of its output, or the command
		[ -s "$work/$file" ] || continue
		why=$(cat "$work/$file")
		break
	done
	why=${why//"$work/"/}
	failed[$1]=${why:0:why_most}
	say "case $1 failed: ${failed[$1]}" >&2
}

# attempt CASE VARIABLE COMMAND...: runs the case if it is selected: COMMAND writes files, or sets VARIABLE ("-": none).
attempt() {
	local case=$1 variable=$2
	shift 2
	wants "$case" || return 0
	case_begin "$case"
	rm -f "$work/result"
	try attempt_command "$variable" "$@"
	if [ $tried -ne 0 ]; then
		fail "$case"
	elif [ "$variable" != - ]; then
		printf -v "$variable" '%s' "$(cat "$work/result")"
	fi
}

attempt_command() {
	local variable=$1
	shift
	"$@"
	[ "$variable" = - ] || printf '%s' "${!variable}" >"$work/result"
}

each_round() {
	for ((round = 1; round <= rounds; round++)); do
		"$@"
	done
}

# measure NAME COMMAND...: adds one figure to NAME, in million per second; or its case has failed.
measure() {
	local name=$1 case figure
	shift
	case $name in
	transform-of-*) case=transform-sources ;;
	transform-*) case=transform-methods ;;
	aggregate-one) case=aggregate-streams ;;
	*) case=$name ;;
	esac
	[ -z "${failed[$case]+x}" ] || return 0
	try "$@" >"$work/figure"
	if [ $tried -ne 0 ]; then
		fail "$case"
		rm -f "${work:?}/$name"
		return
	fi
	figure=$(cat "$work/figure")
	[ "$figure" = nan ] || printf '%s\n' "$figure" >>"$work/$name" # testpmd while other processes use the cores
	note "round $round/$rounds: $name $figure Mpps"
}

failed_json() {
	local c
	for c in "${!failed[@]}"; do
		printf '%s\0%s\0' "$c" "${failed[$c]}"
	done | /usr/bin/python3 -c 'import json, sys
said = sys.stdin.read().split("\0")[:-1]
print(json.dumps([{"case": c, "why": why} for c, why in sorted(zip(said[::2], said[1::2]))]))'
}

failed_table() {
	local c
	for c in "${!failed[@]}"; do
		printf '\nfailed: %s: %s\n' "$c" "${failed[$c]}"
	done
}
