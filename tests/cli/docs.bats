#!/usr/bin/env bats
# The commands that the documents show, in short: they end with the status that the document names, and say
# what it shows. Lists and help texts of the reference are those of the programs. They share a folder, as they
# do when `make docs-examples` refreshes them.

load ../helpers

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    # the documents' commands are for the mpirun in PATH, with two CPUs
    if [ -n "${NOISELAB_MPIRUN-}" ]; then
        leave_out 'the documents show mpirun, and NOISELAB_MPIRUN names another'
    fi
}

setup() { left_out_or_go; }

# commands_of DOCUMENT: all but those for a cluster (tests/cluster/docs.bats)
commands_of() {
    cd "$BATS_TEST_DIRNAME/../.."
    docs/examples.sh check "$BATS_FILE_TMPDIR" "$1"
}

# first_campaign: what the README measures, and others look at
first_campaign() { [ -e "$BATS_FILE_TMPDIR/first/schedule.tsv" ] || commands_of README.md; }

# bats test_tags=quick
@test "every block of commands in the documents has a marker, by which it is run" {
    cd "$BATS_TEST_DIRNAME/../.."
    run -0 docs/examples.sh unmarked
    [ -z "$output" ]
}

# bats test_tags=quick
@test "lists in documents have the names that the programs list" {
    local document name block words old=''
    at_home
    cd "$BATS_TEST_DIRNAME/../.."
    for document in docs/guides/*.md docs/reference/*.md; do
        for name in $(sed -n 's/^<!-- example: \(list-[a-z]*\).*/\1/p' "$document"); do
            block=$(sed -n "/^<!-- example: $name[ -]/,/^\`\`\`\$/p" "$document" | sed '1,2d; $d')
            words=$(head -n 1 <<<"$block")
            # shellcheck disable=SC2086 # words of a command
            diff <(sed 1d <<<"$block" | awk '{ print $1 }') <(${words#\$ } | awk '{ print $1 }') ||
                old="$old make docs-examples ONLY=$name ($document);"
        done
    done
    [ -z "$old" ] || { echo "other than the program's:$old" && false; }
}

@test "a command that fails, or says other things than the document shows, is found" {
    mkdir "$BATS_TEST_TMPDIR/docs"
    cp -r "$BATS_TEST_DIRNAME/../../docs/sample" "$BATS_TEST_DIRNAME"/../../docs/examples.* \
        "$BATS_TEST_TMPDIR/docs/"
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' '<!-- example: one -->' '```console' '$ echo seven brown foxes jump over 12 dogs' \
        'seven brown foxes jump over 99 dogs' '```' >good.md
    sed 's/^seven.*/quite another sentence stood here/' good.md >other.md
    sed 's/echo/false/' good.md >fails.md
    sed 's/one -->/one exact -->/' good.md >exact.md
    mkdir folder
    docs/examples.sh check folder good.md
    for document in other fails exact; do
        run docs/examples.sh check folder "$document.md"
        [ "$status" -eq 1 ]
    done
}

# after_first DOCUMENT [PROGRAM...]: of one that looks at what the README measures; in the long tests
after_first() {
    long_only
    needs /usr/sbin/collectd "${@:2}"
    needs_cpus 2
    first_campaign
    commands_of "$1"
}

@test "README.md" {
    needs /usr/sbin/collectd
    needs_cpus 2
    commands_of README.md
}

@test "docs/tutorial.md" { after_first docs/tutorial.md; }

@test "docs/guides/agents.md" { after_first docs/guides/agents.md prometheus-node-exporter curl; }

# bats test_tags=quick
@test "docs/guides/acceptance.md" { commands_of docs/guides/acceptance.md; }

# bats test_tags=quick
@test "docs/guides/live.md" { commands_of docs/guides/live.md; }

# bats test_tags=quick
@test "docs/guides/settings.md" { commands_of docs/guides/settings.md; }

@test "docs/guides/gate.md" { commands_of docs/guides/gate.md; }

@test "docs/guides/scale.md" { commands_of docs/guides/scale.md; }

@test "docs/guides/cluster.md" { after_first docs/guides/cluster.md; }

@test "docs/guides/extending.md" { after_first docs/guides/extending.md; }

@test "docs/reference/operations.md" {
    long_only
    needs_cpus 2
    commands_of docs/reference/operations.md
}

@test "docs/reference/kinds.md" {
    needs_cpus 2
    commands_of docs/reference/kinds.md
}

@test "docs/reference/exit-status.md" { commands_of docs/reference/exit-status.md; }
