#!/bin/sh
# completion.sh bash|zsh|fish WORDS.TSV: completion of noiselab for that shell, on stdout, made of the table of all words (see words.sh).
set -eu
shell=$1 words=$2

# which words an option's value is taken from; an option whose value is written a|b|c names them itself
types='--op operation
--design design
--starts start
--arrival arrival
--datatype datatype
--reduce reduction
--kind kind
--pattern pattern
--preset preset
--checks check
--channel channel'

# lines "program<TAB>option<TAB>kind<TAB>values<TAB>help": kind: none (takes no value), words (values are known), file, any
options=$(awk -F '\t' -v OFS='\t' -v types="$types" '
    BEGIN { n = split(types, t, "\n"); for (i = 1; i <= n; i++) { split(t[i], part, " "); type_of[part[1]] = part[2] } }
    $2 != "option" && $2 != "group" && !(($2, $3) in seen) { seen[$2, $3] = 1; of[$2] = of[$2] (of[$2] == "" ? "" : " ") $3 }
    $2 == "option" { row[++n_rows] = $0 }
    END {
        for (i = 1; i <= n_rows; i++) {
            split(row[i], f, "\t")
            values = ""
            sub(/\[:NAME=.*/, "", f[4])
            if (f[4] == "-") kind = "none"
            else if (f[3] in type_of && of[type_of[f[3]]] != "") { kind = "words"; values = of[type_of[f[3]]] }
            else if (f[4] ~ /^[a-z0-9-]+(\|[A-Za-z0-9-]+)+$/) { kind = "words"; values = f[4]; gsub(/\|/, " ", values) }
            else if (f[4] ~ /^(FILE|DIR|PATH|TRACE|CAMPAIGN)$/ || f[3] == "--out" || f[3] == "--resume" || f[3] == "--finish") kind = "file"
            else kind = "any"
            print f[1], f[3], kind, (values == "" ? "-" : values), f[5]
        }
    }' "$words")
[ -n "$options" ] || { echo "completion.sh: there is no option in '$words'" >&2; exit 2; }

# of TYPE: all words of that type, on one line
of() { awk -F '\t' -v type="$1" '$2 == type && !seen[$3]++ { out = out (out == "" ? "" : " ") $3 } END { print out }' "$words"; }

commands=$(of command) experiments=$(of experiment) analyses=$(of analysis) plots=$(of plot)
# what help explains, without the options, and without words of two parts
explained=$(awk -F '\t' '$2 != "option" && $3 != "-" && $3 !~ / / && !seen[$3]++ { out = out (out == "" ? "" : " ") $3 } END { print out }' "$words")
programs=$(printf '%s\n' "$options" | cut -f 1 | grep -v ' ' | sort -u)

# cases: a line of a case for each program with its options, and one for each option with known values, for a shell of Bourne's kind
cases() {
    printf '%s\n' "$options" | awk -F '\t' '
        { all[$1] = all[$1] (all[$1] == "" ? "" : " ") $2 }
        $3 == "words" { print "    \047" $1 " " $2 "\047) REPLY=\047" $4 "\047 ;;" }
        $3 == "file" { print "    \047" $1 " " $2 "\047) REPLY=/ ;;" }
        $3 == "any" { print "    \047" $1 " " $2 "\047) REPLY=- ;;" }
        END { for (p in all) print "    \047" p "\047) REPLY=\047" all[p] "\047 ;;" }' | sort
}

bourne() {
    cat <<EOT
# _noiselab_known PROGRAM [OPTION]: sets REPLY to the program's options, or to the values of its option: words, / for files, - for what cannot be
# known; empty for an option without value
_noiselab_known() {
    case "\$*" in
$(cases)
    *) REPLY='' ;;
    esac
}

# _noiselab_operands PROGRAM: what may stand beside options; / for files
_noiselab_operands() {
    case "\$1" in
    noiselab) REPLY='$commands help' ;;
    noiselab-run) REPLY='$experiments' ;;
    'noiselab help') REPLY='$explained' ;;
    noiselab-analyze) REPLY='/ $analyses' ;;
    noiselab-plot) REPLY='/ $plots' ;;
    noiselab-report | noiselab-compare | noiselab-node-health) REPLY=/ ;;
    *) REPLY='' ;;
    esac
}

EOT
}

case $shell in
bash)
    echo '# bash completion for noiselab; made by make, from the tables of the programs'
    bourne
    cat <<'EOT'
_noiselab() {
    local REPLY program=${COMP_WORDS[0]##*/} first=1 at=$COMP_CWORD current=${COMP_WORDS[COMP_CWORD]} option='' list
    if [ "$program" = noiselab ] && [ "$at" -gt 1 ]; then
        program=noiselab-${COMP_WORDS[1]} first=2
        [ "$program" != noiselab-help ] || program='noiselab help'
    fi
    if [ "$program" = noiselab-run ] && [ "$at" -gt "$first" ]; then program="noiselab-run ${COMP_WORDS[first]}"; fi
    # --option=value comes in three words
    if [ "$current" = = ]; then
        option=${COMP_WORDS[at - 1]} current=''
    elif [ "$at" -gt 1 ] && [ "${COMP_WORDS[at - 1]}" = = ]; then
        option=${COMP_WORDS[at - 2]}
    elif [ "$at" -gt 0 ]; then
        option=${COMP_WORDS[at - 1]}
    fi
    COMPREPLY=()
    case $option in
    --*)
        _noiselab_known "$program" "$option"
        list=$REPLY
        case $list in
        '') ;;
        -) return ;;
        /)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        *)
            # the last part of a list
            case $current in
            *,*) mapfile -t COMPREPLY < <(compgen -P "${current%,*}," -W "$list" -- "${current##*,}") ;;
            *) mapfile -t COMPREPLY < <(compgen -W "$list" -- "$current") ;;
            esac
            return
            ;;
        esac
        ;;
    esac
    if [[ $current == -* ]]; then
        _noiselab_known "$program"
        mapfile -t COMPREPLY < <(compgen -W "$REPLY --help" -- "$current")
        return
    fi
    _noiselab_operands "$program"
    case $REPLY in
    /*)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -W "${REPLY#/}" -- "$current" && compgen -d -- "$current" || compgen -d -- "$current")
        ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$current") ;;
    esac
}
EOT
    # shellcheck disable=SC2086 # names of programs
    echo "complete -F _noiselab noiselab noiselab-run "$programs
    ;;
zsh)
    # shellcheck disable=SC2086
    echo "#compdef noiselab noiselab-run "$programs
    echo '# zsh completion for noiselab; made by make, from the tables of the programs'
    bourne
    cat <<'EOT'
_noiselab() {
    local REPLY program=${words[1]:t} first=2 current=${words[CURRENT]} option=''
    if [[ $program == noiselab && $CURRENT -gt 2 ]]; then
        program=noiselab-${words[2]} first=3
        [[ $program != noiselab-help ]] || program='noiselab help'
    fi
    if [[ $program == noiselab-run && $CURRENT -gt $first ]]; then program="noiselab-run ${words[first]}"; fi
    option=${words[CURRENT-1]}
    if [[ $current == --*=* ]]; then
        option=${current%%=*}
        compset -P '*='
    fi
    if [[ $option == --* ]]; then
        _noiselab_known $program $option
        case $REPLY in
        '') ;;
        -) return 1 ;;
        /) _files && return ;;
        *)
            compset -P '*,'
            compadd -- ${(s: :)REPLY}
            return
            ;;
        esac
    fi
    if [[ $current == -* ]]; then
        _noiselab_known $program
        compadd -- ${(s: :)REPLY} --help
        return
    fi
    _noiselab_operands $program
    if [[ $REPLY == /* ]]; then
        _files
        REPLY=${REPLY#/}
    fi
    [[ -z $REPLY ]] || compadd -- ${(s: :)REPLY}
}
_noiselab "$@"
EOT
    ;;
fish)
    echo '# fish completion for noiselab; made by make, from the tables of the programs'
    cat <<EOT
function __noiselab_is --description 'whether the words so far begin with these'
    set -l typed (commandline -opc)[2..-1]
    set -l n (count \$argv)
    test (count \$typed) -ge \$n; or return 1
    test "\$typed[1..\$n]" = "\$argv"
end
function __noiselab_has --description 'whether so many words stand before the one that is typed'
    test (count (commandline -opc)) -eq \$argv[1]
end
complete -c noiselab -f -n '__noiselab_has 1' -a '$commands help'
complete -c noiselab -f -n '__noiselab_is run; and __noiselab_has 2' -a '$experiments'
complete -c noiselab -f -n '__noiselab_is help' -a '$explained'
complete -c noiselab-run -f -n '__noiselab_has 1' -a '$experiments'
complete -c noiselab -n '__noiselab_is analyze' -a '$analyses'
complete -c noiselab-analyze -a '$analyses'
complete -c noiselab -n '__noiselab_is plot' -a '$plots'
complete -c noiselab-plot -a '$plots'
EOT
    printf '%s\n' "$options" | awk -F '\t' '
        {
            name = substr($2, 3)
            gsub(/\047/, "\\\\&", $5)
            takes = $3 == "none" ? "" : $3 == "file" ? " -r" : $3 == "words" ? " -x -a \047" $4 "\047" : " -x"
            rest = " -l " name takes " -d \047" $5 "\047"
            n = split($1, part, " ")
            if (n == 1) {
                print "complete -c " $1 rest
                sub(/^noiselab-/, "", part[1])
                print "complete -c noiselab -n \047__noiselab_is " part[1] "\047" rest
            } else {
                print "complete -c noiselab-run -n \047__noiselab_is " part[2] "\047" rest
                print "complete -c noiselab -n \047__noiselab_is run " part[2] "\047" rest
            }
        }'
    ;;
*)
    echo "completion.sh: '$shell' is not bash, zsh or fish" >&2
    exit 2
    ;;
esac
