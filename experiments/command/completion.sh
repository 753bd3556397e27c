#!/bin/sh
# completion.sh bash|zsh WORDS.TSV: completion of noiselab for that shell, on stdout, made of the table of all
# words (see words.sh).
set -eu
shell=$1 words=$2

# cases: a line of a case for each program with its options, and one for each option that takes a value: the
# words that are known (those of a table, or of a value written a|b|c), / for files, - for what cannot be
# known
cases=$(awk -F '\t' \
    -v types='--op operation --design design --starts start --arrival arrival --datatype datatype
    --reduce reduction --kind kind --pattern pattern
    --preset preset --checks check --channel channel' '
    BEGIN { n = split(types, t, "[ \n]+"); for (i = 1; i < n; i += 2) type_of[t[i]] = t[i + 1] }
    $2 == "option" { row[++n_rows] = $0; all[$1] = all[$1] (all[$1] == "" ? "" : " ") $3; next }
    $2 != "group" && !(($2, $3) in seen) { seen[$2, $3] = 1; of[$2] = of[$2] (of[$2] == "" ? "" : " ") $3 }
    END {
        for (p in all) print "    \047" p "\047) REPLY=\047" all[p] "\047 ;;"
        for (i = 1; i <= n_rows; i++) {
            split(row[i], f, "\t")
            sub(/\[:NAME=.*/, "", f[4])
            values = "-"
            if (f[3] in type_of && of[type_of[f[3]]] != "") values = of[type_of[f[3]]]
            else if (f[4] ~ /^[a-z0-9-]+(\|[A-Za-z0-9-]+)+$/) { values = f[4]; gsub(/\|/, " ", values) }
            else if (f[4] ~ /^(FILE|DIR|PATH|TRACE|CAMPAIGN)$/ || f[3] ~ /^--(out|resume|finish)$/)
                values = "/"
            if (f[4] != "-") print "    \047" f[1] " " f[3] "\047) REPLY=\047" values "\047 ;;"
        }
    }' "$words" | sort)
[ -n "$cases" ] || { echo "completion.sh: there is no option in '$words'" >&2; exit 2; }

# of TYPE: all words of that type, on one line
of() {
    awk -F '\t' -v type="$1" \
        '$2 == type && !seen[$3]++ { out = out (out == "" ? "" : " ") $3 } END { print out }' "$words"
}

commands=$(of command) experiments=$(of experiment) analyses=$(of analysis) plots=$(of plot)
# what help explains, without the options, and without words of two parts
explained=$(awk -F '\t' \
    '$2 != "option" && $3 != "-" && $3 !~ / / && !seen[$3]++ { out = out (out == "" ? "" : " ") $3 } END {
    print out }' "$words")
programs=$(awk -F '\t' '$2 == "option" && $1 !~ / / { print $1 }' "$words" | sort -u | paste -sd ' ' -)

bourne() {
    cat <<EOT
# _noiselab_known PROGRAM [OPTION]: sets REPLY to the program's options, or to the values of its option:
# words, / for files, - for what cannot be known; empty for an option without value
_noiselab_known() {
    case "\$*" in
$cases
    *) REPLY='' ;;
    esac
}

# _noiselab_operands PROGRAM: what may stand beside options; / for files
_noiselab_operands() {
    case "\$1" in
    noiselab) REPLY='$commands help' ;;
    noiselab-run) REPLY='$experiments' ;;
    noiselab-doctor) REPLY=settings ;;
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
    local REPLY program=${COMP_WORDS[0]##*/} first=1 at=$COMP_CWORD current=${COMP_WORDS[COMP_CWORD]}
    local option='' list
    if [ "$program" = noiselab ] && [ "$at" -gt 1 ]; then
        program=noiselab-${COMP_WORDS[1]} first=2
        [ "$program" != noiselab-help ] || program='noiselab help'
    fi
    if [ "$program" = noiselab-run ] && [ "$at" -gt "$first" ]; then
        program="noiselab-run ${COMP_WORDS[first]}"
    fi
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
        mapfile -t COMPREPLY < <(compgen -W "${REPLY#/}" -- "$current" && compgen -d -- "$current" ||
            compgen -d -- "$current")
        ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$current") ;;
    esac
}
EOT
    echo "complete -F _noiselab noiselab noiselab-run $programs"
    ;;
zsh)
    echo "#compdef noiselab noiselab-run $programs"
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
*)
    echo "completion.sh: '$shell' is not bash or zsh" >&2
    exit 2
    ;;
esac
