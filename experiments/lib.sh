# Shared by the experiments: words to the user, checks of values, times and random order; and the other parts. Sourced, never run.
# A function that answers sets REPLY: what is printed and taken by $(...) costs a process.
# shellcheck shell=bash

if [ "$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))" -lt 404 ]; then
    echo "noiselab-run: bash $BASH_VERSION is too old: install bash 4.4 or later, or run it where there is one (noiselab detect and analyze need none)" >&2
    exit 2
fi

tab=$'\t'
newline=$'\n'

# Whatever reckons or sorts here does it in points and bytes, in any locale. That of the user is left as it is: agents and programs are started in it.
awk() { LC_ALL=C command awk "$@"; }
sort() { LC_ALL=C command sort "$@"; }

# die STATUS MESSAGE: one line, then out. Statuses as everywhere: 2 usage or environment, 3 inconclusive.
die() {
    note "${@:2}"
    exit "$1"
}

# note MESSAGE: without what a terminal would obey: parts of it may be what others said
note() {
    local LC_ALL=C text="$*"
    printf 'noiselab-run: %s\n' "${text//[$'\001'-$'\010'$'\013'-$'\037'$'\177']/?}" >&2
}

# first_line TEXT: sets REPLY to the first line of it that says something, for messages that are one line
first_line() {
    while IFS= read -r REPLY; do
        case $REPLY in *[![:space:]]*) return ;; esac
    done <<<"$1"
}

# said FILE: sets REPLY to that of what a program said, without the program's name
said() {
    first_line "$(<"$1")"
    REPLY=${REPLY#noiselab-[a-z]*: }
}

# quoted WORD...: sets REPLY to the words as a shell would have to read them
quoted() {
    local word quote="'" escaped="'\\''" all=''
    for word; do
        case $word in
        '' | *[!A-Za-z0-9_./:%+,@=-]*) all+=" '${word//$quote/$escaped}'" ;;
        *) all+=" $word" ;;
        esac
    done
    REPLY=${all# }
}

# did_you_mean WORD WORDS: ": did you mean ...?" where one of WORDS, on lines, is like it; else nothing
did_you_mean() {
    REPLY=$("$NOISELAB_LIBEXEC/noiselab-sh" nearest "$1" <<<"$2") && REPLY=": did you mean $REPLY?"
}

# replace_file NAME TEXT: its content is then TEXT, in one step: readers see the old file or the whole new one; fails without a trace
replace_file() {
    local new=$1.$$ status
    if [ -e "$new" ] || [ -L "$new" ]; then rm -f "$new"; fi
    # noclobber: in a folder that others can write the name may be there as a link
    set -C
    { printf '%s\n' "$2" >"$new"; } 2>/dev/null
    status=$?
    set +C
    [ "$status" = 0 ] && mv "$new" "$1" 2>/dev/null && return
    rm -f "$new"
    return 1
}

# make_scratch: sets scratch, a folder of this process that goes with it
make_scratch() {
    [ -z "${scratch-}" ] || return 0
    scratch=$(mktemp -d) || die 2 'cannot make a temporary directory'
    trap 'rm -rf "$scratch"' EXIT
}

# json_values FILE... -- PATH...: sets REPLY to the values of these paths (keys joined by dots), tab-separated, - for null. Status 70 and one line on
# stderr where a file has no such value: nothing here guesses what another program meant.
json_values() { REPLY=$("$NOISELAB_LIBEXEC/noiselab-sh" values "$@"); }

# absolute PATH: sets REPLY
absolute() {
    REPLY=$1
    [ "${1#/}" != "$1" ] || REPLY=$PWD/$1
}

# readable NAME FILE [MORE]: refuses a file that cannot be read
readable() { if [ ! -f "$2" ] || [ ! -r "$2" ]; then die 2 "$1: cannot read '$2'${3-}"; fi; }

# whole NAME VALUE: refuses what is not a whole number of at least 1
whole() {
    [[ $2 =~ ^[1-9][0-9]*$ ]] || die 2 "$1: '$2' is not a positive whole number"
}

# countable SEED: refuses a seed that cannot be counted on from launch to launch, by a shell that reads 010 as eight and stops at 2^63
countable() {
    [ "$1" = 0 ] || whole '--seed (with several launches)' "$1"
    [ "${#1}" -le 18 ] || die 2 "--seed: '$1' has more than 18 digits, too many to count on from launch to launch"
}

# is_level NAME PERCENT EXAMPLE: refuses what is no level in percent above 0
is_level() {
    [[ $2 =~ ^[0-9]*\.?[0-9]*$ && $2 == *[1-9]* ]] ||
        die 2 "$1: '$2' is not a level in percent above 0 (try $3)"
}

# is_margin MARGIN: refuses what is no margin: of one node's slowdown (1%), or of so many nodes that synchronise so often (1%:nodes=1000,every=1ms)
is_margin() {
    local percent=${1%%:*} keys='' key
    percent=${percent%\%}
    [[ $percent =~ ^[0-9]*\.?[0-9]*$ && $percent == *[1-9]* ]] ||
        die 2 "--margin: '$1' is not a margin in percent above 0 (try 1%, or 1%:nodes=1000,every=1ms)"
    [[ $1 == *:* ]] || return 0
    keys=,${1#*:}
    while [ -n "$keys" ]; do
        key=${keys##*,} keys=${keys%,*}
        [[ $key =~ ^(nodes=[1-9][0-9]{0,6}|every=[0-9]*\.?[0-9]*(ns|us|ms|s|min|h))$ && $key == *=*[1-9]* ]] ||
            die 2 "--margin: '$key' is neither nodes=N nor every=TIME (try 1%:nodes=1000,every=1ms)"
    done
    # a program has a step of its own
    [[ $1 == *[:,]nodes=* && ($1 == *[:,]every=* || -n $app_words) ]] ||
        die 2 "--margin: '$1' does not say how many nodes synchronise how often (try 1%:nodes=1000,every=1ms)"
}

# margin_of_one_node: ends where the margin is of many nodes, for experiments that do not judge that
margin_of_one_node() {
    [[ $margin != *:* ]] || die 2 "--margin: '$margin' is of many nodes, which run $experiment does not judge${ends_when:+ with --stop-when}: give one of one node (try ${margin%%:*})"
}

# is_list NAME LIST EXAMPLE: refuses empty parts; the shell drops an empty last one
is_list() {
    [[ ,$2, != *,,* ]] || die 2 "$1: '$2' has an empty part (try $3)"
}

# refuse_given REASON NAME...: ends where one of these options was given
refuse_given() {
    local name
    for name in "${@:2}"; do ! was_given "$name" || die 2 "$name$1"; done
}

# seed_and_launches LAUNCHES: what is asked for or, without, LAUNCHES and a seed from the clock; an answer about launches takes three
seed_and_launches() {
    now
    seed=${seed:-$REPLY} launches=${launches:-$1}
    whole --launches "$launches"
    countable "$seed"
    [ "$launches" -ge 3 ] || note "--launches $launches: too few for an answer, which takes 3"
}

# these_launches N: what an answer is about where launches are few
these_launches() { [ "$1" -ge 5 ] || note "--launches $1: the result holds for these launches only; for launches like these it takes five or more"; }

# now: sets REPLY, seconds since 1970
now() { printf -v REPLY '%(%s)T' -1; }

# utc FORMAT: sets REPLY to this moment
utc() { TZ=UTC0 printf -v REPLY "%($1)T" -1; }

# nanoseconds TIME: sets REPLY, a time with its unit (s without one) in ns; 0 for what is no time
declare -A unit_ns=([ns]=1 [us]=1000 [ms]=1000000 [s]=1000000000 [min]=60000000000 [h]=3600000000000)
nanoseconds() {
    REPLY=0
    [[ $1 =~ ^([0-9]*)(\.([0-9]*))?(ns|us|ms|s|min|h|)$ ]] || return 0
    local size=${unit_ns[${BASH_REMATCH[4]:-s}]} fraction=${BASH_REMATCH[3]}000000000
    fraction=$((10#${fraction:0:9}))
    # no product beyond 2^63
    if [ "$size" -ge 1000 ]; then fraction=$((fraction * (size / 1000) / 1000000)); else fraction=0; fi
    REPLY=$((10#0${BASH_REMATCH[1]} * size + fraction))
}

# is_time TEXT: with its unit
is_time() { [[ $1 =~ ^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|min|h)$ ]]; }

# decimals NUMBER SCALE: sets REPLY to NUMBER / SCALE, both whole, SCALE a power of ten
decimals() {
    local digits=$((${#2} - 1))
    printf -v REPLY '%d.%0*d' "$(($1 / $2))" "$digits" "$(($1 % $2))"
    while [ "${REPLY%0}" != "$REPLY" ]; do REPLY=${REPLY%0}; done
    REPLY=${REPLY%.}
}

# say_time SECONDS: sets REPLY, for people
say_time() {
    if [ "$1" -lt 120 ]; then
        REPLY="$1 s"
    elif [ "$1" -lt 7200 ]; then
        # to the nearest minute, halves to the even one
        REPLY="$(($1 / 60 + ($1 % 60 > 30 || ($1 % 60 == 30 && $1 / 60 % 2)))) min"
    else
        REPLY="$(($1 / 3600)) h $(($1 % 3600 / 60)) min"
    fi
}

# shuffled SEED SETS LINES: sets the array shuffled to the lines, once for each set, in an order of its own that the seed decides; the set comes first
# on the line
shuffled() {
    local state=$(($1 % 2147483646 + 1)) set i j kept
    local -a order
    mapfile -t order <<<"$3"
    shuffled=()
    # the minimal standard generator (Park, Miller 1988)
    for ((i = 0; i < 20; i++)); do state=$((state * 16807 % 2147483647)); done
    for ((set = 1; set <= $2; set++)); do
        for ((i = ${#order[@]}; i > 1; i--)); do
            state=$((state * 16807 % 2147483647))
            j=$((i * state / 2147483647))
            kept=${order[i - 1]}
            order[i - 1]=${order[j]}
            order[j]=$kept
        done
        shuffled+=("${order[@]/#/$set }")
    done
}

# powers_of_two FROM UP_TO: sets REPLY to "2,4,8" and UP_TO itself
powers_of_two() {
    local power=$1
    REPLY=''
    for (( ; power < $2; power *= 2)); do REPLY+=$power,; done
    REPLY+=$2
}

# set_progress: sets progress to terminal or lines. mpirun hides the terminal and its width from the ranks.
set_progress() {
    progress=lines
    [ -t 2 ] && [ "${TERM-dumb}" != dumb ] || return 0
    progress=terminal
    read -r _ COLUMNS < <(stty size <&2 2>/dev/null)
    export COLUMNS
}

# shellcheck source=experiments/lib-options.sh
. "$NOISELAB_LIBEXEC/lib-options.sh"
# shellcheck source=experiments/lib-launcher.sh
. "$NOISELAB_LIBEXEC/lib-launcher.sh"
# shellcheck source=experiments/lib-slurm.sh
. "$NOISELAB_LIBEXEC/lib-slurm.sh"
# shellcheck source=experiments/lib-treatments.sh
. "$NOISELAB_LIBEXEC/lib-treatments.sh"
# shellcheck source=experiments/lib-schedule.sh
. "$NOISELAB_LIBEXEC/lib-schedule.sh"
# shellcheck source=experiments/lib-claims.sh
. "$NOISELAB_LIBEXEC/lib-claims.sh"
# shellcheck source=experiments/lib-program.sh
. "$NOISELAB_LIBEXEC/lib-program.sh"
# shellcheck source=experiments/lib-run.sh
. "$NOISELAB_LIBEXEC/lib-run.sh"
# shellcheck source=experiments/lib-submit.sh
. "$NOISELAB_LIBEXEC/lib-submit.sh"
# shellcheck source=experiments/lib-main.sh
. "$NOISELAB_LIBEXEC/lib-main.sh"
