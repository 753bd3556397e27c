# Shared by the experiments: words to the user, checks of values, times and random order; and the other parts. Sourced, never run.
# shellcheck shell=sh

tab='	'
newline='
'

# Whatever reckons or sorts here does it in points and bytes, in any locale. That of the user is left as it is: agents and programs are started in it.
awk() { LC_ALL=C command awk "$@"; }
sort() { LC_ALL=C command sort "$@"; }

# die STATUS MESSAGE: one line, then out. Statuses as everywhere: 2 usage or environment, 3 inconclusive.
die() {
    status=$1
    shift
    note "$@"
    exit "$status"
}

# note MESSAGE: without what a terminal would obey: parts of it may be what others said
note() { printf 'noiselab-run: %s\n' "$*" | tr '\001-\010\013-\037\177' '[?*]' >&2; }

# first_line: the first line of stdin that says something, for messages that are one line
first_line() { sed -n '/[^[:space:]]/{p;q;}'; }

# quoted WORD: as a shell would have to read it
quoted() {
    case $1 in
    '' | *[!A-Za-z0-9_./:%+,@=-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

# did_you_mean WORD WORDS: ": did you mean ...?" where one of WORDS, on lines, is like it; else nothing
did_you_mean() {
    meant=$(printf '%s\n' "$2" | "$NOISELAB_LIBEXEC/noiselab-sh" nearest "$1") || return 0
    printf ': did you mean %s?' "$meant"
}

# replace_file NAME: its content is stdin, in one step: readers see the old file or the whole new one; fails without a trace
replace_file() {
    # noclobber: in a folder that others can write the name may be there as a link
    rm -f "$1.$$"
    if ! { (set -C && cat >"$1.$$") && mv "$1.$$" "$1"; } 2>/dev/null; then
        rm -f "$1.$$"
        return 1
    fi
}

# make_scratch: sets scratch, a folder of this process that goes with it
make_scratch() {
    [ -z "${scratch-}" ] || return 0
    scratch=$(mktemp -d) || die 2 'cannot make a temporary directory'
    trap 'rm -rf "$scratch"' EXIT
}

# json_values FILE... -- PATH...: the values of these paths (keys joined by dots), tab-separated, - for null; - is stdin. Ends with 70 and one line on
# stderr where a file has no such value: nothing here guesses what another program meant.
json_values() { "$NOISELAB_LIBEXEC/noiselab-sh" values "$@"; }

# whole NAME VALUE: refuses what is not a whole number of at least 1
whole() {
    case $2 in
    '' | *[!0-9]* | 0*) die 2 "$1: '$2' is not a positive whole number" ;;
    esac
}

# countable SEED: refuses a seed that cannot be counted on from launch to launch, by a shell that reads 010 as eight and stops at 2^63
countable() {
    [ "$1" = 0 ] || whole '--seed (with several launches)' "$1"
    [ "${#1}" -le 18 ] || die 2 "--seed: '$1' has more than 18 digits, too many to count on from launch to launch"
}

# is_list NAME LIST EXAMPLE: refuses empty parts; the shell drops an empty last one
is_list() {
    case $2 in
    '' | ,* | *, | *,,*) die 2 "$1: '$2' has an empty part (try $3)" ;;
    esac
}

# words LIST: a comma-separated list as words
words() { printf '%s' "$1" | tr ',' ' '; }

# at_least_three: what an answer about launches takes
at_least_three() { [ "$1" -ge 3 ] || note "--launches $1: too few for an answer, which takes 3"; }

# these_launches N: what an answer is about where launches are few
these_launches() { [ "$1" -ge 5 ] || note "--launches $1: the result holds for these launches only; for launches like these it takes five or more"; }

# nanoseconds TIME: a time with its unit (s without one) in ns
nanoseconds() {
    printf '%s\n' "$1" | awk '
        { number = $0; sub(/[a-z]+$/, "", number); unit = substr($0, length(number) + 1) }
        END {
            size["ns"] = 1; size["us"] = 1e3; size["ms"] = 1e6; size[""] = size["s"] = 1e9; size["min"] = 6e10; size["h"] = 3.6e12
            printf "%.0f\n", number * size[unit]
        }'
}

# say_time SECONDS: for people
say_time() {
    awk -v s="$1" 'BEGIN {
        if (s < 120) printf "%.0f s\n", s
        else if (s < 7200) printf "%.0f min\n", s / 60
        else printf "%d h %d min\n", s / 3600, s % 3600 / 60
    }'
}

# shuffled SEED SETS: the lines of stdin, once for each set, in an order of its own that the seed decides; the set comes first on the line
shuffled() {
    awk -v state="$(($1 % 2147483646 + 1))" -v sets="$2" '
        # the minimal standard generator (Park, Miller 1988): whole numbers that every awk has exactly
        function draw(n) {
            state = state * 16807 % 2147483647
            return int(n * state / 2147483647)
        }
        { line[NR] = $0 }
        END {
            for (i = 0; i < 20; i++) draw(1)
            for (set = 1; set <= sets; set++) {
                for (i = NR; i > 1; i--) {
                    j = 1 + draw(i)
                    kept = line[i]
                    line[i] = line[j]
                    line[j] = kept
                }
                for (i = 1; i <= NR; i++) print set, line[i]
            }
        }'
}

# powers_of_two FROM UP_TO: "2,4,8" and UP_TO itself
powers_of_two() {
    power=$1 powers=''
    while [ "$power" -lt "$2" ]; do
        powers=$powers$power,
        power=$((power * 2))
    done
    echo "$powers$2"
}

# set_progress: sets progress to terminal or lines. mpirun hides the terminal and its width from the ranks.
set_progress() {
    progress=lines
    [ -t 2 ] && [ "${TERM-dumb}" != dumb ] || return 0
    progress=terminal
    COLUMNS=$(stty size <&2 2>/dev/null | cut -d ' ' -f 2)
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
