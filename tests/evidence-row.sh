# evidence_row FILE HEAD COLUMNS VALUE...: a row of docs/evidence/FILE.csv, where somebody keeps rows
# (NOISELAB_EVIDENCE, a folder: `make evidence` does). Version and date come after the values; HEAD, the
# command, stands above them.
# shellcheck shell=sh
evidence_row() {
    [ -n "${NOISELAB_EVIDENCE-}" ] || return 0
    evidence_file=$NOISELAB_EVIDENCE/$1.csv
    [ -s "$evidence_file" ] || printf '# %s\n%s,version,date\n' "$2" "$3" >"$evidence_file" || return
    shift 3
    { printf '%s,' "$@" &&
        printf '%s,%s\n' "$(git describe --always)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"; } >>"$evidence_file"
}
