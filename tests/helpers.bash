# What all tests written for bats share.
# shellcheck shell=bash

# ends_with_2 FILE COMMAND...: the command ends with status 2; FILE, which has what it said, is shown
ends_with_2() {
    local file=$1 status=0
    shift
    "$@" || status=$?
    cat "$file"
    [ "$status" -eq 2 ]
}

# wait_until SECONDS COMMAND...: until it succeeds
wait_until() {
    local until=$((SECONDS + $1))
    shift
    while ! "$@"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.1
    done
}

# has_rows: whether the launch into $OUT has some already
has_rows() { [ "$(cat "$OUT"/*/halves.csv 2>/dev/null | wc -l)" -gt 20 ]; }
