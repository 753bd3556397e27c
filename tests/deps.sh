#!/bin/sh
# make deps: looks first, installs only what is missing (apt, as root or through sudo without a question),
# says the names elsewhere. deps.sh cluster: the same for the test cluster, agents: for real agents, which
# tests measure, and what single tests want, report: for the browser that tests open reports in, and for what
# makes reports small, packages: for what makes Debian packages, and tries them. The first three are root's
# alone; of agents and reports what cannot be installed is left out, and its test is skipped.
set -u

# for | what | how to see that it is there | Debian | RHEL/Rocky (with EPEL, CRB) | openSUSE | Spack
needed() {
    cat <<'EOF'
build|C compiler|command -v "${CC:-gcc}"|gcc|gcc|gcc|gcc
build|C library headers|test -e /usr/include/stdio.h|libc6-dev|glibc-devel|glibc-devel|-
build|pkg-config|command -v pkg-config|pkg-config|pkgconf-pkg-config|pkg-config|pkgconf
build|MPI compiler|command -v "${MPICC:-mpicc}"|libopenmpi-dev|openmpi-devel|openmpi4-devel|openmpi
build|MPI launcher|command -v "${NOISELAB_MPIRUN:-mpirun}"|openmpi-bin|openmpi|openmpi4|openmpi
build|hwloc|pkg-config --exists hwloc|libhwloc-dev|hwloc-devel|hwloc-devel|hwloc
build|jansson|pkg-config --exists jansson|libjansson-dev|jansson-devel|libjansson-devel|jansson
build|ncurses|pkg-config --exists ncursesw|libncurses-dev|ncurses-devel|ncurses-devel|ncurses
build|cmocka|pkg-config --exists cmocka|libcmocka-dev|libcmocka-devel|libcmocka-devel|cmocka
build|bats|command -v bats|bats|bats|bats|bats
build|shellcheck|command -v shellcheck|shellcheck|ShellCheck|ShellCheck|shellcheck
build|jq|command -v jq|jq|jq|jq|jq
build|ip and nsenter|command -v ip && command -v nsenter|iproute2 util-linux|iproute util-linux|iproute2 util-linux|iproute2
build|Python|has_python|python3|python3|python3|python
build|lscpu|command -v lscpu|util-linux|util-linux|util-linux|util-linux
build|ps|command -v ps|procps|procps-ng|procps|procps
build|tmux|command -v tmux|tmux|tmux|tmux|tmux
build|R|command -v Rscript|r-base-core|R-core|R-base|r
build|headers of R|test -e "$(R RHOME 2>/dev/null)/etc/Makeconf"|r-base-core|R-core-devel|R-base-devel|r
build|ggplot2 (R)|has_r ggplot2|r-cran-ggplot2|R-ggplot2|R-ggplot2|r-ggplot2
build|data.table (R)|has_r data.table|r-cran-data.table|R-data.table|R-data.table|r-data-table
build|jsonlite (R)|has_r jsonlite|r-cran-jsonlite|R-jsonlite|R-jsonlite|r-jsonlite
build|htmltools (R)|has_r htmltools|r-cran-htmltools|R-htmltools|R-htmltools|r-htmltools
build|testthat (R)|has_r testthat|r-cran-testthat|R-testthat|R-testthat|r-testthat
build|fonts for the plots|has_font|fonts-dejavu-core|dejavu-sans-fonts|dejavu-fonts|font-util
cluster|Slurm|command -v slurmctld && command -v slurmd && command -v srun|slurmctld slurmd slurm-client|slurm-slurmctld slurm-slurmd slurm|slurm slurm-node|slurm
cluster|munge|command -v munged|munge|munge|munge|munge
cluster|Python with venv|python3 -c 'import ensurepip'|python3-venv|python3|python3|python
agents|node_exporter|command -v prometheus-node-exporter|prometheus-node-exporter|-|-|-
agents|Prometheus|command -v prometheus && command -v promtool|prometheus|-|-|-
agents|collectd|has_file /usr/sbin/collectd /usr/bin/collectd|collectd-core|collectd|collectd|collectd
agents|sadc|has_file /usr/lib/sysstat/sadc /usr/lib64/sa/sadc|sysstat|sysstat|sysstat|sysstat
agents|top|command -v top|procps|procps-ng|procps|procps
agents|stress-ng|command -v stress-ng|stress-ng|stress-ng|stress-ng|stress-ng
agents|curl|command -v curl|curl|curl|curl|curl
agents|localedef|command -v localedef && test -e /usr/share/i18n/locales/de_DE|locales|glibc-locale-source|glibc-i18ndata|-
agents|mypy|command -v mypy|mypy|python3-mypy|python3-mypy|py-mypy
agents|pyflakes|command -v pyflakes3|pyflakes3|python3-pyflakes|python3-pyflakes|py-pyflakes
agents|jsonschema (Python)|python3 -c 'import jsonschema'|python3-jsonschema|python3-jsonschema|python3-jsonschema|py-jsonschema
agents|LIKWID|command -v likwid-perfctr|likwid|likwid|likwid|likwid
agents|clang|command -v clang|clang|clang|clang|llvm
agents|mandoc|command -v mandoc|mandoc|mandoc|mandoc|-
report|svglite (R)|has_r svglite|r-cran-svglite|R-svglite|R-svglite|r-svglite
report|chromium|command -v chromium|chromium|chromium|chromium|-
report|PNG reader (R)|has_r png|r-cran-png|R-png|R-png|r-png
report|pdftotext|command -v pdftotext|poppler-utils|poppler-utils|poppler-tools|poppler
packages|debhelper|command -v dh|debhelper|-|-|-
packages|dpkg-buildpackage|command -v dpkg-buildpackage|dpkg-dev|-|-|-
packages|fakeroot|command -v fakeroot|fakeroot|-|-|-
packages|lintian|command -v lintian|lintian|-|-|-
packages|debootstrap|command -v debootstrap|debootstrap|debootstrap|debootstrap|-
packages|roxygen2 (R)|has_r roxygen2|r-cran-roxygen2|R-roxygen2|R-roxygen2|r-roxygen2
packages|autopkgtest|command -v autopkgtest|autopkgtest|-|-|-
EOF
}

table=${1-build}
needed | grep -q "^$table|" || { echo 'usage: tests/deps.sh [cluster|agents|report|packages]' >&2 && exit 2; }

has_r() {
    command -v Rscript >/dev/null &&
        Rscript --vanilla -e "quit(status = !requireNamespace('$1', quietly = TRUE))" >/dev/null 2>&1
}

# has_file NAME...: one of them is a program; a row has no place for || in its look
has_file() { for file in "$@"; do [ ! -x "$file" ] || return 0; done; return 1; }

has_python() { command -v python3 || test -x /usr/libexec/platform-python; }

has_font() { command -v fc-list >/dev/null && [ -n "$(fc-list 2>/dev/null | head -n 1)" ]; }

# missing COLUMN: names of what is missing, by the packages of that column (2: what it is, 4 to 7: packages)
missing() {
    needed | grep "^$table|" | while read -r row; do
        # the column is a command of ours, above
        eval "$(echo "$row" | cut -d '|' -f 3)" >/dev/null 2>&1 || echo "$row" | cut -d '|' -f "$1"
    done | grep -vx -- - | paste -sd "${2- }" -
}

say_and_stop() {
    {
        printf 'noiselab: missing: %s\n' "$(missing 2 , | sed 's/,/, /g')"
        printf '  Debian, Ubuntu:  apt-get install %s\n' "$(missing 4)"
        printf '  RHEL, Rocky:     dnf install %s   (EPEL and CRB enabled; module load mpi)\n' "$(missing 5)"
        printf '  openSUSE:        zypper install %s\n' "$(missing 6)"
        printf '  Spack:           spack install %s\n' "$(missing 7)"
    } >&2
    exit 2
}

# leave_out WHY: ends; nothing is installed, and what is missing is said
leave_out() {
    printf 'noiselab: %s; not there, and not installed: %s (Debian: %s)\n' "$1" \
        "$(missing 2 , | sed 's/,/, /g')" "$(missing 4)" >&2
    exit 0
}

[ -n "$(missing 2)" ] || exit 0
as_root=''
case $table in
build | packages)
    command -v apt-get >/dev/null || say_and_stop
    if [ "$(id -u)" != 0 ]; then
        # on a terminal sudo may ask for its password
        if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [ -t 0 ]; }; then say_and_stop; fi
        as_root='sudo env DEBIAN_FRONTEND=noninteractive'
    fi
    ;;
*)
    [ "$(id -u)" = 0 ] || leave_out "what is for tests of this kind ($table) is installed by root"
    command -v apt-get >/dev/null || leave_out "what is for tests of this kind ($table) comes from Debian"
    ;;
esac
if [ "$table" = cluster ] && [ -e /etc/slurm/slurm.conf ]; then
    # Debian starts the services it installs: a second slurmctld with the site's own configuration is not for
    # a test to start
    echo 'noiselab: this machine belongs to a Slurm cluster (/etc/slurm/slurm.conf): nothing is installed for the test cluster' >&2
    exit 2
fi
if [ "$table" = agents ]; then
    # a service that is installed starts with the next boot: whoever looks after the machine decides
    [ ! -d /run/systemd/system ] || leave_out 'agents for tests would be services of this machine'
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        # Debian's own way to say that nothing is to be started, for the moment
        trap 'rm -f "$policy"' EXIT
        trap 'exit 2' INT TERM HUP
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    if [ ! -x "$policy" ] || "$policy" >/dev/null 2>&1; then
        leave_out "'$policy' lets packages start services"
    fi
fi
export DEBIAN_FRONTEND=noninteractive
packages=$(missing 4)
printf 'noiselab: installing %s\n' "$packages" >&2
# shellcheck disable=SC2086 # a list of words each
$as_root apt-get update -qq >/dev/null
for package in $packages; do
    # each by itself, so that one whose set-up fails keeps nothing else back
    # shellcheck disable=SC2086
    $as_root apt-get install -y -qq --no-install-recommends $package >/dev/null && continue
    # half a package would make the next apt-get fail
    # shellcheck disable=SC2086
    $as_root apt-get purge -y -qq $package >/dev/null 2>&1
    printf 'noiselab: apt-get could not install %s\n' "$package" >&2
done
[ -z "$(missing 2)" ] || case $table in
agents | report) echo 'noiselab: tests that want what is missing will be skipped' >&2 ;;
*) say_and_stop ;;
esac
