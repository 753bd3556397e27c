# SPDX-License-Identifier: MIT
import os

from spack.package import *

try:
    # from 1.0 on Spack has its build systems beside the packages
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Noiselab(MakefilePackage):
    """An OS-noise and monitoring-interference lab for HPC clusters: how much do agents and daemons slow MPI
    programs down?"""

    license("MIT")

    # the archive of `make dist`, in the folder that spack is called from, with --no-checksum
    manual_download = True
    url = "file://{0}/noiselab-1.1.0.tar.gz".format(os.getcwd())
    version("1.1.0")

    variant(
        "r", default=True, description="Analysis: verdicts and reports; off: the programs of a compute node"
    )
    variant("likwid", default=False, description="Hardware counters per arm")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hwloc@2:")
    depends_on("jansson")
    depends_on("python@3.6:", type=("build", "run"))
    depends_on("ncurses")
    depends_on("likwid", when="+likwid")
    with when("+r"):
        depends_on("r@4.1:", type=("build", "run"))
        for name in ("data-table", "ggplot2", "htmltools", "jsonlite"):
            depends_on("r-" + name, type=("build", "run"))

    def make_words(self):
        words = ["CC=" + spack_cc, "MPICC=" + self.spec["mpi"].mpicc, "PREFIX=" + self.prefix]
        words.append("LIKWID=" + ("yes" if self.spec.satisfies("+likwid") else "no"))
        return words

    def build(self, spec, prefix):
        make("all" if spec.satisfies("+r") else "programs", *self.make_words())

    def install(self, spec, prefix):
        make("install" if spec.satisfies("+r") else "install-programs", *self.make_words())

    def check(self):
        """spack install --test=root: the programs run, and say their version"""
        for name in ("noiselab-gen", "noiselab-detect"):
            Executable(os.path.join("build", "bin", name))("--version")

    def test_generator(self):
        """a load of 1 percent of a CPU holds its level"""
        which(self.prefix.bin.join("noiselab-gen"))("--level", "1", "--period", "10ms", "--duration", "2s")

    def test_detector(self):
        """a short launch of one rank leaves its rows"""
        detect = which(self.prefix.bin.join("noiselab-detect"))
        detect("--op", "empty", "--levels", "1", "--seconds", "1", "--out", "campaign")
