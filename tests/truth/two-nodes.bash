# For tests on two nodes, which are network namespaces of this machine: they are up for the whole file, and
# have their files in $WORK.

TESTS="$BATS_TEST_DIRNAME/.."
source "$TESTS/two-nodes.sh"

setup_file() {
    export WORK="$BATS_FILE_TMPDIR"
    two_nodes_or_leave_out "$(basename "$BATS_TEST_FILENAME" .bats)" "$WORK"
}

teardown_file() { two_nodes_remove "$WORK"; }
