"""noiselab as ReFrame 4 checks: how much noise a collective feels, and whether its times are those of last month.

Compute nodes run noiselab-detect alone; the analysis runs where reframe runs, and its figures come from `noiselab analyze ... --csv`.
See README.md beside this file.
"""

import csv
import json
import os

import reframe as rfm
import reframe.utility.osext as osext
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import deferrable, parameter, performance_function, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

CAMPAIGN = 'campaign'

# What each launcher needs to start one rank per core, bound to it; and Slurm does not look at the ranks from time to time.
LAUNCHER_OPTIONS = {
    'srun': ['--mpi=pmix', '--cpu-bind=cores', '--kill-on-bad-exit=1', '--acctg-freq=task=0'],
    'mpirun': ['--bind-to', 'core'],
    'mpiexec': ['--bind-to', 'core'],
}

# The operation and its size in bytes.
OPERATIONS = [('barrier', 0), ('allreduce', 8), ('alltoall', 2048)]


def figure(text):
    """A figure of the analysis as ReFrame wants it; what the data could not tell is an error, not 0."""
    if text in ('', 'NA'):
        raise SanityError('the analysis has no figure here: see its notes in the output of the job')
    return float(text)


class NoiselabCheck(rfm.RunOnlyRegressionTest):
    """What all checks share: the job, the analysis of its campaign, and the references in a file."""

    valid_systems = ['*']
    valid_prog_environs = ['*']
    operation = parameter(OPERATIONS, fmt=lambda o: f'{o[0]}_{o[1]}', loggable=False)

    # Folder of the programs; empty: they are in PATH, here and in the job.
    programs = variable(str, value='')
    # Seconds of measuring of one launch.
    seconds = variable(float, int, value=60)
    # Further words for noiselab-detect, such as --oversubscribe.
    options = variable(typ.List[str], value=[])
    # How ranks are started and bound; empty: by LAUNCHER_OPTIONS.
    launcher_options = variable(typ.List[str], value=[])
    # A file as references.json beside this one.
    reference_file = variable(str, value=os.path.join(os.path.dirname(os.path.abspath(__file__)), 'references.json'))

    num_tasks = 2
    num_tasks_per_node = 1
    exclusive_access = True
    time_limit = '10m'
    tags = {'noise'}

    def program(self, name):
        return os.path.join(self.programs, name) if self.programs else name

    @run_before('setup')
    def read_references(self):
        with open(self.reference_file, encoding='utf-8') as file:
            systems = json.load(file)
        kind = type(self).reference_key
        self.reference = {system: {name: tuple(row) for name, row in checks[kind].items()} for system, checks in systems.items() if kind in checks}

    @run_before('run')
    def set_command(self):
        operation, size = self.operation
        self.executable = self.program('noiselab-detect')
        self.executable_opts = ['--op', operation, '--out', CAMPAIGN, '--seconds', f'{self.seconds}', *self.design(), *self.options]
        if size:
            self.executable_opts += ['--bytes', str(size)]
        launcher = self.job.launcher
        launcher.options += self.launcher_options or LAUNCHER_OPTIONS.get(launcher.registered_name, [])

    @run_before('sanity')
    def analyse(self):
        """Runs here, not in the job: compute nodes need no R."""
        answer = osext.run_command([self.program('noiselab-analyze'), *self.analysis(), CAMPAIGN, '--csv'], cwd=self.stagedir)
        self.analysis_status, self.analysis_error = answer.returncode, answer.stderr.strip()
        with open(os.path.join(self.stagedir, 'analysis.csv'), 'w', encoding='utf-8') as file:
            file.write(answer.stdout)
        self.rows = list(csv.DictReader(answer.stdout.splitlines()))
        self.keep_files = [CAMPAIGN, 'analysis.csv']

    @deferrable
    def endings(self):
        """How each launch ended, by its own record."""
        folder = os.path.join(self.stagedir, CAMPAIGN)
        ended = []
        for launch in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            path = os.path.join(folder, launch, 'launch.json')
            if os.path.isfile(path):
                with open(path, encoding='utf-8') as file:
                    ended.append(json.load(file).get('ended') or 'killed')
        return ended

    @sanity_function
    def is_measured(self):
        return sn.all([
            sn.assert_eq(self.endings(), ['complete'] * self.launches(), 'launches ended {0}, expected {1}: see the errors of the job'),
            sn.assert_eq(self.analysis_status, 0, f'noiselab analyze failed: {self.analysis_error}'),
            sn.assert_gt(len(self.rows), 0, 'the analysis has no row'),
        ])


@rfm.simple_test
class noiselab_sensitivity(NoiselabCheck):
    """A placebo and a level of known load, switched on and off in pairs: what the operation feels, and the least it could have felt."""

    descr = 'slowdown of a collective by a known load, with its detection limit'
    reference_key = 'sensitivity'
    # Percent of one CPU.
    level = variable(float, int, value=1)

    def launches(self):
        return 1

    def design(self):
        return ['--levels', f'0,{self.level}']

    def analysis(self):
        return []

    def row(self, channel, level):
        found = [r for r in self.rows if r['channel'] == channel and float(r['level_requested_percent']) == level]
        if len(found) != 1:
            raise SanityError(f'{len(found)} rows of the channel {channel} at level {level}, expected 1')
        return found[0]

    @performance_function('%')
    def slowdown(self):
        return figure(self.row('time', self.level)['estimate'])

    @performance_function('%')
    def detection_limit(self):
        return figure(self.row('time', 0)['detection_limit'])

    @performance_function('%')
    def delivered(self):
        """Of the load that was asked for."""
        return 100 * figure(self.row('time', self.level)['delivered_ratio'])


@rfm.simple_test
class noiselab_reproducibility(NoiselabCheck):
    """Several launches without any load, each operation begun by all ranks at one instant: its time, and how well launches agree."""

    descr = 'time of a collective without load, and its scatter over launches'
    reference_key = 'reproducibility'
    # At least 3.
    n_launches = variable(int, value=5)
    seconds = 10

    def launches(self):
        return self.n_launches

    def design(self):
        return ['--design', 'single', '--levels', 'none', '--start', 'round']

    def analysis(self):
        return ['reproducibility']

    @run_before('run')
    def repeat(self):
        """One job, several launches: the whole command again, with the same launcher."""
        # the job learns its numbers only when it is run, after this hook
        self.job.num_tasks, self.job.num_tasks_per_node = self.num_tasks, self.num_tasks_per_node
        command = ' '.join([self.job.launcher.run_command(self.job), self.executable, *self.executable_opts])
        self.postrun_cmds = [command] * (self.n_launches - 1)

    @performance_function('us')
    def time(self):
        return figure(self.rows[0]['mean_ns']) / 1000

    @performance_function('%')
    def scatter(self):
        """Relative standard error over launches."""
        return figure(self.rows[0]['rse_percent'])
