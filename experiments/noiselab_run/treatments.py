"""Treatments from outside, which a launch as a whole is under: Slurm's sampling, an option of each step
(--acctg-freq), is the only one."""
from typing import List, Tuple

from noiselab_run import files, slurm
from noiselab_run.launch import Launcher, Step
from noiselab_run.options import Options
from noiselab_run.text import die


def arm_of(words: List[str]) -> Tuple[str, str]:
    """The arm, and the treatment from outside, of a launch (--arms on:external=NAME,...); empty without."""
    arm = ''
    for word, value in zip(words, words[1:]):
        if word == '--arms':
            arm = value
    external = arm.rpartition('external=')[2].split(',')[0] if 'external=' in arm else ''
    return arm.split(':')[0], external


def require_known(name: str) -> None:
    if name != 'slurm-accounting':
        die(2, "--treatment: '%s' is not a treatment (try slurm-accounting)" % name)


def put_under(step: Step, words: List[str], interval_s: str) -> None:
    """The launch is under the treatment from outside that its words name, or not, by its arm."""
    arm, external = arm_of(words)
    if external:
        require_known(external)
        step.acctg_task_s = 0 if arm == 'off' else int(interval_s or 1)


def require(name: str, options: Options, launcher: Launcher) -> None:
    """Refuses what is none, or cannot be here."""
    require_known(name)
    if not files.in_path('srun'):
        die(2, 'slurm-accounting: there is no Slurm here (srun is not in PATH): run it within a Slurm job, '
            'or with --submit')
    if options['submit']:
        return
    if not slurm.job():
        die(2, 'slurm-accounting: this is not a Slurm job: run it within one (sbatch, salloc), or with '
            '--submit')
    launcher.choose()
    if launcher.kind != 'srun':
        die(2, 'slurm-accounting: only srun can switch it: leave --launcher %s out' % launcher.kind)
    if slurm.configured('JobAcctGatherType') in ('', 'jobacct_gather/none'):
        die(2, 'slurm-accounting: this cluster gathers nothing (JobAcctGatherType is none), so there is '
            'nothing to switch')
