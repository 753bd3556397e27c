"""acceptance: is this cluster, or machine, quiet and correct enough, and which node is not"""
import os
from typing import List, Tuple

from noiselab_run import document, files
from noiselab_run.acceptance_answer import Judged
from noiselab_run.acceptance_plan import SelfCheck, drawn_kind, order_of_nodes
from noiselab_run.nodes import ALL
from noiselab_run.process import ask
from noiselab_run.schedule import Plan
from noiselab_run.text import (Stop, check_level, countable, die, nanoseconds, note, put, quoted, shuffled,
                               whole, without)


class Acceptance(Judged):
    NAME = ANALYSIS = 'acceptance'
    PROGRAM = 'noiselab-accept'
    ASKS_MARGIN = False
    OPTIONS = '''
value checks
flag quick full
value seconds repetitions limits classes
list reference=references
value self-check=self_check_wanted
flag json lines
value junit
'''
    # how an answer is written may differ each time
    WITH_RESUME = ('--json', '--lines', '--junit')
    USAGE = '''\
Usage: noiselab run acceptance [OPTIONS]

Runs noiselab-accept on all allowed cores of this machine, of the nodes of a Slurm job, or of --hosts: several
launches, each with the nodes in another order, so that a slow node is not confused with a slow place in the
network; a self-check; then the verdict, by check and by node.

What is checked:
  --list checks     the checks, their units and what they measure
  --checks LIST     some of them (default: all but those on request)
  --quick           36 s of measuring in total, few message sizes (default; with --reference so long that a
                    healthy node passes with probability 0.95, by noiselab plan acceptance, 10 minutes at
                    most)
  --full            ten minutes
  --seconds TIME    measuring time of all launches of the checks together, in place of that
  --wait-quiet TIME before each launch, wait up to this long until the CPUs of the nodes are quiet; say who
                    keeps them busy
  --repetitions N   of each check in each launch (at least 2)
  --launches N      each with another order of nodes, while there are others (default: one per node, at most
                    3)
  --ranks N         number of ranks (default: one per allowed core)
  --seed N          seed of all random orders and of the choice of the node of the self-check (default: from
                    the clock)

Criteria (without the first three wrong data fail, and a node that is worse than the others, which takes three
nodes; the noise is measured and printed with who makes it, and not judged):
  --margin MARGIN   5%:nodes=1000,every=1ms: how much slower the noise of each node may make a program on so
                    many nodes that synchronise so often (unseen=2ms: no burst is longer; default 50 ms); 5%:
                    by how much a node may be worse than the others, or slower alone
  --limits FILE     your own limits, checked before anything runs
  --reference DIR   limits learnt from an acceptance campaign that was good (may be given again)
  --classes FILE    classes of nodes that may be compared, a line CLASS NODE... each (default: found by
                    hardware and network)
  --write-limits    print a template of a file for --limits, with the margins

Self-check: in a launch of its own one node, chosen by the seed, gets a known load, and must be found. If it
is not, a node as bad as this could be missed, and the verdict cannot be pass; a short launch with ten times
the load tells whether the run was insensitive or something is broken. Needs two nodes.
  --self-check P[:TIME]  percent of one CPU, and how long (default 1:40s); none: without

Exit status: 0 pass, or nothing was asked and nothing failed; 1 fail, 3 inconclusive. The verdict is in
CAMPAIGN/verdict.json, that of each node in CAMPAIGN/nodes/HOST.txt (for noiselab-node-health).
  --json            the verdict as JSON in place of the table
  --lines           as lines "name: value unit", for ReFrame and Pavilion
  --junit FILE      also as JUnit XML

Everything else goes to noiselab-accept as it is (noiselab-accept --help).
'''

    def defaults(self) -> None:
        self.campaign.judges_partial = self.judge_what_ran

    def refuse(self, name: str) -> None:
        if name == '--write-limits':
            path = self.programs.path('noiselab-analyze')
            os.execv(path, [path, 'acceptance', '--write-limits'])
        if name in ('--launch-id', '--stop-when'):
            die(2, name + ': the experiment sets it; leave it out')

    def scale_barrier(self) -> str:
        return ''

    def check(self, words: List[str]) -> None:
        options = self.options
        if options['quick'] and options['full']:
            die(2, '--quick and --full cannot be combined')
        if options['json'] and options['lines']:
            die(2, '--json and --lines cannot be combined')
        # known before the measurement that it can be written after it
        junit = options['junit']
        if junit and not os.access(os.path.dirname(junit.rstrip('/')) or '.', os.W_OK):
            die(2, "--junit: cannot write '%s': there is no such folder, or it is not yours" % junit)
        self.answer_options = ''.join([' --json' if options['json'] else '',
                                       ' --lines' if options['lines'] else '',
                                       ' --junit ' + quoted([junit]) if junit else ''])
        self.seed_from_clock()
        countable(options['seed'])
        self.self_check = SelfCheck(options['self_check_wanted'])
        check_level('--self-check', self.self_check.level, '1')
        options['margin'] = without(options['margin'], '%')
        self._check_limits()
        self.ranks = self.nodes.ranks_column()
        self._find_used_nodes()
        # where the nodes decide: a rank on each of their cores; not known before a job that is only submitted
        planned_ranks = self.ranks if self.ranks != ALL else str(self.n_used_nodes * self.nodes.cores)
        # each has an order of its own, while there are others
        options['launches'] = options['launches'] or str(min(self.n_used_nodes, 3))
        whole('--launches', options['launches'])
        words = (['--checks', options['checks']] if options['checks'] else []) + ['--full' if options['full']
                                                                                  else '--quick'] + words
        self._plan_time()
        words += self._shared_time()
        self.rehearse((['--planned-ranks', planned_ranks] if planned_ranks != '0' else []) + words)
        self._decide_self_check()
        self.go_on(words)

    def _check_limits(self) -> None:
        """What is judged by is known to be readable before anything runs; its keys and units are the
        analysis's to know."""
        notes, words = self.campaign.notes, []  # type: Tuple[List[str], List[str]]
        if self.options['margin']:
            words += ['--margin', self.options['margin']]
        for name, more in (('limits', ' (noiselab run acceptance --write-limits prints a template)'),
                           ('classes', '')):
            path = self.options[name]
            if path:
                files.require_readable('--' + name, path, more)
                words += ['--' + name, path]
                notes.append('%s: %s.conf' % (name, name))
        for reference in self._references():
            if not next(files.with_file(reference, 'accept.csv'), None):
                die(2, "--reference: '%s' is not a campaign of noiselab run acceptance" % reference)
            # a batch job runs elsewhere
            path = os.path.normpath(files.absolute(reference))
            if '\n' in path:
                die(2, '--reference: a name with a line break cannot be kept in the schedule')
            words += ['--reference', path]
            notes.append('reference: ' + path)
        if words:
            self.ask_analysis(words)

    def _references(self) -> List[str]:
        return [each for each in self.options['references'].split('\n') if each]

    def _find_used_nodes(self) -> None:
        """The nodes of a launch (of its first set), which are fewer than there are for a few or an odd number
        of ranks."""
        options, nodes = self.options, self.nodes
        n_there = min(nodes.n_nodes, int(options['nodes'] or nodes.n_nodes))
        if nodes.sets[0] != ALL:
            n_there = nodes.number_of(nodes.sets[0])
        self.n_used_nodes = nodes.spread('--ranks', options['ranks'],
                                         n_there).n_nodes if options['ranks'] else n_there
        if self.n_used_nodes != n_there:
            note('--ranks %s: the same number on each node takes %d of the %d nodes; the others are not '
                 'checked'
                 % (options['ranks'], self.n_used_nodes, n_there))

    def _plan_time(self) -> None:
        """Where nothing says how long, and there is a reference, so long that a healthy node passes by it
        and the margin with probability 0.95; what such a run decides is said."""
        options = self.options
        at_scale = ':' in options['margin']
        if not self._references():
            if at_scale and not options['seconds']:
                note('how long a run must be to pass this margin: noiselab plan acceptance --margin %s '
                     '--reference DIR (any campaign of such nodes)' % options['margin'])
            return
        if not files.in_path('Rscript'):
            return
        is_planned = not any(options[name] for name in ('seconds', 'quick', 'full'))
        words = [self.programs.path('noiselab-plan'), 'acceptance', '--launches', options['launches']]
        words += ['--limits', options['limits']] if options['limits'] else []
        if not is_planned:
            words += ['--seconds', options['seconds'] or ('600s' if options['full'] else '36s')]
        words += ['--margin', options['margin']] if options['margin'] else []
        for reference in self._references():
            words += ['--reference', reference]
        said = ask(words + ['--json'], stderr=None)
        # a reference that nothing can be learnt from is said when the campaign is judged, too
        if said.status:
            return
        plan = document.of_program(said.out)
        measuring_s = float(plan.value('measuring_s') or 0)
        if is_planned:
            options['seconds'] = '%.0fs' % max(1.0, measuring_s)
        put(''.join('%s\n' % line for line in plan.all('says.*')), 2)

    def _shared_time(self) -> List[str]:
        """The time over all launches."""
        seconds, launches = self.options['seconds'], self.n_launches
        # a launch of noiselab-accept finds the lengths of its operations, too
        self.campaign.start_s = 5
        all_s, each = (600, 24) if self.options['full'] else (36, 12)
        if seconds and (not seconds[0].isdigit() and seconds[0] != '.'
                        or set(seconds) - set('0123456789.abcdefghijklmnopqrstuvwxyz')):
            die(2, "--seconds: '%s' is not a time (try 60s, 10min)" % seconds)
        each_ms = nanoseconds(seconds or str(all_s)) // 1000000 // launches
        if each_ms <= 0:
            die(2, "--seconds: '%s' is no time for %d launches" % (seconds, launches))
        self.options['repetitions'] = self.options['repetitions'] or str(max(4, each // launches))
        return ['--seconds', '%dms' % each_ms, '--repetitions', self.options['repetitions']]

    def _decide_self_check(self) -> None:
        """Whether there is one; says why not."""
        check, start_s = self.self_check, self.campaign.start_s
        reason = ''
        if not check.is_on:
            reason = 'not asked for'
        elif self.n_used_nodes < 2:
            check.is_on = False
            reason = 'it takes two nodes: on one there is no other node that could be blamed'
            note('no self-check: ' + reason)
        else:
            wrong = ask([self.programs.path('noiselab-detect'), '--dry-run', '--op', 'empty', '--levels',
                         check.level,
                         '--half-period', check.launches()[0].half, '--seconds', check.seconds],
                        stderr=None).status
            if wrong:
                raise Stop(2)
        self.campaign.notes += ['self_check: ' + ('no: ' + reason if reason else 'yes'), 'start_s: %d'
                                % start_s]

    def plan(self, plan: Plan, words: List[str]) -> None:
        for name in ('limits', 'classes'):
            if self.options[name]:
                try:
                    files.copy_tree(self.options[name], self.scratch(name + '.conf'))
                except OSError:
                    die(2, "--%s: cannot copy '%s'" % (name, self.options[name]))
        for nodes in self.nodes.sets:
            for turn in range(self.n_launches):
                order = order_of_nodes(turn, self.n_launches, self.n_used_nodes)
                plan.row('-', nodes, self.ranks, ['--program=accept', '--rotate=' + order] + words
                         + ['--seed', str(self.seed + plan.number)], label='checks')
            plan.suffix = '-selfcheck'
            for each in self.self_check.launches() if self.self_check.is_on else []:
                # the load is on one node, and of a kind, drawn from the seed and the launch; the operation
                # needs no other node, so that ranks that share a CPU do not wait for each other's turn
                seed = self.seed + plan.number
                node = shuffled(seed, 1, [str(i + 1) for i in range(self.n_used_nodes)])[0][1]
                kind = drawn_kind(self.programs, seed, may_be_here=not self.options['submit']
                                  and not plan.is_dry and not self.nodes.have_names())
                plan.row('-', nodes, self.ranks, ['--noise-node=' + node, '--op', 'empty', '--kind', kind,
                                                  '--levels', each.level, '--half-period',
                                                  each.half, '--seconds', each.seconds, '--seed', str(seed)],
                         label='self-check')
            plan.suffix = ''
