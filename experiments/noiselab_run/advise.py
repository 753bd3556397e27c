"""advise: which collective algorithm of the MPI library is the fastest on this machine, quiet and under
noise, and how to select it"""
import re
from typing import List, Tuple

from noiselab_run import files
from noiselab_run.advice import Rules, rows_of
from noiselab_run.advise_next import replanned
from noiselab_run.advise_program import ForProgram
from noiselab_run.plan import SWITCH_S
from noiselab_run.process import ask
from noiselab_run.schedule import Plan
from noiselab_run.settings import Settings
from noiselab_run.text import check_level, die, first_line, nanoseconds, note, whole, without

# what an arm takes of a launch, s: its communicator and pilot; and eight rounds of two halves, as fewer say
# little
ARM_START_S, LEAST_ROUNDS = 0.3, 8


class Advise(ForProgram):
    NAME = ANALYSIS = 'advise'
    OPTIONS = 'value arms op bytes level half-period arrival seconds profile verify'
    USAGE = '''\
Usage: noiselab run advise [OPTIONS] [-- COMMAND [ARGUMENT...]]

Compares the algorithms that the MPI library has for its collectives (Open MPI: of its component tuned;
MPICH), each as an arm of its own in every launch, beside the library's default, quiet and with noise on one
rank, which goes round over nodes and ranks; nodes change places, too. The first third of the launches chooses
a candidate for each operation and size; the others, which did not choose it, say what it gains. What is
decided by then, and algorithms that are slower for certain, get no more time: the rest has it all, in
launches that are planned again at each third. Where one is shown to be faster the answer is a file of rules
(MPICH: variables), and how to use it. Two short launches try them first: what the library does not follow is
not advised.

  --arms WHAT       what is compared: algorithms (default); eager: the sizes up to which messages go at once
                    (eager:16KiB,64KiB); mapping: places of ranks, where they differ here. The last two hold
                    for a whole launch: --launches sets with a launch for each, in random order, a third of
                    which choose
  --op LIST         operations (default allreduce,bcast,alltoall,barrier,reduce); OP:SIZE has a size of its
                    own
  --bytes LIST      message sizes (default 8,2KiB,256KiB)
  -- COMMAND        a program (mpirun -n 4 ./app): it runs once under noiselab profile, and in place of --op
                    and --bytes come its own blocking collectives, those that have 1 % of its time or more;
                    the answer says what it gains
  --profile DIR     the same by a profile that there is
  --verify N        with a program: N pairs of runs, without the rules and with them in random order, say
                    whether the gain came true
  --ranks N         number of ranks (default: one per allowed core)
  --level LEVEL     the noise, in percent of one CPU (default 5)
  --half-period T   length of a half (default 10ms)
  --arrival NAME    late ranks, in halves of their own beside the noise's: what they cost (default
                    late-any:amount=50us; with a program as late as its own ranks; none: leave them out; see
                    noiselab detect --list arrivals)
  --seconds TIME    time for all of it, whole seconds (default 600). Where it is too short, or the machine is
                    busy, fewer operations and sizes are compared, the first of the lists
  --launches N      launches of the first plan (default 12, at least 4)
  --margin PERCENT  a gain that would matter (default 5): below it the default is kept
  --seed N          seed of the first launch (default: from the clock)

Everything else goes to noiselab-detect as it is (noiselab detect --help).
Exit status 3: undecided for an operation and size.
'''

    def defaults(self) -> None:
        self.options.values.update(op='allreduce,bcast,alltoall,barrier,reduce', bytes='8,2KiB,256KiB',
                                   level='5', half_period='10ms', seconds='600',
                                   arms='algorithms')
        self.campaign.plans_again = self._plan_what_is_left

    def refuse(self, name: str) -> None:
        reason = {
            '--levels': 'one level of noise is enough here: --level',
            '--on': 'the noise goes from node to node and rank to rank, launch by launch; leave it out',
            '--noise-nodes': 'the noise goes from node to node and rank to rank, launch by launch; leave it '
                  'out',
            '--launch-id': 'launches need names of their own; leave it out'}.get(name)
        if name in ('--design', '--block', '--count'):
            reason = 'half-periods are what is compared; leave it out'
        if reason:
            die(2, '%s: %s' % (name, reason))

    def asks(self) -> bool:
        return True

    def questions(self) -> List[str]:
        rules, margin = Rules(self), self.options['margin']
        rules.try_them()
        rules.verify_program()
        path = self.campaign.folder + '/advice.rules'
        for each in (path, path + '.han'):  # of an earlier answer, or what was tried
            files.remove_tree(each)
        return ['--write', 'rules=' + path] + (['--margin', margin] if margin else [])

    def check(self, words: List[str]) -> None:
        options = self.options
        options['level'] = without(options['level'], '%')
        options['seconds'] = without(options['seconds'], 's')
        launches = self.seed_and_launches(12)
        seconds = whole('--seconds', options['seconds'])
        if launches < 4:
            die(2, '--launches: %d is too few: two choose, and two confirm (try 12)' % launches)
        check_level('--level', options['level'], '5')
        self.settings = Settings(self)
        by_algorithm = self.settings.compares == 'algorithms'
        # of settings the library says how many launches a set has (Settings.plan)
        if by_algorithm and seconds < 4 * launches:
            die(2, '--seconds: %d is too short for %d launches: at least %d'
                % (seconds, launches, 4 * launches))
        self.check_program()
        self.algorithms = {}
        if by_algorithm:
            self._list_algorithms()
        has_program = bool(options.program or options['profile'])
        if has_program:
            self.take_profile()
        self.ranks = self.nodes.ranks_column()
        self.n_set_nodes = self.nodes.number_of(self.nodes.sets[0])
        # of a job that is only submitted the cores are not known yet: its own plan counts them
        each = 2 if options['submit'] else self.nodes.cores
        self.n_ranks = int(options['ranks'] or each * self.n_set_nodes)
        if self.n_ranks < 2:
            die(2, '--ranks: %d rank has nobody to talk to: at least 2' % self.n_ranks)
        if has_program:
            options['op'] = ','.join('%s:%s' % (row['operation'], row['bytes'])
                                     if float(row['bytes'] or 0) > 0 else row['operation']
                                     for row in self.worth)
        if '=' in options['op']:
            die(2, "--op: '%s': all algorithms of an operation are compared; leave what is behind the = out"
                % options['op'])
        options['arrival'] = options['arrival'] or 'late-any:amount=50us'
        # a setting acts in every operation: the typical one says it, whatever else the machine does
        words = ['--arrival', options['arrival'], '--per-operation-timing', 'off' if by_algorithm else 'on',
                 '--half-period', options['half_period'],
                 '--levels', options['level']] + words
        named = ['--op', options['op'], '--bytes', options['bytes']]
        self.rehearse(named + words)
        self.campaign.planned_files += (['advice.program'] if has_program else []) + ['profiles']
        if options['verify']:
            self.campaign.notes += ['verify: ' + options['verify'], 'program: ' + self.advised_program]
        if not by_algorithm:
            self.go_on(named + words)
            return
        self._fit_time(self._compared())
        words = ['--op', self.compared] + words
        self.rehearse(words + ['--seconds', '%ds' % self.each_s])
        # which launches choose, and after which there is a look, is part of the plan
        third = (launches + 2) // 3
        self.campaign.notes = ['stages: %d,%d,%d' % (third, launches - (launches - third) // 2, launches),
                               'budget_s: %d' % seconds] + self.campaign.notes
        self.go_on(words)

    # ---- what is compared

    def _list_algorithms(self) -> None:
        said = ask([self.programs.path('noiselab-detect'), '--list', 'algorithms'], stderr=None)
        if said.status:
            die(2, 'run advise compares algorithms that Open MPI and MPICH let one choose, and this MPI '
                'library does not')
        for row in rows_of(said.out):
            self.algorithms.setdefault(row['operation'], []).append(row['algorithm'])

    def _compared(self) -> List[str]:
        """For each operation and size the library's default and every algorithm of it that runs on so many
        ranks, as words of --op."""
        said = self.rehearsal.said
        out = []  # type: List[str]
        for operation, n_bytes in zip(said.all('operations.*.operation'), said.all('operations.*.bytes')):
            names = [name for name in self.algorithms.get(operation, []) if name != 'two_proc'
                     or self.n_ranks == 2]
            if not names:
                die(2, "--op: this MPI library lets nobody choose the algorithm of '%s' (noiselab detect "
                    "--list algorithms says of which)" % operation)
            size = ':%s' % n_bytes if n_bytes else ''
            out.append(','.join('%s=%s%s' % (operation, name, size) for name in ['default'] + names))
        return out

    def _fit_time(self, cases: List[str]) -> None:
        """Of the cases the first ones that a launch of its share of the time holds, one at least."""
        seconds, start_s = int(self.options['seconds']), self.campaign.start_s
        each_s = seconds / self.n_launches
        rounds = LEAST_ROUNDS * (1 if self.options['arrival'] == 'none' else 2)
        arm_s = ARM_START_S + rounds * 2 * (nanoseconds(self.options['half_period']) / 1e9 + SWITCH_S)
        n_arms = n_kept = n = 0
        for i, case in enumerate(cases, 1):
            n_arms += case.count(',') + 1
            if i == 1 or start_s + n_arms * arm_s <= each_s:
                n, n_kept = i, n_arms
        self.each_s = int(max(1, each_s - start_s - n_kept * ARM_START_S))
        self.campaign.start_s = int(start_s + n_kept * ARM_START_S)
        if n < len(cases):
            note('%d s are enough for the first %d of %d cases; more time (--seconds) compares more of them'
                 % (seconds, n, len(cases)))
        self.compared = ','.join(cases[:n])

    # ---- the launches

    def plan(self, plan: Plan, words: List[str]) -> None:
        if self.settings.compares != 'algorithms':
            self.settings.plan(plan, words)
            return
        for i in range(self.n_launches):
            rotate, node, rank = self._place(self.seed % 1000 + i)
            where = ['--noise-nodes', 'first'] if self.n_set_nodes == 1 else ['--rotate=%d:1' % rotate,
                                                                              '--noise-node=%d' % node]
            plan.row('-', self.nodes.sets[i % len(self.nodes.sets)], self.ranks,
                     where + words + ['--on', 'rank:%d' % rank, '--seconds', '%ds' % self.each_s, '--seed',
                                      str(self.seed + i + 1)])

    def _place(self, i: int) -> Tuple[int, int, int]:
        """Of the i-th launch, from 0: which node has rank 0, and so the roots, which one from there on has
        the noise, and which of its ranks. All go round, and not together: what a node is by itself is neither
        a root's nor the noise's."""
        use, per_node = self.nodes.spread('--ranks', str(self.n_ranks), self.n_set_nodes)
        turn, rotate = divmod(i, self.n_set_nodes)
        return rotate, (turn + (i if use > 2 else 0)) % use + 1, (rotate + turn) % per_node

    def _plan_what_is_left(self) -> bool:
        """After the first launch, and at the end of a stage: what is to go on, in the time that is left."""
        campaign, schedule = self.campaign, self.campaign.schedule
        stages = schedule.value('stages')
        if self.options['only'] or campaign.n_elsewhere or not stages:
            return False
        n_now = campaign.count_now()
        if n_now >= schedule.n_planned or str(n_now) not in ['1'] + stages.split(','):
            return False
        if not files.in_path('Rscript'):
            note('R is missing here, so what is decided is not known: all launches run as planned')
            return False
        path, margin = self.scratch('next'), self.options['margin']
        files.remove_tree(path)
        said = ask([self.programs.path('noiselab-analyze'), 'advise', '--write', 'plan=' + path]
                   + (['--margin', margin] if margin else [])
                   + [campaign.folder])
        if said.status:
            note('the analysis failed, so all launches run as planned: ' + first_line(said.err))
        new = dict(re.findall('^([^ \n]+) ?(.*)$', files.read_or(path), re.MULTILINE))
        if not new:
            return False
        note(new.get('why', ''))
        schedule.change(lambda lines, complete: replanned(lines, complete, new, n_now))
        campaign.count_now()
        return True
