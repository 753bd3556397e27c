#!/bin/sh
# release.sh VERSION [--write]: makes this tree the one of VERSION (1.1.0): every place that has the version,
#   and the changelog, whose "Unreleased" becomes VERSION of today. Without --write it changes nothing, and
#   prints what would change and what is left to do.
# release.sh --check: the places that do not have the version of common/base/version.h, a line each; none: all
#   agree (`make lint` asks for that).
set -eu
cd "$(dirname "$0")/.."

# Where the version stands: a file, and the line's text with @ in its place. Everything else takes it from
# common/base/version.h.
places() {
    cat <<'END'
common/base/version.h #define NOISELAB_VERSION "@"
CITATION.cff version: @
codemeta.json "version": "@"
analysis/DESCRIPTION Version: @
packaging/easybuild/noiselab.eb version = '@'
packaging/spack/package.py noiselab-@.tar.gz
packaging/spack/package.py version("@")
tests/kept/names.tsv # @
END
    for page in docs/man/*.1; do echo "$page \"noiselab @\""; done
}

# with_version TEXT VERSION
with_version() { printf '%s%s%s' "${1%@*}" "$2" "${1#*@}"; }

fail() { echo "release.sh: $*" >&2 && exit 2; }

now=$(sed -n 's/^#define NOISELAB_VERSION "\(.*\)"/\1/p' common/base/version.h)

# each line of the changelog that begins a version; the first one of a number is the version of the programs
check() {
    [ -n "$now" ] || echo 'common/base/version.h: no version'
    places | while read -r file text; do
        wanted=$(with_version "$text" "$now")
        grep -qF -- "$wanted" "$file" || echo "$file: not $wanted"
    done
    [ "$(sed -n 's/^## \[\(.*\)\] - [0-9-]*$/\1/p' CHANGELOG.md | head -n 1)" = "$now" ] ||
        echo "CHANGELOG.md: its newest version is not $now"
}

# newer VERSION THAN: 1.10.0 is newer than 1.9.9
newer() { [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]; }

# edit FILE TEXT: prints the file with the new version in that text
edit() {
    FROM=$(with_version "$2" "$now") TO=$(with_version "$2" "$version") awk '
        (at = index($0, ENVIRON["FROM"])) > 0 {
            $0 = substr($0, 1, at - 1) ENVIRON["TO"] substr($0, at + length(ENVIRON["FROM"])) }
        { print }' "$1"
}

changelog() { sed "s/^## Unreleased\$/## [$version] - $today/" CHANGELOG.md; }

# the day of a manual page is that of the version
man_day() { sed "s/^\(\.TH [^ ]* 1 \)[0-9-]* /\1$today /"; }

# change FILE COMMAND...: what the command prints is the file's new text; dry, the difference is shown
change() {
    file=$1
    shift
    "$@" >"$new"
    if cmp -s "$new" "$file"; then
        :
    elif [ "$write" = yes ]; then
        cat "$new" >"$file"
        echo "$file"
    else
        echo "$file"
        diff "$file" "$new" | sed -n 's/^\([<>]\)/    \1/p'
    fi
}

edit_page() { edit "$@" | man_day; }

case ${1-} in
--check) [ $# -eq 1 ] || fail '--check stands alone' && check && exit ;;
'' | -*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
version=$1 before=$now write=no today=$(date -u +%Y-%m-%d)
case ${2-} in
'') ;;
--write) write=yes ;;
*) fail "'$2' is no option (--write)" ;;
esac
[ $# -le 2 ] || fail "'$3' is too much"
echo "$version" | grep -qE '^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}$' ||
    fail "'$version' is not a version (try 1.1.0)"
newer "$version" "$now" || fail "$version is not newer than $now"
lost=$(check)
[ -z "$lost" ] || fail "before the release all must agree on $now:
$lost"
grep -qx '## Unreleased' CHANGELOG.md || fail 'CHANGELOG.md has no heading "## Unreleased"'
[ "$write" = no ] || ! git rev-parse --git-dir >/dev/null 2>&1 || [ -z "$(git status --porcelain)" ] ||
    fail 'there are changes that are not committed (git status)'

new=$(mktemp)
trap 'rm -f "$new"' EXIT
places | while read -r file text; do
    case $file in
    *.1) change "$file" edit_page "$file" "$text" ;;
    *) change "$file" edit "$file" "$text" ;;
    esac
done
change CHANGELOG.md changelog
if [ "$write" = yes ]; then
    now=$version
    lost=$(check)
    [ -z "$lost" ] || fail "these have another version still:
$lost"
fi
cat <<END

$([ "$write" = yes ] && echo 'What is left' || echo 'Nothing was changed (--write does it). Afterwards'):
 1. make && make words && sh tests/kept/names.sh >tests/kept/names.tsv
    sh tests/kept/names.sh --by-key >tests/kept/keys.tsv       # what $version adds is kept from now on
 2. campaigns of $version in tests/kept/$version, with their answers (tests/kept/$before stays)
 3. make lint test, and make try-deb OLDER=FOLDER              # install, upgrade from $before, remove
 4. make evidence SECONDS=1 ONLY=page catalogue
 5. git commit -am 'release: $version' && git tag -a v$version -m 'noiselab $version'
 6. make dist                                                  # the archive that recipes take
END
