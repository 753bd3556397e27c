#!/bin/sh
# make deps: looks first, installs only what is missing (apt, as root or through sudo without a question), says the names elsewhere.
# deps.sh cluster: the same for the test cluster, which is root's alone. Its packages bring services: where the user is not root, nothing is installed.
# deps.sh agents: the same for real agents, which tests measure, and what single tests want. What cannot be installed is left out, and its test is
# skipped.
# deps.sh report: the same for the browser that tests open reports in, and for what makes reports small.
# deps.sh packages: the same for what makes Debian packages, and tries them.
# What is missing and is not installed is said, by its own names and those of packages.
set -u

# for | what | how to see that it is there | Debian | RHEL/Rocky (with EPEL, CRB) | openSUSE | Spack
# Tests start agents on the loopback; their services are not wanted. Reports are made without what is for them, larger, and their tests skipped.
needed() {
    cat <<'EOF'
build|C compiler|command -v "${CC:-gcc}"|gcc|gcc|gcc|gcc
build|C library headers|test -e /usr/include/stdio.h|libc6-dev|glibc-devel|glibc-devel|-
build|pkg-config|command -v pkg-config|pkg-config|pkgconf-pkg-config|pkg-config|pkgconf
build|MPI compiler|command -v "${MPICC:-mpicc}"|libopenmpi-dev|openmpi-devel|openmpi4-devel|openmpi
build|MPI launcher|command -v "${NOISELAB_MPIRUN:-mpirun}"|openmpi-bin|openmpi|openmpi4|openmpi
build|hwloc|pkg-config --exists hwloc|libhwloc-dev|hwloc-devel|hwloc-devel|hwloc
build|jansson|pkg-config --exists jansson|libjansson-dev|jansson-devel|libjansson-devel|jansson
build|cmocka|pkg-config --exists cmocka|libcmocka-dev|libcmocka-devel|libcmocka-devel|cmocka
build|bats|command -v bats|bats|bats|bats|bats
build|shellcheck|command -v shellcheck|shellcheck|ShellCheck|ShellCheck|shellcheck
build|jq|command -v jq|jq|jq|jq|jq
build|ip and nsenter|command -v ip && command -v nsenter|iproute2 util-linux|iproute util-linux|iproute2 util-linux|iproute2
build|lscpu|command -v lscpu|util-linux|util-linux|util-linux|util-linux
build|ps|command -v ps|procps|procps-ng|procps|procps
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
agents|collectd|has_file /usr/sbin/collectd /usr/bin/collectd|collectd-core|collectd|collectd|collectd
agents|sadc|has_file /usr/lib/sysstat/sadc /usr/lib64/sa/sadc|sysstat|sysstat|sysstat|sysstat
agents|top|command -v top|procps|procps-ng|procps|procps
agents|stress-ng|command -v stress-ng|stress-ng|stress-ng|stress-ng|stress-ng
agents|curl|command -v curl|curl|curl|curl|curl
agents|localedef|command -v localedef && test -e /usr/share/i18n/locales/de_DE|locales|glibc-locale-source|glibc-i18ndata|-
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
packages|autopkgtest|command -v autopkgtest|autopkgtest|-|-|-
EOF
}

case ${1-build} in
build | cluster | agents | report | packages) table=${1-build} ;;
*)
    echo 'usage: tests/deps.sh [cluster|agents|report|packages]' >&2
    exit 2
    ;;
esac

has_r() { command -v Rscript >/dev/null && Rscript --vanilla -e "quit(status = !requireNamespace('$1', quietly = TRUE))" >/dev/null 2>&1; }

# has_file NAME...: one of them is a program; a row has no place for || in its look
has_file() { for file in "$@"; do [ ! -x "$file" ] || return 0; done; return 1; }

has_font() { command -v fc-list >/dev/null && [ -n "$(fc-list 2>/dev/null | head -n 1)" ]; }

# missing COLUMN: names of what is missing, by the packages of that column
missing() {
    needed | sed -n "s/^$table|//p" | while IFS='|' read -r what look debian redhat suse spack; do
        # the column is a command of ours, above
        if eval "$look" >/dev/null 2>&1; then continue; fi
        case $1 in
        what) printf '%s, ' "$what" ;;
        debian) printf '%s ' "$debian" ;;
        redhat) printf '%s ' "$redhat" ;;
        suse) printf '%s ' "$suse" ;;
        spack) [ "$spack" = - ] || printf '%s ' "$spack" ;;
        esac
    done
}

say_and_stop() {
    {
        printf 'noiselab: missing: %s\n' "$(missing what | sed 's/, $//')"
        printf '  Debian, Ubuntu:  apt-get install %s\n' "$(missing debian)"
        printf '  RHEL, Rocky:     dnf install %s   (EPEL and CRB enabled; module load mpi)\n' "$(missing redhat)"
        printf '  openSUSE:        zypper install %s\n' "$(missing suse)"
        printf '  Spack:           spack install %s\n' "$(missing spack)"
    } >&2
    exit 2
}

# leave_out WHY: ends; nothing is installed, and what is missing is said
leave_out() {
    printf 'noiselab: %s; not there, and not installed: %s (Debian: %s)\n' "$1" "$(missing what | sed 's/, $//')" "$(missing debian | sed 's/ $//')" >&2
    exit 0
}

# can_install WHAT: ends where nothing can be
can_install() {
    [ "$(id -u)" = 0 ] || leave_out "$1 are installed by root"
    command -v apt-get >/dev/null || leave_out "$1 come from Debian"
}

# install_each: each by itself, so that one whose set-up fails keeps nothing else back; ends
install_each() {
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    apt-get update -qq >/dev/null 2>&1
    for package in $(missing debian); do
        printf 'noiselab: installing %s\n' "$package" >&2
        apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 && continue
        # half a package would make the next apt-get fail
        apt-get purge -y -qq "$package" >/dev/null 2>&1
        printf 'noiselab: %s cannot be installed; its test will be skipped\n' "$package" >&2
    done
    exit 0
}

# install_agents: without starting their services; ends
install_agents() {
    # a service that is installed starts with the next boot: whoever looks after the machine decides
    [ ! -d /run/systemd/system ] || leave_out 'agents for tests would be services of this machine'
    can_install 'agents for tests'
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
    install_each
}

[ -n "$(missing what)" ] || exit 0
[ "$table" != agents ] || install_agents
[ "$table" != report ] || { can_install 'tools for reports' && install_each; }
if [ "$table" = cluster ] && [ "$(id -u)" != 0 ]; then leave_out "the test cluster is root's"; fi

command -v apt-get >/dev/null || say_and_stop
if [ "$(id -u)" = 0 ]; then
    as_root=''
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    # on a terminal sudo may ask for its password
    as_root='sudo env DEBIAN_FRONTEND=noninteractive'
else
    say_and_stop
fi
if [ "$table" = cluster ] && [ -e /etc/slurm/slurm.conf ]; then
    # Debian starts the services it installs: a second slurmctld with the site's own configuration is not for a test to start
    echo 'noiselab: this machine belongs to a Slurm cluster (/etc/slurm/slurm.conf): nothing is installed for the test cluster' >&2
    exit 2
fi
packages=$(missing debian)
printf 'noiselab: installing %s\n' "$packages" >&2
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of words each
{
    $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $packages
} >/dev/null || {
    printf 'noiselab: apt-get could not install all of them; its messages stand above\n' >&2
    say_and_stop
}
[ -z "$(missing what)" ] || say_and_stop
