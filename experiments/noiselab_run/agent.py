"""agent: what a real agent or system service costs: switched on and off within launches, or launches with it
against launches without"""
import os
import re
from typing import Dict, List, Tuple

from noiselab_run import files, slurm, treatments
from noiselab_run.agent_switched import LINE_OPTIONS, Switched
from noiselab_run.experiment import Experiment
from noiselab_run.nodes import split
from noiselab_run.program import check_program
from noiselab_run.schedule import Part, Plan
from noiselab_run.text import Stop, countable, die, note, put, shuffled, whole


class Agent(Experiment):
    NAME = ASKED = 'agent'
    OPTIONS = '''
value agents treatment=treatment_asked agent-cmd agent-pid agent-cgroup agent-unit agent-on agent-off scrape
value scrape-period agent-cpu agent-found agent-name agent-timeout who against against-name markdown junit
flag shell restart
value agent-period agent-settle sweep
maybe compare-replay
value levels design half-period block on=places
flag app
value op bytes seconds stop-when=ends_when
'''
    USAGE = '''\
Usage: noiselab run agent WAY [OPTIONS]
       noiselab run agent --agents FILE [OPTIONS]
       noiselab run agent --treatment NAME [OPTIONS]

Runs noiselab-detect while the agent on the compute nodes is switched on and off in random order. Then it
reports the slowdown that the agent causes, its CPU use, and the smallest detectable slowdown. A synthetic
load that imitates it: noiselab analyze equivalent DIR.

How the agent is switched (one of these ways):
  --agent-cmd 'CMD'       a command: started once, and frozen between; with --restart started and stopped for
                          each segment
  --agent-pid PID         a process with all it started: frozen and thawed, and left as it was found
  --agent-cgroup PATH     the same for a cgroup
  --agent-unit NAME       the same for a unit of systemd (NAME.service)
  --agent-on 'CMD' --agent-off 'CMD'  two commands that switch it: start a service, change an interval;
                          --agent-found on|off: how it was before, and is left; not given, it is off at the
                          end
  --scrape 'CMD'          the command that scrapes a pull agent, every --scrape-period TIME; together with a
                          way above, or alone: then only scraping is toggled. TIME:scrape-cpu=LIST: the CPUs
                          it runs on
  --shell                 run commands with sh -c; without it they are split into words, and nothing is
                          expanded
  --agent-cpu LIST        CPUs of a started command; --noise-nodes all|first|LIST: nodes it runs on
  --agent-period TIME     the agent's sampling period; each segment holds whole periods (default: the agent is
                          recorded before the launches, for at most 80 s (quick: a tenth of --seconds), and
                          its period measured)
  --agent-settle TIME     time left out after each switch; --agent-name, --agent-timeout, --who: see
                          noiselab agent --help

Two versions of an agent, in the same launches:
  --against 'CMD'         with --agent-cmd 'NEW': another command (the version before); off, old and new come
                          in random order, and the answer is what the new one costs more: by bursts, by other
                          effects, in total. With --margin status 0: not more than that, 1: more, 3:
                          undecided. --against-name: as --agent-name
  --markdown FILE         also write the answer as a summary for a pull request; --junit FILE: as a test
                          report (XML)

Several agents, side by side in one table, their launches in random order:
  --agents FILE           a line for each: its name, and the options above (and --sweep, --design, ... below)
                          that are its own, such as:  top --agent-cmd 'top -b -d 1'  --agent-cpu 3.  # begins
                          a comment

What is compared:
  --levels LIST           also a calibrated load (positive control), percent of one CPU (default: none)
  --sweep LIST            sampling intervals, such as 0.1s,1s,10s: launches for each, in random order; reports
                          slowdown by interval, and with --margin the shortest interval that stays below it.
                          @INTERVAL@ in the agent's command (and in --scrape-period) is replaced by the
                          interval in seconds
  --sweep LIST:template=F the same with a configuration file with @INTERVAL@ in it; @FILE@ in the command is
                          replaced by its path
  --compare-replay[=TIME] record the agent first, so long (default 10 periods, at least 10 s), and replay the
                          recording as a third arm of the same launches: is the slowdown the same?

  --design NAME           quick (default where it can be frozen: undisturbed segments, and pairs of 25 and
                          250 ms), blocks (default where it is started anew: --restart, --agent-on) or lockin
                          (halves of whole periods; default with --levels or --compare-replay)
  --seconds TIME          time of all launches together (of each interval; default 60 s, longer where seven
                          pairs need it). quick: recording, set-up and settling included; else settling is
                          added, and the plan shows it
  --launches N            launches (default 1: the result is about this launch; of 30 s each unless --seconds
                          says it). From five on it is about launches like these
  --op LIST, --bytes LIST operations and sizes (default barrier,allreduce,alltoall and 2KiB)
  --app -- COMMAND        a program of yours in place of operations: COMMAND (mpirun -n 4 ./app) runs once for
                          each launch, and the agent is switched while it does. What is timed is its beat, an
                          MPI call that is found, or said by --beat (such as allreduce:8)
  --ranks N               number of ranks (default: one per allowed core)
  --stop-when decided     with --margin and --launches: look after each launch, and end when the margin is
                          decided; each look has alpha by the number of launches (default: never)
  --seed N                seed of all random orders (default: from the clock)

Treatments of whole launches; sets of two launches, with and without (default 10 sets, 20 s each):
  slurm-accounting        Slurm samples every process of the job, every S seconds
                          (slurm-accounting:interval=S, default 1), against no sampling (--acctg-freq). The
                          default in a Slurm job, or with --submit, without a way above

Everything else goes to noiselab-detect as it is (noiselab detect --help).
'''

    def defaults(self) -> None:
        self.options.values.update(op='barrier,allreduce,alltoall', bytes='2KiB')

    def refuse(self, name: str) -> None:
        if name in ('--arms', '--launch-id'):
            die(2, name + ': the experiment sets it; leave it out')
        if name == '--hosts':
            die(2, '--hosts: an agent is measured on this machine, or on the nodes of a Slurm job')

    WITH_RESUME = ('--markdown', '--junit')

    def scale_barrier(self) -> str:
        names = {'ends_when': '--stop-when', 'sweep': '--sweep', 'agents': '--agents', 'against': '--against'}
        given = [option for name, option in names.items() if self.options[name]]
        return 'run agent with ' + given[0] if given else ''

    def questions(self) -> List[str]:
        if self.campaign.analyses.split(',')[0] != 'versions':
            if self.options['markdown'] or self.options['junit']:
                die(2, '--markdown and --junit: belong to two versions of an agent (--against)')
            return super().questions()
        margin = self.options['margin']
        return (['--margin', margin] if margin else []) + [
            word for name in ('markdown', 'junit') if self.options[name]
            for word in ('--write', '%s=%s' % (name, self.options[name]))]

    def check(self, words: List[str]) -> None:
        options = self.options
        self.seed_from_clock()
        countable(options['seed'])
        check_program(options)
        if options['app'] and (options['agents'] or options['treatment_asked']):
            die(2, '--app: with an agent that is switched while the program runs (--agent-cmd and the like)')
        if options['agents']:
            self._check_agents(words)
            return
        self.switched = Switched(self, options)
        if not self.switched.way:
            self._check_treatment(words)
            return
        self.campaign.analyses = self.switched.analyses()
        if not options['against']:
            options.refuse_given(': belongs to two versions of an agent (--against)', '--markdown', '--junit',
                                 '--against-name')
        self.go_on(self.switched.check(words))

    def plan(self, plan: Plan, words: List[str]) -> None:
        if self.options['agents']:
            self._plan_agents(plan)
        elif self.campaign.treatment:
            self._plan_treatment(plan, words)
        else:
            self.campaign.notes = self.switched.plan(plan, words)

    # ---- launches as a whole with and without

    def _check_treatment(self, words: List[str]) -> None:
        options = self.options
        options.refuse_given(': belongs to an agent that is switched within a launch (--agent-cmd and the '
                             'like)', '--agent-period',
                             '--agent-settle', '--agent-cpu', '--agent-name', '--sweep', '--compare-replay',
                             '--levels', '--design', '--stop-when')
        treatment = self.switched.treatment
        if not treatment:
            if not slurm.in_job() and not options['submit']:
                why = 'this is not a Slurm job' if files.in_path('srun') else 'there is no Slurm here'
                die(2, 'which agent? Give --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit, '
                    '--agent-on and --agent-off, or --scrape;',
                    'slurm-accounting would be the default, and ' + why)
            treatment = 'slurm-accounting'
        self.campaign.treatment = treatment
        self.campaign.interval_s = self.switched.interval or '1'
        options['launches'] = options['launches'] or '10'
        options['seconds'] = options['seconds'] or '20s'
        whole('--launches', options['launches'])
        whole('--treatment: interval', self.campaign.interval_s)
        treatments.require(treatment, options, self.launcher)
        self.ranks = self.nodes.ranks_column()
        words = ['--op', options['op'], '--bytes', options['bytes'], '--design', 'single', '--seconds',
                 options['seconds']] + words
        self.rehearse(words + ['--arms', 'on:external=' + treatment])
        self.go_on(words)

    def _plan_treatment(self, plan: Plan, words: List[str]) -> None:
        for turn, line in shuffled(self.seed, self.n_launches, self.nodes.on_each_set(['off', 'on'])):
            arm, nodes = split(line)
            number = self.nodes.set_of_launches(turn, nodes)
            arms = '%s:external=%s,set=%d' % (arm, self.campaign.treatment, number)
            plan.row(str(number), nodes, self.ranks, words
                     + ['--arms', arms, '--seed', str(self.seed + plan.number)])

    # ---- several agents, with launches of their own in one random order

    def _lines(self) -> List[Tuple[int, str, str]]:
        """The lines of --agents FILE that name an agent: number, name and options; refuses names that are
        there twice."""
        path = self.options['agents']
        files.require_readable('--agents', path)
        self.options.refuse_given(": belongs to an agent's line in '%s'" % path, *LINE_OPTIONS)
        self.options.refuse_given(' and --agents cannot be combined', '--treatment', '--compare-replay',
                                  '--levels', '--on')
        lines = []  # type: List[Tuple[int, str, str]]
        for number, line in enumerate(files.read(path).split('\n'), 1):
            if line.strip() and not line.split()[0].startswith('#'):
                name = line.split()[0]
                lines.append((number, name, line.strip()[len(name):].strip()))
        if not lines:
            die(2, "--agents: '%s' names no agent (lines: NAME OPTIONS, such as: top --agent-cmd 'top -b -d "
                "1')" % path)
        seen = {}  # type: Dict[str, int]
        for number, name, _ in lines:
            if not re.fullmatch('[A-Za-z0-9_][A-Za-z0-9_.-]*', name):
                die(2, "--agents: '%s', line %d: '%s' is not a name (letters, digits, _ . -)"
                    % (path, number, name))
            if name in seen:
                die(2, "--agents: '%s', line %d: '%s' is there twice, first in line %d"
                    % (path, number, name, seen[name]))
            seen[name] = number
        return lines

    def _check_agents(self, words: List[str]) -> None:
        options = self.options
        if options['submit']:
            die(2, '--agents and --submit cannot be combined: run it in a job of yours')
        self.agents = []  # type: List[Tuple[int, str, Switched, List[str]]]
        for number, name, text in self._lines():
            # what it notes it will note again when it is planned
            said = self.scratch('said')
            try:
                with Silence(said):
                    switched = Switched.of_line(self, name, self.programs.split(text) if text else [])
                    agent_words = switched.check(words)
            except Stop as stop:
                reason = stop.message or (files.read_or(said).rstrip('\n').split('\n')[-1])
                die(stop.status, "--agents: '%s', line %d (%s): %s"
                    % (options['agents'], number, name, re.sub('^noiselab-[a-z]*: ', '', reason)))
            if options['dry_run']:
                put('%s\n%s\n\n' % (name, self.rehearsal.shown))
                self.rehearsal.shown = ''
            switched.said = files.read(said)
            self.agents.append((number, name, switched, agent_words))
        self.campaign.analyses = 'agent'
        self.go_on(words)

    def _plan_agents(self, plan: Plan) -> None:
        start_s, lines, parts = 0, [], []  # type: Tuple[int, List[str], List[Part]]
        first_start_s = self.campaign.start_s
        for number, name, switched, words in self.agents:
            note(name + ':')
            put(switched.said, 2)
            own = Plan()
            own.prefix, own.number, own.is_dry = plan.prefix, 1000 * number, plan.is_dry
            self.campaign.start_s = first_start_s
            switched.plan(own, words)
            lines += own.lines
            parts += [part._replace(label=' '.join([name] + part.label.split()[1:])) for part in own.parts]
            plan.before_s += own.before_s
            plan.unknown += ['%s: %s' % (name, each) for each in own.unknown]
            start_s = max(start_s, self.campaign.start_s)
        for i, (_, line) in enumerate(shuffled(self.seed, 1, lines), 1):
            plan.lines.append(plan.name(i) + line[line.index('\t'):])
        plan.parts = parts
        self.campaign.start_s = start_s
        self.campaign.notes = ['analyses: agent', 'start_s: %d' % start_s, 'agents: '
                               + ','.join(name for _, name, _, _ in self.agents)]


class Silence:
    """What is said meanwhile goes into a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.kept = os.dup(2)
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(fd, 2)
        os.close(fd)

    def __exit__(self, *error: object) -> None:
        os.dup2(self.kept, 2)
        os.close(self.kept)
