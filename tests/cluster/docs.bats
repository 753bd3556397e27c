#!/usr/bin/env bats
# The commands for a cluster that the documents show, on three nodes of the test cluster; batch jobs are only
# planned (--dry-run).

load cluster

setup_file() { cluster_up 3; }

setup() {
    left_out_or_go
    cd "$BATS_TEST_DIRNAME/../.."
}

commands_of() { docs/examples.sh check "$BATS_FILE_TMPDIR" "$1" "$DIR" 3>&-; }

# accepted_campaign: what the README measures, and the guide looks at
accepted_campaign() { [ -e "$BATS_FILE_TMPDIR/accepted/verdict.json" ] || commands_of README.md; }

@test "README.md" { commands_of README.md; }

@test "docs/guides/acceptance.md" {
    long_only
    accepted_campaign
    commands_of docs/guides/acceptance.md
}

@test "docs/guides/cluster.md" {
    long_only
    commands_of docs/guides/cluster.md
}
