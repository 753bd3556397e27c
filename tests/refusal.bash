# What is refused, in tests of the command line and on the cluster.
# shellcheck shell=bash

# ends_with_2 FILE COMMAND...: the command ends with status 2; FILE, which has what it said, is shown
ends_with_2() {
    local file=$1 status=0
    shift
    "$@" || status=$?
    cat "$file"
    [ "$status" -eq 2 ]
}
