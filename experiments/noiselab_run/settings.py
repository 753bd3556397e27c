"""What holds for a whole launch, as arms of noiselab run advise: the eager limit, and where ranks are placed.
Each launch has one setting, in sets in random order."""
import os
import re
from typing import Any, Dict, List, Set, Tuple

from noiselab_run import document, files
from noiselab_run.launch import Step
from noiselab_run.nodes import ALL
from noiselab_run.process import signals
from noiselab_run.schedule import Plan
from noiselab_run.text import Stop, die, first_line, say_seconds, shuffled

# a little below and above the powers of two, so that a step is seen where it is
EAGER_BYTES = '960,1088,1920,2176,3840,4352,7680,8704,15360,17408,30720,34816,61440,69632'
WAYS = ('core', 'socket', 'numa', 'socket,rank-by-core', 'hwthread')
WAYS_OF_SRUN = ('block:block', 'block:cyclic', 'block:fcyclic')


def bytes_of_sizes(text: str) -> List[int]:
    """Sizes in bytes; none where one of them is no size."""
    found = [re.fullmatch('([1-9][0-9]*)(B|KiB|MiB)?', size) if len(size) <= 9 else None
             for size in text.split(',')]
    scale = {None: 1, 'B': 1, 'KiB': 1024, 'MiB': 1024 * 1024}
    return [int(each.group(1)) * scale[each.group(2)] for each in found if each] if all(found) else []


def mapping_words(way: str) -> str:
    """A way to place ranks as variables of Open MPI 4 and 5, with blanks between them."""
    by, _, rank_by = way.partition(',')
    bind = 'hwthread' if way == 'hwthread' else 'core'
    words = ['OMPI_MCA_rmaps_base_mapping_policy=' + by, 'OMPI_MCA_hwloc_base_binding_policy=' + bind,
             'PRTE_MCA_rmaps_default_mapping_policy=' + by.replace('socket', 'package', 1),
             'PRTE_MCA_hwloc_default_binding_policy=' + bind]
    if rank_by:
        words += ['OMPI_MCA_rmaps_base_ranking_policy=core', 'PRTE_MCA_rmaps_default_ranking_policy=fill']
    return ' '.join(words)


def environment_of(setting: str) -> Dict[str, str]:
    """NAME=VALUE with blanks between them."""
    return dict(word.split('=', 1) for word in setting.split())


class Settings:
    """The arms of one command, which --arms names."""

    def __init__(self, experiment: Any) -> None:
        self.experiment = experiment
        self.options = experiment.options
        self.launcher = experiment.launcher
        self.nodes = experiment.nodes
        self.limits = []  # type: List[int]
        self.compares, colon, sizes = self.options['arms'].partition(':')
        wrong = self.compares not in ('algorithms', 'eager', 'mapping') or (colon
                                                                            and self.compares != 'eager')
        if wrong:
            die(2, "--arms: '%s' is not algorithms, eager (eager:16KiB,64KiB) or mapping"
                % self.options['arms'])
        if colon:
            self.limits = bytes_of_sizes(sizes)
            if not self.limits:
                die(2, "--arms: '%s': the limits are sizes (try eager:16KiB,64KiB)" % self.options['arms'])
        if self.compares != 'algorithms':
            self._check()

    def _check(self) -> None:
        options = self.options
        if options.was_given('--arrival'):
            die(2, '--arrival: late ranks are of --arms algorithms; leave it out')
        options['arrival'] = 'none'
        self.experiment.campaign.plans_again = None
        if self.compares == 'mapping' and options['hosts']:
            die(2, '--arms mapping: mpirun starts a context on each node, and no mapping holds for all: in '
                'a Slurm job srun can compare them')
        if options['submit']:
            self.experiment.plan_later = 'what the library uses is known after a look on the nodes'
        if not options.was_given('--op'):
            options['op'] = 'loadtest' if self.compares == 'eager' else 'allreduce,bcast,alltoall'
        if not options.was_given('--bytes') and self.compares == 'eager':
            options['bytes'] = EAGER_BYTES

    def _look(self, name: str, setting: str) -> Tuple[Step, bool]:
        """A short launch with this setting; its record is then in the scratch folder. False: it did not
        start."""
        step, scratch = Step(name), self.experiment.scratch
        step.env.update(environment_of(setting))
        step.said_to = os.open(scratch(name + '.said'), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.launcher.launch(step, self.experiment.ranks, [
            '--out', scratch('looks'), '--launch-id', name, '--op', 'barrier', '--design', 'single',
                                                           '--levels', 'none', '--seconds', '100ms',
            '--warmup', '0s', '--progress', 'off'])
        os.close(step.said_to)
        if signals.interrupted:
            die(2, 'interrupted; nothing was measured')
        return step, step.status == 0 and os.path.isfile(self._record(name))

    def _record(self, name: str) -> str:
        return str(self.experiment.scratch('looks/%s/launch.json' % name))

    def find(self) -> List[str]:
        """The arms, each NAME=VALUE with blanks between them; first that with which the others are compared.
        """
        self.launcher.choose()
        signals.catch()
        found = self._find_eager() if self.compares == 'eager' else self._find_mappings()
        signals.end()
        return found

    def _find_eager(self) -> List[str]:
        step, has_started = self._look('look-eager', '')
        if not has_started:
            reason = first_line(files.read_or(self.experiment.scratch('look-eager.said')))
            die(2, 'a first look ended with status %d: %s' % (step.status, reason))
        said = document.of_file(self._record('look-eager'))

        def parameter(name: str) -> str:
            try:
                return said.text('mpi.parameters.' + name)
            except Stop:
                return ''

        carries = parameter('pml')
        if carries == 'ob1':
            for transport in ([] if self.nodes.n_nodes == 1 else ['tcp']) + ['vader', 'sm']:
                limit = parameter('btl_%s_eager_limit' % transport)
                if limit:
                    n = int(limit)
                    values = [n] + (self.limits or [n // 4, n * 4, n * 16])
                    return ['OMPI_MCA_btl_%s_eager_limit=%d' % (transport, value)
                            for value in dict.fromkeys(values)]
            die(2, '--arms eager: the MPI library says of no transport here up to which size it sends at '
                'once')
        if carries == 'ucx':
            return ['UCX_RNDV_THRESH=%s' % value for value in ['auto']
                    + [str(n) for n in self.limits or (2048, 8192, 65536)]]
        die(2, '--arms eager: neither ob1 nor ucx of Open MPI carries messages here, and of no other it is '
            'known how its limit is set')

    def _find_mappings(self) -> List[str]:
        """Of the ways to place ranks those that differ on these nodes."""
        if self.launcher.kind == 'srun':
            ways = ['SLURM_DISTRIBUTION=' + way for way in WAYS_OF_SRUN
                    + (() if self.nodes.n_nodes == 1 else ('cyclic:block',))]
        elif self.launcher.flavour == 'openmpi':
            ways = [mapping_words(way) for way in WAYS]
        else:
            die(2, "--arms mapping: of Open MPI's mpirun and of srun it is known how ranks are placed, and "
                "not of this mpirun")
        found, seen = [], set()  # type: Tuple[List[str], Set[str]]
        for i, way in enumerate(ways, 1):
            # a machine without NUMA nodes refuses to map by them
            _, has_started = self._look('look-%d' % i, way)
            if not has_started:
                continue
            said = document.of_file(self._record('look-%d' % i))
            place = repr((said.all('placement.*.host'), said.all('placement.*.binding')))
            if place not in seen:
                seen.add(place)
                found.append(way)
        if len(found) < 2:
            die(0, '--arms mapping: %d ranks are on the same CPUs whichever way they are mapped here (core, '
                'socket, NUMA node, hardware thread):'
                % self.experiment.n_ranks, 'nothing is measured')
        return found

    def plan(self, plan: Plan, words: List[str]) -> None:
        """Sets of launches, one for each setting."""
        if plan.is_dry:
            plan.unknown.append('%d sets of launches, one for each setting, take %s with their starts '
                                '(--seconds); a first look finds the settings'
                                % (self.experiment.n_launches, say_seconds(int(self.options['seconds']))))
            return
        settings = self.find()
        campaign, n_sets, seed = self.experiment.campaign, self.experiment.n_launches, self.experiment.seed
        start_s, seconds, n_launches = campaign.start_s, int(self.options['seconds']), n_sets * len(settings)
        each_s = seconds // n_launches - start_s
        if each_s < 1:
            die(2, '--seconds: %d is too short for %d sets of %d launches: at least %d'
                % (seconds, n_sets, len(settings), n_launches * (start_s + 1)))
        campaign.notes = ['arms: ' + self.compares, 'reference: ' + settings[0]] + campaign.notes
        per_node = self.experiment.n_ranks // self.experiment.n_set_nodes
        for number, setting in shuffled(seed, n_sets, settings):
            plan.row(str(number), ALL, self.experiment.ranks, ['--with=' + word for word in setting.split()]
                     + words
                     + ['--noise-nodes', 'first', '--on', 'rank:%d' % ((seed + number) % per_node),
                        '--seconds', '%ds' % each_s,
                        '--seed', str(seed + plan.number + 1)], label=setting)
