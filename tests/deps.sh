#!/bin/sh
# make deps: looks first, installs only what is missing (apt, as root or through sudo without a question), says the names elsewhere.
# deps.sh cluster: the same for the test cluster, which is root's alone. Its packages bring services: where the user is not root, nothing is done.
set -u

# what | how to see that it is there | Debian | RHEL/Rocky (with EPEL, CRB) | openSUSE | Spack
needed() {
    cat <<'EOF'
C compiler|command -v "${CC:-gcc}"|gcc|gcc|gcc|gcc
C library headers|test -e /usr/include/stdio.h|libc6-dev|glibc-devel|glibc-devel|-
pkg-config|command -v pkg-config|pkg-config|pkgconf-pkg-config|pkg-config|pkgconf
MPI compiler|command -v "${MPICC:-mpicc}"|libopenmpi-dev|openmpi-devel|openmpi4-devel|openmpi
MPI launcher|command -v "${NOISELAB_MPIRUN:-mpirun}"|openmpi-bin|openmpi|openmpi4|openmpi
hwloc|pkg-config --exists hwloc|libhwloc-dev|hwloc-devel|hwloc-devel|hwloc
jansson|pkg-config --exists jansson|libjansson-dev|jansson-devel|libjansson-devel|jansson
cmocka|pkg-config --exists cmocka|libcmocka-dev|libcmocka-devel|libcmocka-devel|cmocka
bats|command -v bats|bats|bats|bats|bats
shellcheck|command -v shellcheck|shellcheck|ShellCheck|ShellCheck|shellcheck
jq|command -v jq|jq|jq|jq|jq
ip and nsenter|command -v ip && command -v nsenter|iproute2 util-linux|iproute util-linux|iproute2 util-linux|iproute2
lscpu|command -v lscpu|util-linux|util-linux|util-linux|util-linux
ps|command -v ps|procps|procps-ng|procps|procps
R|command -v Rscript|r-base-core|R-core|R-base|r
ggplot2 (R)|has_r ggplot2|r-cran-ggplot2|R-ggplot2|R-ggplot2|r-ggplot2
data.table (R)|has_r data.table|r-cran-data.table|R-data.table|R-data.table|r-data-table
jsonlite (R)|has_r jsonlite|r-cran-jsonlite|R-jsonlite|R-jsonlite|r-jsonlite
htmltools (R)|has_r htmltools|r-cran-htmltools|R-htmltools|R-htmltools|r-htmltools
testthat (R)|has_r testthat|r-cran-testthat|R-testthat|R-testthat|r-testthat
fonts for the plots|has_font|fonts-dejavu-core|dejavu-sans-fonts|dejavu-fonts|font-util
EOF
}

needed_by_cluster() {
    cat <<'EOF'
Slurm|command -v slurmctld && command -v slurmd && command -v srun|slurmctld slurmd slurm-client|slurm-slurmctld slurm-slurmd slurm|slurm slurm-node|slurm
munge|command -v munged|munge|munge|munge|munge
Python with venv|python3 -c 'import ensurepip'|python3-venv|python3|python3|python
EOF
}

case ${1-} in
'') table=needed ;;
cluster)
    [ "$(id -u)" = 0 ] || exit 0
    table=needed_by_cluster
    ;;
*)
    echo 'usage: tests/deps.sh [cluster]' >&2
    exit 2
    ;;
esac

has_r() { command -v Rscript >/dev/null && Rscript --vanilla -e "quit(status = !requireNamespace('$1', quietly = TRUE))" >/dev/null 2>&1; }

has_font() { command -v fc-list >/dev/null && [ -n "$(fc-list 2>/dev/null | head -n 1)" ]; }

# missing COLUMN: names of what is missing, by the packages of that column
missing() {
    "$table" | while IFS='|' read -r what look debian redhat suse spack; do
        # the second column is a command of ours, above
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

[ -n "$(missing what)" ] || exit 0

command -v apt-get >/dev/null || say_and_stop
if [ "$(id -u)" = 0 ]; then
    as_root=''
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    # on a terminal sudo may ask for its password
    as_root='sudo env DEBIAN_FRONTEND=noninteractive'
else
    say_and_stop
fi
if [ "$table" = needed_by_cluster ] && [ -e /etc/slurm/slurm.conf ]; then
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
    printf 'noiselab: apt-get could not install them; its messages stand above\n' >&2
    exit 2
}
[ -z "$(missing what)" ] || say_and_stop
