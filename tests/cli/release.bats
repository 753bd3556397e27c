#!/usr/bin/env bats
# The script of a release: what it changes, in a copy of the files, and what it refuses.

load ../helpers

setup() {
    local root=$BATS_TEST_DIRNAME/../..
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p common/base analysis packaging docs tests/kept
    cp "$root/common/base/version.h" common/base
    cp "$root/analysis/DESCRIPTION" analysis
    cp -r "$root"/packaging/{release.sh,easybuild,spack} packaging
    cp -r "$root/docs/man" docs
    cp "$root/tests/kept/names.tsv" tests/kept
    cp "$root"/{CITATION.cff,codemeta.json,CHANGELOG.md} .
    # between a release and the next change there is none
    grep -qx '## Unreleased' CHANGELOG.md || sed -i '0,/^## \[/s//## Unreleased\n\n&/' CHANGELOG.md
    now=$(sed -n 's/^#define NOISELAB_VERSION "\(.*\)"/\1/p' common/base/version.h)
    files=$(state)
}

release() { run sh packaging/release.sh "$@"; }

state() { find . -type f -exec sha256sum {} + | sort; }

# bats test_tags=quick
@test "a release is shown without --write, with every place, and changes nothing" {
    release 90.8.7
    [ "$status" -eq 0 ]
    [ "$(state)" = "$files" ]
    for file in common/base/version.h CITATION.cff codemeta.json analysis/DESCRIPTION CHANGELOG.md \
        packaging/easybuild/noiselab.eb packaging/spack/package.py tests/kept/names.tsv docs/man/*.1; do
        grep -qxF "$file" <<<"$output"
    done
    [[ "$output" == *'Nothing was changed (--write does it)'* ]]
}

# bats test_tags=quick
@test "with --write no place has the earlier version, and the changelog has both" {
    release 90.8.7 --write
    [ "$status" -eq 0 ]
    [[ "$output" == *"(tests/kept/$now stays)"* ]]
    run ! grep -rnF "$now" common analysis/DESCRIPTION CITATION.cff codemeta.json packaging/easybuild \
        packaging/spack docs/man tests
    [ "$(grep -rlF 90.8.7 . | wc -l)" -eq $((8 + $(find docs/man -name '*.1' | wc -l))) ]
    grep -qxF "## [90.8.7] - $(date -u +%Y-%m-%d)" CHANGELOG.md
    grep -qF "## [$now] - " CHANGELOG.md
    run ! grep -qx '## Unreleased' CHANGELOG.md
    release --check
    [ "$status" -eq 0 ] && [ -z "$output" ]
    # and no second time
    release 90.8.7
    [ "$status" -eq 2 ]
    [ "$output" = 'release.sh: 90.8.7 is not newer than 90.8.7' ]
}

# bats test_tags=quick
@test "a version that is none or older, and places that disagree, are refused" {
    for bad in 1 1.2 v1.2.3 1.02.3 1.2.3-rc1; do
        release "$bad"
        [ "$status" -eq 2 ]
        [ "$output" = "release.sh: '$bad' is not a version (try 1.1.0)" ]
    done
    release 0.9.9 --write
    [ "$status" -eq 2 ]
    [ "$output" = "release.sh: 0.9.9 is not newer than $now" ]
    release 90.8.7 --force
    [ "$status" -eq 2 ]
    [ "$(state)" = "$files" ]
    sed -i 's/^version: .*/version: 0.0.1/' CITATION.cff
    release --check
    [ "$output" = "CITATION.cff: not version: $now" ]
    release 90.8.7 --write
    [ "$status" -eq 2 ]
    [[ "$output" == *"before the release all must agree on $now:"*'CITATION.cff: not version: '* ]]
    sed -i 's/^version: .*/version: '"$now"'/; ' CITATION.cff
    sed -i 's/^## Unreleased$/## Later/' CHANGELOG.md
    release 90.8.7 --write
    [ "$status" -eq 2 ]
    [ "$output" = 'release.sh: CHANGELOG.md has no heading "## Unreleased"' ]
}
