#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Completion against what the command says of itself: completion_test.sh BIPLANE
set -u
biplane=$(realpath "$1")
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

# offered WORD...: the candidates of `biplane __complete` for the last word, without the help
offered() {
	"$biplane" __complete "$@" | cut -f 1
}

# same WHAT EXPECTED GOT: two lists of lines, in any order
same() {
	local expected got
	expected=$(sort -u <<<"$2")
	got=$(sort -u <<<"$3")
	[ "$expected" = "$got" ] && [ -n "$got" ] && return
	fail "$1: expected: ${expected//$'\n'/ }; offered: ${got//$'\n'/ }"
}

commands=$("$biplane" --help | awk '/^Commands:/ {on = 1; next} /^$/ {on = 0} on' | sed 's/^ *//; s/  .*//')
[ "$(wc -l <<<"$commands")" -ge 15 ] || fail "too few commands in --help"
same commands "$(cut -d ' ' -f 1 <<<"$commands")" "$(offered "")"
same "commands with s" "$(cut -d ' ' -f 1 <<<"$commands" | grep ^s)" "$(offered s)"
same "commands of config" "$(sed -n 's/^config //p' <<<"$commands")" "$(offered config "")"
same "commands of an abbreviated group" "$(sed -n 's/^transform matrix //p' <<<"$commands")" "$(offered tran m "")"
same "words of help" "$(sed -n 's/^config //p' <<<"$commands")" "$(offered help config "")"
same "options of the program" $'--help\n--version' "$(offered -)"

while read -r command; do
	# shellcheck disable=SC2086
	options=$("$biplane" $command --help | awk '/^Options:/ {on = 1; next} /^$/ {on = 0} on' |
		grep -oE '(^ +|, )--?[A-Za-z0-9][a-z0-9-]*' | tr -d ' ,')
	# shellcheck disable=SC2086
	same "options of $command" "$options" "$(offered $command x -)"
done <<<"$commands"

views=$("$biplane" show --help | sed -n '1s/^Usage: biplane show \([^ ]*\) .*/\1/p' | tr '|' '\n')
same "objects of show" "$views" "$(offered show "")"
same "objects of show behind an option" "$(grep ^ro <<<"$views")" "$(offered show --json -c x ro)"
same shells $'bash\nzsh\nfish' "$(offered completion "")"
same "a file for -c" :files "$(offered run -c "")"
same "a file for --config" :files "$(offered show ports --config x)"
same "a file as operand" :files "$(offered replay --json x)"
[ -z "$(offered run --stats-period "")" ] || fail "something for --stats-period"
[ -z "$(offered run -c x -- --l)" ] || fail "an option of ours behind --"
[ -z "$(offered nonsense "")" ] || fail "something for a command that is unknown"
[ -z "$(offered s "")" ] || fail "something for an ambiguous command"

# An instance that runs: a process holds the lock of its file.
if [ -w /run ]; then
	name=completion-test-$$
	made=
	[ -d /run/biplane ] || { mkdir /run/biplane && made=1; }
	dir=/run/biplane
	for own in /run/biplane/data; do [ ! -d $own ] || dir=$own; done
	exec 9>"$dir/$name-dataplane.pid"
	flock 9
	echo $$ >&9
	offered show ports -i completion-te | grep -qx "$name" || fail "an instance that runs is not offered"
	# files of other kinds are not waited for and not offered
	mkfifo "$dir/$name-fifo-dataplane.pid"
	ln -s "$name-dataplane.pid" "$dir/$name-link-dataplane.pid"
	ln "$dir/$name-dataplane.pid" "$dir/$name-"$'\e[2J'"-dataplane.pid"
	same "what only looks like an instance" "$name" "$(timeout 20 "$biplane" __complete status -i completion-te | cut -f 1)"
	rm -f "$dir/$name"-*
	exec 9>"$dir/$name-dataplane.pid"
	flock 9
	echo $$ >&9
	exec 9>&-
	! offered status -i completion-te | grep -qx "$name" || fail "an instance that does not run is offered"
	rm -f "$dir/$name-dataplane.pid"
	[ -z "$made" ] || rmdir /run/biplane 2>/dev/null
fi

# The scripts of the shells, in the shells that are here.
complete_words() {
	COMP_WORDS=("$biplane" "$@")
	COMP_CWORD=$#
	_biplane
	printf '%s\n' "${COMPREPLY[@]}"
}
eval "$("$biplane" completion bash)"
same "bash: commands with s" "$(offered s)" "$(complete_words s)"
dir=$(mktemp -d)
touch "$dir/one.yaml" "$dir/two words.yaml"
same "bash: files of -c" "$dir/one.yaml"$'\n'"$dir/two words.yaml" "$(complete_words run -c "$dir/")"
rm -rf "$dir"
for shell in zsh fish; do
	! command -v $shell >/dev/null || "$biplane" completion $shell | $shell -n || fail "$shell: syntax"
done
[ $failed -ne 0 ] || echo "ok"
exit $failed
