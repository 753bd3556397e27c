"""noiselab as ReFrame 4 checks: how much noise a collective feels, whether its times are those of last month,
and whether the cluster is in order.

Compute nodes need the C programs alone; the analysis runs where reframe runs, and its figures come from
`noiselab analyze ... --csv` and from the lines `name: value unit` of `noiselab run acceptance --lines`. See
README.md beside this file.
"""

import csv
import glob
import json
import math
import os
import pathlib
import re
import shlex

import reframe as rfm
import reframe.utility.osext as osext
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import (
    deferrable,
    parameter,
    performance_function,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import SanityError

CAMPAIGN = 'campaign'

# What each launcher needs to start one rank per core, bound to it; and Slurm does not look at the ranks from
# time to time.
LAUNCHER_OPTIONS = {
    'srun': ['--mpi=pmix', '--cpu-bind=cores', '--kill-on-bad-exit=1', '--acctg-freq=task=0'],
    'mpirun': ['--bind-to', 'core'],
    'mpiexec': ['--bind-to', 'core'],
}

# The operation and its size in bytes.
OPERATIONS = [('barrier', 0), ('allreduce', 8), ('alltoall', 2048)]


def figure(text):
    """A figure of the analysis as ReFrame wants it; what the data could not tell is an error, not 0, and no
    reference holds or fails on what is no number."""
    if text in ('', 'NA'):
        raise SanityError('the analysis has no figure here: see its notes in the output of the job')
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SanityError(f'the analysis has {verbatim(text)!r} here, which is no figure')
    return value


class NoiselabRun(rfm.RunOnlyRegressionTest):
    """What all checks share: where the programs are, and the references in a file."""

    valid_systems = ['*']
    valid_prog_environs = ['*']

    # Folder of the programs; empty: they are in PATH, here and in the job.
    programs = variable(str, value='')
    # Further words for the program, such as --oversubscribe.
    options = variable(typ.List[str], value=[])
    # A file as references.json beside this one.
    reference_file = variable(
        str, value=os.path.join(os.path.dirname(os.path.abspath(__file__)), 'references.json')
    )

    num_tasks_per_node = 1
    exclusive_access = True
    tags = {'noise'}

    def program(self, name):
        return os.path.join(self.programs, name) if self.programs else name

    def ask(self, name, *words):
        """Runs a program here, not in the job: compute nodes need no R."""
        return osext.run_command([self.program(name), *words], cwd=self.stagedir)

    @run_before('setup')
    def read_references(self):
        kind = type(self).reference_key
        self.reference = {
            system: {name: tuple(row) for name, row in checks[kind].items()}
            for system, checks in self.systems().items()
            if kind in checks
        }

    def systems(self):
        return json.loads(pathlib.Path(self.reference_file).read_text(encoding='utf-8'))

    def staged(self, *names):
        """Files of the job, by their names, which may have a *."""
        return [pathlib.Path(path) for path in sorted(glob.glob(os.path.join(self.stagedir, *names)))]


class NoiselabCheck(NoiselabRun):
    """What the checks of one operation share: the job, and the analysis of its campaign."""

    operation = parameter(OPERATIONS, fmt=lambda o: f'{o[0]}_{o[1]}', loggable=False)

    # Seconds of measuring of one launch.
    seconds = variable(float, int, value=60)
    # How ranks are started and bound; empty: by LAUNCHER_OPTIONS.
    launcher_options = variable(typ.List[str], value=[])

    num_tasks = 2
    time_limit = '10m'

    @run_before('run')
    def set_command(self):
        operation, size = self.operation
        self.executable = self.program('noiselab-detect')
        words = [
            '--op',
            operation,
            '--out',
            CAMPAIGN,
            '--seconds',
            f'{self.seconds}',
            *self.design(),
            *(['--bytes', str(size)] if size else []),
            *self.options,
        ]
        # they become a line of a shell script
        self.executable_opts = [shlex.quote(word) for word in words]
        launcher = self.job.launcher
        launcher.options += self.launcher_options or LAUNCHER_OPTIONS.get(launcher.registered_name, [])

    @run_before('sanity')
    def analyse(self):
        answer = self.ask('noiselab-analyze', *self.analysis(), CAMPAIGN, '--csv')
        self.analysis_status, self.analysis_error = answer.returncode, answer.stderr.strip()
        pathlib.Path(self.stagedir, 'analysis.csv').write_text(answer.stdout, encoding='utf-8')
        self.rows = list(csv.DictReader(answer.stdout.splitlines()))
        self.keep_files = [CAMPAIGN, 'analysis.csv']

    @deferrable
    def endings(self):
        """How each launch ended, by its own record."""
        return [
            json.loads(path.read_text(encoding='utf-8')).get('ended') or 'killed'
            for path in self.staged(CAMPAIGN, '*', 'launch.json')
        ]

    @sanity_function
    def is_measured(self):
        return sn.all(
            [
                sn.assert_eq(
                    self.endings(),
                    ['complete'] * self.launches(),
                    'launches ended {0}, expected {1}: see the errors of the job',
                ),
                sn.assert_eq(self.analysis_status, 0, f'noiselab analyze failed: {self.analysis_error}'),
                sn.assert_gt(len(self.rows), 0, 'the analysis has no row'),
            ]
        )


@rfm.simple_test
class noiselab_sensitivity(NoiselabCheck):
    """A placebo and a level of known load, switched on and off in pairs: what the operation feels, and the
    least it could have felt."""

    descr = 'slowdown of a collective by a known load, with its detection limit'
    reference_key = 'sensitivity'
    # Percent of one CPU.
    level = variable(float, int, value=1)

    def launches(self):
        return 1

    def design(self):
        return ['--levels', f'0,{self.level}']

    def analysis(self):
        return ['--table', 'verdicts']

    def row(self, channel, level):
        found = [
            r for r in self.rows if r['channel'] == channel and float(r['level_requested_percent']) == level
        ]
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
    """Several launches without any load, each operation begun by all ranks at one instant: its time, and how
    well launches agree."""

    descr = 'time of a collective without load, and its scatter over launches'
    reference_key = 'reproducibility'
    # At least 3.
    n_launches = variable(int, value=5)
    seconds = 10

    def launches(self):
        return self.n_launches

    def design(self):
        return ['--design', 'single', '--levels', 'none', '--starts', 'round']

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


# Figures that are shown without being asked for: names of `noiselab run acceptance --lines` without the node
# and, behind completeness and bandwidth, without the size. Of the nodes, pairs and sizes that have it the
# worst counts.
ACCEPTANCE_FIGURES = [
    'integrity.mismatches',
    'latency.between.half_round_trip.0',
    'latency.within.half_round_trip.0',
    'bandwidth.between.one_way.4194304',
    'bandwidth.within.one_way.4194304',
    'completeness.nodes.coefficient',
    'quantum.alone.lost',
    'detour.alone.lost',
    'detour.alone.longest',
    'collective.barrier.p99.9',
]

# Units of figures of which more is better; of all others less is.
MORE_IS_BETTER = ('bytes_per_s', 'ratio')


def verbatim(text):
    """Text of others for a message that ReFrame formats."""
    return text.replace('{', '{{').replace('}', '}}')


def without_node(name, hosts):
    """The name of a line without the node, or the pair of nodes, at its end."""
    head, dashes, second = name.partition('--')
    if dashes and second not in hosts:
        return name
    return next((head[: -len(host) - 1] for host in hosts if head.endswith('.' + host)), name)


@rfm.simple_test
class noiselab_acceptance(NoiselabRun):
    """All checks of noiselab-accept on the nodes of a job, each launch with the nodes in another order, the
    self-check, and the verdict."""

    descr = 'is this cluster quiet and correct, and which node is not'
    reference_key = 'acceptance'
    # Names of checks (noiselab run acceptance --list checks); empty: all but those on request.
    checks = variable(typ.List[str], value=[])
    # Seconds of measuring of all launches of the checks together; 0: those of --quick.
    seconds = variable(float, int, value=0)
    # A file with limits, and campaigns that were good (noiselab run acceptance --limits, --reference).
    limits = variable(str, value='')
    good_campaigns = variable(typ.List[str], value=[])
    # Figures to show, beside those that have a reference.
    figures = variable(typ.List[str], value=ACCEPTANCE_FIGURES)
    # What an inconclusive verdict is: fail (a check that could have seen nothing must not pass), or skip.
    inconclusive = variable(str, value='fail')

    # One task on each node: how many nodes.
    num_tasks = 3
    time_limit = '30m'

    @run_before('run')
    def set_command(self):
        if self.inconclusive not in ('fail', 'skip'):
            raise ValueError(f"inconclusive: '{self.inconclusive}' is neither fail nor skip")
        # it starts the ranks itself, launch by launch
        self.job.launcher = getlauncher('local')()
        words = ['--seconds', f'{self.seconds}s'] if self.seconds else []
        words += ['--checks', ','.join(self.checks)] if self.checks else []
        words += ['--limits', os.path.abspath(self.limits)] if self.limits else []
        for campaign in self.good_campaigns:
            words += ['--reference', os.path.abspath(campaign)]
        self.executable = self.program('noiselab')
        self.executable_opts = [
            'run',
            'acceptance',
            '--out',
            CAMPAIGN,
            '--no-report',
            '--lines',
            *map(shlex.quote, [*words, *self.options]),
        ]

    @run_before('sanity')
    def read_answer(self):
        """The job's own answer or, where its nodes have no R, one that is made here."""
        said, self.errors = (
            pathlib.Path(self.stagedir, sn.evaluate(name)).read_text(encoding='utf-8')
            for name in (self.stdout, self.stderr)
        )
        if not re.search('^verdict: ', said, re.MULTILINE):
            answer = self.ask('noiselab', 'run', 'acceptance', '--finish', CAMPAIGN, '--no-report', '--lines')
            said, self.errors = answer.stdout, self.errors + answer.stderr
        found = re.findall(r'^(\S+): (\S+)(?: (\S+))?$', said, re.MULTILINE)
        self.words = {name: value for name, value, unit in found if not unit}
        self.keep_files = [CAMPAIGN]
        self.read_nodes()
        self.measured = {}
        for name, value, unit in found:
            if not unit:
                continue
            name, value = without_node(name, self.nodes), figure(value)
            worse_of = min if unit in MORE_IS_BETTER else max
            self.measured[name] = (worse_of(value, self.measured.get(name, (value,))[0]), unit)
        if (
            self.words.get('verdict') == 'inconclusive'
            and not self.is_left_to_references()
            and self.inconclusive == 'skip'
        ):
            self.skip(f'inconclusive: {self.reasons()}')

    def read_nodes(self):
        """Sets nodes: of each its verdict, and the lines that say why."""
        self.nodes = {}
        for path in self.staged(CAMPAIGN, 'nodes', '*'):
            lines = path.read_text(encoding='utf-8').splitlines()
            self.nodes[path.stem] = (
                lines[0].partition(': ')[2],
                [line for line in lines if re.match('failed|why: ', line)],
            )

    def reasons(self):
        """What has the verdict of the whole: checks, and nodes with their reasons."""
        verdict = self.words.get('verdict')
        parts = [
            name.replace('check.', '', 1)
            for name, value in self.words.items()
            if value == verdict and name != 'verdict'
        ]
        for node, (own, why) in self.nodes.items():
            parts += [f'{node}: {"; ".join(why)}'] if own == verdict else []
        return ', '.join(parts)

    def bounded(self):
        """Names of the figures that have references on this system."""
        scopes = ['*', self.current_system.name, self.current_partition.fullname]
        return {
            name for scope in scopes for name in self.systems().get(scope, {}).get(self.reference_key, {})
        }

    def is_left_to_references(self):
        """Whether a run that decided nothing by itself is judged by the references here: all of it ran, and
        its self-check did not miss its load."""
        return (
            self.words.get('verdict') == 'inconclusive'
            and self.words.get('self_check') != 'inconclusive'
            and self.words.get('complete') == 'yes'
            and bool(self.bounded())
        )

    @sanity_function
    def is_accepted(self):
        verdict = 'pass' if self.is_left_to_references() else self.words.get('verdict')
        said = self.errors.strip().splitlines()
        return sn.all(
            [
                sn.assert_in(
                    'verdict',
                    self.words,
                    f'there is no verdict: {verbatim(said[-1]) if said else "see the output of the job"}',
                ),
                sn.assert_eq(verdict, 'pass', f'the verdict is {{0}}: {verbatim(self.reasons())}'),
                sn.assert_eq(
                    sorted(self.bounded() - set(self.measured)),
                    [],
                    'figures that have references were not measured: {0}',
                ),
            ]
        )

    @run_before('performance')
    def choose_figures(self):
        shown = {
            name
            for name in self.measured
            for wanted in self.figures
            if re.fullmatch(re.escape(wanted) + r'(\.\d+)?', name)
        }
        self.perf_variables = {
            name: sn.make_performance_function(self.worst, self.measured[name][1], name)
            for name in sorted(shown | self.bounded())
        }

    @deferrable
    def worst(self, name):
        return self.measured[name][0]
