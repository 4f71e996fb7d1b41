# SPDX-License-Identifier: BSD-3-Clause
# bash completion for biplane. It asks `biplane --help` and `biplane SUBCOMMAND --help`, so that it
# knows what the installed command knows.

_biplane_help() {
	"${COMP_WORDS[0]}" "$@" --help 2>/dev/null
}

# The first words of the list of subcommands.
_biplane_subcommands() {
	_biplane_help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'
}

# The options of a subcommand, long and short.
_biplane_options() {
	_biplane_help "$1" | sed -n '/^Options:/,/^$/p' | grep -oE '^ +(-[A-Za-z0-9], )?--[a-z][a-z0-9-]*' | tr -d ' ' | tr , '\n'
}

# What an option's argument is called; nothing where it takes none.
_biplane_argument() {
	_biplane_help "$1" | sed -n '/^Options:/,/^$/p' | awk -v option="$2" '{
		for (i = 1; $i ~ /^-/; i++) {
			sub(/,$/, "", $i)
			found = found || $i == option
		}
		if (found) {
			if ($i ~ /^[A-Z][A-Z=-]*$/)
				print $i
			exit
		}
	}'
}

# The words that may follow a subcommand: "show ports|nodes|...", "matrix set SOURCE | clear SOURCE".
_biplane_words() {
	_biplane_help "$1" | sed -n "1s/^Usage: biplane $1 //p" | tr '|' '\n' | grep -oE '^ *[a-z][a-z]+' | tr -d ' '
}

# Instances that run, by what their planes hold.
_biplane_instances() {
	local f
	for f in /run/biplane/*.sock /run/biplane/control/*.sock; do
		[ ! -S "$f" ] || basename "$f" .sock
	done
}

_biplane() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} sub=${COMP_WORDS[1]} i
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_biplane_subcommands) --help --version" -- "$word")
		return
	fi
	# behind -- is EAL's
	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" != -- ] || return
	done
	case $before in
	-*)
		case $(_biplane_argument "$sub" "$before") in
		'') ;;
		FILE | DIR | *=FILE)
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			compopt -o filenames 2>/dev/null
			return
			;;
		NAME)
			mapfile -t COMPREPLY < <(compgen -W "$(_biplane_instances)" -- "$word")
			return
			;;
		*) return ;;
		esac
		;;
	esac
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_biplane_options "$sub")" -- "$word") ;;
	*)
		if [ "$COMP_CWORD" -eq 2 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_biplane_words "$sub")" -- "$word")
		fi
		if [ ${#COMPREPLY[@]} -eq 0 ]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			compopt -o filenames 2>/dev/null
		fi
		;;
	esac
}

complete -F _biplane biplane
