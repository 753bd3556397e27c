"""reproducibility: how well the mean time of an operation repeats from launch to launch, for each number of
ranks"""
from typing import List

from noiselab_run.experiment import Experiment
from noiselab_run.nodes import split
from noiselab_run.schedule import Plan
from noiselab_run.text import die, shuffled


class Reproducibility(Experiment):
    NAME = ANALYSIS = 'reproducibility'
    OPTIONS = 'value design levels starts op bytes seconds'
    USAGE = '''\
Usage: noiselab run reproducibility [OPTIONS]

Runs noiselab-detect repeatedly for each number of ranks, with synchronised starts and without noise, and
reports the scatter of the launch means (relative standard error), as MPIPerf does.

  --ranks LIST    numbers of ranks, separated by commas (default: powers of two up to the allowed cores, and
                  their number)
  --launches N    launches for each of them (default 10; at least 3 give an answer)
  --seed N        seed of the first launch; each further launch adds one

Everything else goes to noiselab-detect as it is (noiselab detect --help); the defaults are
  --design single --levels none --starts window:raw=starts.bin --op barrier,allreduce,alltoall --bytes 2KiB
                  --seconds 1
From the raw files noiselab analyze mpiperf DIR makes the published report; they take 8 + 12 x ranks bytes per
start.
'''

    def defaults(self) -> None:
        self.options.values.update(design='single', levels='none', starts='window',
                                   op='barrier,allreduce,alltoall', bytes='2KiB', seconds='1')

    def refuse(self, name: str) -> None:
        if name == '--launch-id':
            die(2, '--launch-id: launches need names of their own; leave it out')
        if name == '--margin':
            die(2, '--margin: belongs to experiments with a treatment')

    def check(self, words: List[str]) -> None:
        options = self.options
        self.seed_and_launches(10)
        self.nodes.list_of_ranks(1)
        if 'raw=' not in options['starts']:
            options['starts'] += (',' if ':' in options['starts'] else ':') + 'raw=starts.bin'
        words = [word for name in ('seconds', 'bytes', 'op', 'starts', 'levels', 'design')
                 for word in ('--' + name, options[name])] + words
        self.rehearse(words)
        self.go_on(words)

    def plan(self, plan: Plan, words: List[str]) -> None:
        # a launch of every count and set of nodes in each round, so that a machine that drifts does not look
        # like an effect of the ranks
        for turn, line in shuffled(self.seed, self.n_launches,
                                   self.nodes.on_each_set(self.options['ranks'].split(','))):
            ranks, nodes = split(line)
            plan.row(str(turn), nodes, ranks, words + ['--seed', str(self.seed + plan.number)])
