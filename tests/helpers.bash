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

# refused_by PROGRAM TEXT OPTION...: status 2, nothing on stdout, one line on stderr that begins with the program's name and holds TEXT
refused_by() {
    local program=$1 text=$2
    shift 2
    run --separate-stderr "$program" "$@"
    echo "got status $status, '$output', '$stderr'"
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    # shellcheck disable=SC2154
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == "$program: "* ]]
    [[ "$stderr" == *"$text"* ]]
}
