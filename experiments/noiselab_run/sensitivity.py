"""sensitivity: how much noise slows which collective down on this machine or these nodes, and the smallest
level that can be detected"""
import os
from typing import List, Tuple

from noiselab_run.experiment import Experiment
from noiselab_run.nodes import split
from noiselab_run.plan import reach
from noiselab_run.program import check_program
from noiselab_run.schedule import Plan
from noiselab_run.text import countable, die, nanoseconds, note, say_time, shuffled, whole


class Sensitivity(Experiment):
    NAME = 'sensitivity'
    OPTIONS = '''
flag app
value op bytes levels seconds design launch-id
seen arms
'''
    USAGE = '''\
Usage: noiselab run sensitivity [OPTIONS]

Runs noiselab-detect on all allowed cores of this machine, or of the nodes of a Slurm job, analyses the
campaign and writes its report.

  --ranks N       number of ranks (default: one per allowed core)
  --launches N    launches (default 1). With one to four the result holds for these launches; with five or
                  more for launches like these
  --design launches
                  the published design: N sets (default 10), each with one launch per arm (off and every
                  level) in random order; --seconds is the measuring time of all launches together
  --seed N        seed of the first launch; each further launch adds one
  --app -- COMMAND
                  a program of yours in place of operations: COMMAND (mpirun -n 4 ./app) runs once for each
                  launch, and the load is switched on and off while it does. Defaults: --levels 0,1,5; halves
                  hold whole repetitions of the program's beat, an MPI call that is found, or said by --beat
                  (such as allreduce:8)

Everything else goes to noiselab-detect as it is (noiselab detect --help); the defaults are
  --design lockin --op barrier,allreduce,alltoall --bytes 2KiB --levels 0,0.01,0.1,1,5 --seconds 120
which takes less than three minutes. Level 0 is the placebo; 5 is the positive control, which every working
set-up detects. Before the first launch the plan says how small a slowdown can be detected.

To compare kinds of load at the same level, or to use a recorded agent instead of a synthetic load:
  noiselab run sensitivity --kind spin,cache,procfs,ipi --levels 0,0.3,1
  noiselab run sensitivity --preset node_exporter --levels 0,0.1,1 --half-period 50ms
'''

    def defaults(self) -> None:
        self.options.values.update(op='barrier,allreduce,alltoall', bytes='2KiB', levels='0,0.01,0.1,1,5',
                                   seconds='120')

    def check(self, words: List[str]) -> None:
        options = self.options
        check_program(options)
        in_launches = options['design'] == 'launches'
        if options['app']:
            if in_launches:
                die(2, '--design launches: with --app the load is switched while the program runs; leave it '
                    'out')
            if not options.was_given('--levels'):
                options['levels'] = '0,1,5'
            words = ['--app', 'profiles'] + words
        else:
            words = ['--op', options['op'], '--bytes', options['bytes']] + words
        if in_launches:
            options['launches'] = options['launches'] or '10'
            options.refuse_given(': --design launches makes many launches, which get theirs from it; leave '
                                 'it out', '--arms', '--launch-id')
        elif options['design']:
            words = words + ['--design', options['design']]
        options['launches'] = options['launches'] or '1'
        self.n_rounds = whole('--launches', options['launches']) * len(self.nodes.sets)
        self._check_name(options['launch_id'])
        self.seed_from_clock()
        # earlier versions counted with it in a shell, which took it for octal
        if len(options['seed']) > 1 and options['seed'].startswith('0') and options['seed'][1].isdigit():
            die(2, "--seed: '%s' begins with a zero; leave that out" % options['seed'])
        if self.n_rounds > 1 or in_launches:
            countable(options['seed'])
        self.ranks = '-' if options['app'] else self.nodes.ranks_column()
        measures = ['--levels', options['levels'], '--seconds', options['seconds']]
        if in_launches:
            words = words + ['--design', 'single']
            self.rehearse(words + ['--arms', 'on'] + measures)
            self._share_out()
            if options['dry_run'] and not options['submit'] and not options.was_given('--json'):
                self.rehearsal.shown = '\n'.join('set %d: %s' % (turn, arm if arm == 'off' else arm + ' %')
                                                 for turn, arm, _ in self._arms())
        else:
            name = ['--launch-id', options['launch_id']] if options['launch_id'] else []
            self.rehearse(words + measures + ['--seed', options['seed']] + name)
            if not options['app']:
                self.reach = reach(self.rehearsal.said, self.n_rounds)
        self.go_on(words)

    def _check_name(self, launch_id: str) -> None:
        """A name is taken by other things in a campaign, or by a launch that would count as this one."""
        if not launch_id:
            return
        if self.n_rounds > 1:
            die(2, '--launch-id: launches need names of their own; leave it out')
        folder = self.campaign.folder
        if launch_id in ('launch', 'claims', 'partial') or os.path.exists(folder + '/' + launch_id):
            die(2, "--launch-id: '%s' is taken in '%s'; choose another name" % (launch_id, folder))

    def _share_out(self) -> None:
        """The time over the launches, in whole noise periods for each loop of a launch: an operation, size
        and treatment."""
        options, said = self.options, self.rehearsal.said
        n_arms = options['levels'].count(',') + 2
        n_launches = self.n_launches * n_arms * len(self.nodes.sets)
        n_loops = said.number('halves_per_round') // (n_arms - 1)
        grid_ns = n_loops * said.number('noise_period_ns')
        self.each_ns = nanoseconds(options['seconds']) // n_launches // grid_ns * grid_ns
        if self.each_ns <= 0:
            die(2, '--seconds: %s is too short for %d launches of %d loop(s): with a second for each they '
                'take' % (options['seconds'], n_launches, n_loops),
                say_time(n_launches * n_loops))
        note('%d sets of %d launches in random order (--seed %s), %.3g s of measuring each'
             % (self.n_launches, n_launches // self.n_launches, options['seed'], self.each_ns / 1e9))

    def _arms(self) -> List[Tuple[int, str, str]]:
        """For each launch: its round, arm (off or a level) and nodes."""
        lines = self.nodes.on_each_set(['off'] + [level
                                                  for level in self.options['levels'].split(',') if level])
        return [(turn,) + split(line) for turn, line in shuffled(self.seed, self.n_launches, lines)]

    def plan(self, plan: Plan, words: List[str]) -> None:
        options, seed = self.options, options_seed(self.options['seed'])
        if options['design'] == 'launches':
            for turn, arm, nodes in self._arms():
                number = self.nodes.set_of_launches(turn, nodes)
                arms = ['--arms', 'off:set=%d' % number] if arm == 'off' else ['--arms', 'on:set=%d' % number,
                                                                               '--levels', arm]
                plan.row(str(number), nodes, self.ranks, words + arms
                         + ['--seconds', '%dns' % self.each_ns, '--seed', str(seed + plan.number)])
            return
        for _, nodes in shuffled(seed, self.n_launches, self.nodes.sets):
            # a given seed names the first launch; the others must not repeat its order
            own = options['seed'] if self.n_rounds == 1 else str(seed + plan.number)
            plan.row('-', nodes, self.ranks, words
                     + ['--levels', options['levels'], '--seconds', options['seconds'], '--seed', own])


def options_seed(text: str) -> int:
    """A seed that only one launch has may be what the detector takes, and that is more than whole numbers of
    18 digits."""
    return int(text) if text.isdigit() else 0


