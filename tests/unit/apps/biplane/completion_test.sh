#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bash completion against what the command says of itself: completion_test.sh BIPLANE completion.bash
set -u
biplane=$(realpath "$1")
. "$2"
failed=0

# complete_words WORD...: what is offered for the last of them, a line each
complete_words() {
	COMP_WORDS=("$biplane" "$@")
	COMP_CWORD=$#
	_biplane
	printf '%s\n' "${COMPREPLY[@]}"
}

# same WHAT EXPECTED GOT: two lists of lines, in any order
same() {
	local expected got
	expected=$(sort -u <<<"$2")
	got=$(sort -u <<<"$3")
	[ "$expected" = "$got" ] && [ -n "$got" ] && return
	echo "FAIL: $1: expected: ${expected//$'\n'/ }; offered: ${got//$'\n'/ }"
	failed=1
}

subcommands=$("$biplane" --help | awk '/^Subcommands:/ {on = 1; next} /^$/ {on = 0} on {print $1}')
[ "$(wc -l <<<"$subcommands")" -ge 10 ] || { echo "FAIL: too few subcommands in --help"; failed=1; }
same subcommands "$subcommands" "$(complete_words "" | grep -v ^-)"
same "subcommands with s" "$(grep ^s <<<"$subcommands")" "$(complete_words s)"

for sub in $subcommands; do
	options=$("$biplane" "$sub" --help | awk '/^Options:/ {on = 1; next} /^$/ {on = 0} on' |
		grep -oE '(^ +|, )--?[A-Za-z0-9][a-z0-9-]*' | tr -d ' ,')
	same "options of $sub" "$options" "$(complete_words "$sub" x -)"
done

views=$("$biplane" show --help | sed -n '1s/^Usage: biplane show \([^ ]*\) .*/\1/p' | tr '|' '\n')
same "views of show" "$views" "$(complete_words show "")"
same "verbs of matrix" $'set\nclear\nshow' "$(complete_words matrix "")"
same "verbs of sessions" release "$(complete_words sessions "")"

dir=$(mktemp -d)
touch "$dir/one.yaml" "$dir/two.yaml"
same "file of -c" "$dir/one.yaml" "$(complete_words run -c "$dir/o")"
same "file of --config" "$dir/two.yaml" "$(complete_words show ports --config "$dir/t")"
# an option with no argument is followed by anything, one with a number by nothing that is known
same "file behind --json" "$dir/one.yaml" "$(complete_words show ports --json "$dir/o")"
[ -z "$(complete_words run --stats-period "$dir/")" ] || { echo "FAIL: a file for --stats-period"; failed=1; }
[ -z "$(complete_words run -c x -- --l)" ] || { echo "FAIL: an option of ours behind --"; failed=1; }
rm -rf "$dir"
[ $failed -ne 0 ] || echo "ok"
exit $failed
