"""A program of the user's: what goes with it, and runs of it under the profile."""
import os
from typing import Dict, Optional

from noiselab_run import files, slurm
from noiselab_run.launch import Launcher, start_profiled
from noiselab_run.options import Options
from noiselab_run.process import signals, status_of
from noiselab_run.text import die, last_words


def check_program(options: Options) -> None:
    """What goes with --app."""
    if not options['app']:
        if options.program:
            die(2, "'--': a command is followed with --app (noiselab run %s --app -- mpirun -n 4 ./app)"
                % options.experiment)
        return
    if not options.program:
        die(2, '--app: which program? Its command comes last, after -- (--app -- mpirun -n 4 ./app)')
    options.refuse_given(": with --app the program's own calls are timed, on the ranks and the machine it "
                         "is started on; leave it out",
                         '--op', '--bytes', '--ranks', '--hosts', '--node-sets', '--submit')
    if slurm.in_job() and slurm.n_job_nodes() != '1':
        die(2, '--app: a program is followed on one node, and this job has several')


def run_profiled(launcher: Launcher, folder: str, name: str, command: str,
                 env: Optional[Dict[str, str]] = None) -> None:
    """A run of it under the profile; what it says is in FOLDER/NAME.log."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        die(2, "cannot make '%s' (not allowed, or no space left?)" % folder)
    signals.begin_foreground()
    try:
        child = start_profiled(launcher, folder, name, '%d-%s' % (os.getpid(), name), command, env)
        status = status_of(child.wait())
    finally:
        signals.end_foreground()
    if status:
        die(2, 'the program ended with status %d: %s'
            % (status, last_words(files.read_or('%s/%s.log' % (folder, name)))))
