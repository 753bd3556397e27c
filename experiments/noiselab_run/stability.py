"""stability: which operation, size and number of ranks has repeatable times, reacts to noise, and is the most
sensitive for its measuring time"""
from typing import List, NamedTuple

from noiselab_run import document, files
from noiselab_run.experiment import Experiment
from noiselab_run.launch import Step
from noiselab_run.nodes import split
from noiselab_run.process import signals
from noiselab_run.schedule import Plan
from noiselab_run.text import check_level, die, parts_of, shuffled, whole, without

# a launch of each configuration: what decides its words; a count of - is half-periods
Configuration = NamedTuple('Configuration', [('ranks', str), ('nodes', str), ('count', str),
                                             ('block_us', int), ('time_s', int), ('period_us', int)])


def of_count(ranks: str, nodes: str, count: str, times_ns: List[float], seconds: int) -> Configuration:
    """The configuration of blocks of so many operations, which take these times (one for each operation and
    size)."""
    n = int(count)
    # a noise period must fit into the shortest block, also where a shared machine becomes several times as
    # fast as it looked
    period_us = int(n * min(times_ns) / 5000)
    if period_us < 1000:
        die(2, '--counts: %s operations take about %d us with %s rank(s),' % (count, 5 * period_us, ranks),
            'and blocks of 5 ms are the shortest that hold noise periods: take more')
    # a set has a block off and one at each of two levels, for each operation and size; 7 sets are what a test
    # needs
    least_s = int(7 * 3 * sum(times_ns) * n / 1e9 * 1.05) + 1
    block_us = int(n * sum(times_ns) / len(times_ns) / 1000) + 1
    return Configuration(ranks, nodes, count, block_us, max(least_s, seconds), min(period_us, 10000))


class Stability(Experiment):
    NAME = ANALYSIS = 'stability'
    OPTIONS = 'value op bytes counts half-period reference seconds'
    USAGE = '''\
Usage: noiselab run stability [OPTIONS]

Runs noiselab-detect several times, in random order, for each number of ranks and each number of operations in
a block, with the placebo and one reference level. Then it names the configurations that are repeatable and
react to the level (stage 1 of the published method), the half-period that suits them, and the next command.

  --op LIST         operations (default barrier,allreduce,alltoall)
  --bytes LIST      message sizes (default 2KiB)
  --ranks LIST      numbers of ranks, separated by commas (default: powers of two from 2 up to the allowed
                    cores, and their number)
  --counts LIST     also blocks of so many operations, separated by commas (default: none, only half-periods)
  --half-period T   length of a half (default 10ms)
  --reference LEVEL the level that must be detected, in percent of one CPU (default 1)
  --seconds TIME    measuring time of a launch, whole seconds (default 10); with --counts longer where 7 sets
                    need it
  --launches N      launches of each configuration (default 7: enough to show a scatter below 5 % when it is
                    below 2 %)
  --seed N          seed of the order of launches, and of the first launch (default: from the clock)

Everything else goes to noiselab-detect as it is (noiselab detect --help). It prints the total time before it
starts. Exit status 3: no configuration is shown to be repeatable and to react.
'''

    def defaults(self) -> None:
        self.options.values.update(op='barrier,allreduce,alltoall', bytes='2KiB', half_period='10ms',
                                   reference='1', seconds='10')

    def refuse(self, name: str) -> None:
        reason = {
            '--levels': 'the levels are 0 and the one of --reference',
            '--design': 'half-periods, and blocks of --counts operations, are what is compared; leave it out',
            '--block': 'half-periods, and blocks of --counts operations, are what is compared; leave it out',
            '--count': 'give the counts to compare as --counts 1000,10000',
            '--launch-id': 'launches need names of their own; leave it out',
            '--margin': 'stability asks for no margin; ask sensitivity'}.get(name)
        if reason:
            die(2, '%s: %s' % (name, reason))

    def asks(self) -> bool:
        return True

    def check(self, words: List[str]) -> None:
        options = self.options
        options['reference'] = without(options['reference'], '%')
        options['seconds'] = without(options['seconds'], 's')
        self.seed_and_launches(7)
        whole('--seconds', options['seconds'])
        check_level('--reference', options['reference'], '1')
        self.nodes.list_of_ranks(2)
        if options['counts']:
            for count in parts_of('--counts', options['counts'], '1000,10000'):
                whole('--counts', count)
            if options['submit']:
                self.plan_later = ('what a block of --counts operations takes is known after a look on the '
                                   'nodes')
        words = ['--op', options['op'], '--bytes', options['bytes']] + words
        self.levels = ['--levels', '0,' + options['reference']]
        self.rehearse(['--half-period', options['half_period']] + self.levels
                      + ['--seconds', options['seconds'] + 's'] + words)
        self.go_on(words)

    def plan(self, plan: Plan, words: List[str]) -> None:
        options = self.options
        seconds = int(options['seconds'])
        on_sets = self.nodes.on_each_set(options['ranks'].split(','))
        configurations = [Configuration(*split(line), '-', 0, seconds, 0) for line in on_sets]
        if options['counts'] and plan.is_dry:
            plan.unknown.append('what blocks of --counts operations take is known after a first look, and is '
                                'added')
        elif options['counts']:
            configurations += self._look_at_counts(on_sets, words)
        n, launches = len(configurations), self.n_launches
        # every configuration once in each round, in an order of its own, so that a machine that drifts is no
        # effect of the configuration
        for turn, i in shuffled(self.seed, launches, [str(i) for i in range(n)]):
            it = configurations[int(i)]
            # a period that was asked for comes later, and so first
            how = ['--half-period', options['half_period']] if it.count == '-' else \
                ['--design', 'blocks', '--count', it.count, '--block', '%dus' % it.block_us, '--period',
                 '%dus' % it.period_us]
            plan.row(str(turn), it.nodes, it.ranks,
                     how + self.levels + ['--seconds', '%ds' % it.time_s, '--seed',
                                          str(self.seed + plan.number + 1)] + words,
                     label='%s ranks%s' % (it.ranks, '' if it.count == '-' else ', blocks of %s' % it.count))

    def _look_at_counts(self, on_sets: List[str], words: List[str]) -> List[Configuration]:
        """What a block of each count takes is known only after a look: a short clean launch for each number
        of ranks."""
        out = []  # type: List[Configuration]
        self.launcher.choose()
        signals.catch()
        for line in on_sets:
            ranks, nodes = split(line)
            step, folder = Step('look-' + ranks, nodes), self.scratch(ranks)
            self.launcher.launch(step, ranks, ['--out', folder, '--design', 'single', '--levels', 'none',
                                               '--seconds', '300ms'] + words
                                 + ['--progress', 'off'])
            if signals.interrupted:
                die(2, 'interrupted; nothing was measured')
            if step.status:
                die(2, 'a first look at %s rank(s) ended with status %d' % (ranks, step.status))
            times_ns = document.of_file(next(files.with_file(folder, 'launch.json'))).all('cells.*.pilot_ns')
            files.remove_tree(folder)
            out += [of_count(ranks, nodes, count, times_ns, int(self.options['seconds']))
                    for count in self.options['counts'].split(',')]
        signals.end()
        return out
