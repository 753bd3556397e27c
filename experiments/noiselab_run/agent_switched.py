"""An agent that is switched within launches: its options, what they mean, and the plan of its launches."""
import os
import re
from typing import Any, List, NamedTuple, Optional, Tuple

from noiselab_run import files
from noiselab_run.agent_record import Recorder
from noiselab_run.experiment import these_launches
from noiselab_run.options import Options
from noiselab_run.schedule import Plan
from noiselab_run.text import (SECOND_NS, decimals, die, is_time, nanoseconds, note, parts_of,
                               shuffled, time_above_0, whole)

# what the detector hands on to the companion on the nodes as it is; --shell, which has no value, too
COMPANION = ('--agent-cmd --agent-pid --agent-cgroup --agent-unit --agent-on --agent-off --scrape '
             '--scrape-period --agent-cpu '
             '--agent-found --agent-name --agent-timeout --who --against --against-name').split()
# what of these is a command or a setting of it, in which @INTERVAL@ and @FILE@ mean something
WORDED = '--agent-cmd --agent-on --agent-off --scrape --scrape-period'.split()
# what a line of --agents may have: whatever is an agent's own
LINE_OPTIONS = COMPANION + ('--shell --restart --agent-period --agent-settle --sweep --design --half-period '
                            '--block').split()
WAYS = ('--agent-cmd', '--agent-pid', '--agent-cgroup', '--agent-unit', '--agent-on')

# a started program is not measured while it gets going, and runs for some time before it is stopped again
STARTED_SETTLE_NS, STARTED_BLOCK_NS = SECOND_NS, 2 * SECOND_NS
# an agent that is frozen has undisturbed stretches of so much, and quick halves between them
UNDISTURBED_NS = SECOND_NS
# a half is short against what changes on a machine, and long against a switch; the detector has the same ones
HALF_NS, HALF_WITHOUT_PERIOD_NS = 100000000, SECOND_NS
# one launch of a minute answers for itself; where launches are asked for, each has half a minute. More where
# a test within a launch needs it: as many pairs of stretches for each operation and size
ONE_LAUNCH_S, EACH_LAUNCH_S, LEAST_ROUNDS = 60, 30, 7

# what holds for launches at one interval (- without one); settle: - the detector's, which is half a period
Interval = NamedTuple('Interval', [('interval', str), ('period_ns', int), ('stretch_ns', int),
                                   ('settle', str), ('seconds', str),
                                   ('settling_ns', int)])


def settle_of(period_ns: int) -> int:
    """What is not measured after a start: whole periods and a half one, so that as much room is on both sides
    of the next work."""
    if period_ns <= 0:
        return STARTED_SETTLE_NS
    first = (period_ns + 1) // 2
    n_more = max(0, -((first - STARTED_SETTLE_NS) // period_ns))
    return first + n_more * period_ns


class Switched:
    """The options of one agent. `way` is how it is switched (its first option); empty without an agent."""

    def __init__(self, experiment: Any, options: Options, folder: str = 'agent') -> None:
        self.experiment, self.options, self.folder = experiment, options, folder
        self.interval = ''  # of a treatment from outside
        self.said = ''  # notes when it was checked
        self.interval_template = self.record_for = self.scrape_cpu = ''
        self.period_ns = 0  # 0: not known
        self.period_source = '-'
        self.least_s = EACH_LAUNCH_S
        self.files_folder = ''  # where the files made for each interval are
        self._n_stretches = 0
        self._asked_ns = 0  # --seconds of a launch, of which recording takes some
        self._split_keys()
        self.way = self._find_way()

    @staticmethod
    def of_line(experiment: Any, name: str, words: List[str]) -> 'Switched':
        """Of a line of --agents, whose options hold beside those for all."""
        for_all = experiment.options
        options = Options(for_all.experiment, experiment.OPTIONS)
        options.values = dict(for_all.values)
        options.read(words, experiment.refuse, lambda word: None)
        beside = '%s: not an option of an agent; what is for all agents stands beside --agents'
        if options.words:
            die(2, beside % ("'%s'" % options.words[0]))
        for each in options.given:
            if each == '--agent-name':
                die(2, '--agent-name: the first word of the line is the name')
            if each not in LINE_OPTIONS:
                die(2, beside % each)
        options.given = for_all.given + options.given
        options['dry_run'] = for_all['dry_run']
        options['agent_name'] = name
        switched = Switched(experiment, options, 'agent/' + name)
        if not switched.way:
            die(2, 'no way of switching it (give --agent-cmd or another)')
        return switched

    def _split_keys(self) -> None:
        """What stands behind a colon in our own options."""
        options = self.options
        self.treatment, _, keys = options['treatment_asked'].partition(':')
        if keys.startswith('interval='):
            self.interval = keys[len('interval='):]
        elif self.treatment != options['treatment_asked']:
            die(2, "--treatment: '%s' is not a key of it (interval)" % keys)
        self.intervals, _, self.interval_template = options['sweep'].partition(':template=')
        self.scrape_cpu = options['scrape_period'].partition(':scrape-cpu=')[2]
        if options['compare_replay'] not in ('', 'yes'):
            time_above_0('--compare-replay', options['compare_replay'])
            self.record_for = options['compare_replay']

    def _find_way(self) -> str:
        options = self.options
        given = [name for name in COMPANION if options.was_given(name)]
        for name in given:
            if not options.of(name):
                die(2, name + ': is empty')
        ways = [name for name in given if name in WAYS]
        for name, other in (('--agent-on', '--agent-off'), ('--agent-off', '--agent-on'),
                            ('--scrape', '--scrape-period'),
                            ('--scrape-period', '--scrape')):
            if name in given and other not in given and not (name == '--scrape' and options['sweep']):
                die(2, '%s: belongs together with %s' % (name, other))
        if len(ways) > 1:
            die(2, '%s and %s: two ways of switching an agent cannot be combined; give one'
                % (ways[0], ' '.join(ways[1:])))
        way = ways[0] if ways else '--scrape' if options['scrape'] else ''
        if way and self.treatment:
            die(2, '--treatment and %s cannot be combined: launches as a whole, or an agent that is '
                'switched within them' % way)
        if options['restart'] and way != '--agent-cmd':
            die(2, '--restart: nothing is started (it belongs to --agent-cmd)')
        if not way:
            options.refuse_given(': there is no agent (give --agent-cmd or another way)', '--agent-timeout',
                                 '--who', '--shell', '--agent-found')
        if options['agent_found'] == 'on' and options['sweep']:
            die(2, "--agent-found: 'on' does not say at which interval of --sweep (off is known: "
                '--agent-off)')
        return way

    def analyses(self) -> str:
        if self.options['sweep']:
            return 'intervals'
        if self.options['against']:
            return 'versions'
        return 'agent,replay' if self.options['compare_replay'] else 'agent'

    # ---- what is checked before anything runs

    def check(self, words: List[str]) -> List[str]:
        """The words of all launches."""
        options, experiment = self.options, self.experiment
        if not options['launches']:
            self.least_s = ONE_LAUNCH_S
        options['launches'] = options['launches'] or '1'
        self.n_launches = whole('--launches', options['launches'])
        self._check_looks()
        if options.was_given('--launches'):
            these_launches(self.n_launches)
        self._share_seconds()
        self._choose_stretch()
        self._check_sweep()
        self._check_replay()
        self._check_against()
        if options['app']:
            experiment.ranks = '-'
            words = ['--app', 'profiles'] + words
        else:
            experiment.ranks = experiment.nodes.ranks_column()
            words = ['--op', options['op'], '--bytes', options['bytes']] + words
        # what is wrong is said once, and before anything is recorded
        if options['agent_period']:
            time_above_0('--agent-period', options['agent_period'])
        # the campaign has no folder yet
        self.files_folder = experiment.scratch(self.folder)
        self._make_interval_files()
        if options['submit']:
            # the agent is on the nodes, and not here: all but the agent itself can be checked
            self._rehearse(['--agent-cmd', 'tail -f /dev/null'] + words)
        else:
            self._rehearse(self._agent_words(self.intervals.split(',')[0] or '-', words))
        self.files_folder = experiment.campaign.folder + '/' + self.folder
        return words

    def _check_against(self) -> None:
        """Whether another version may be beside it."""
        options = self.options
        if not options['against']:
            return
        if self.way != '--agent-cmd':
            die(2, '--against: two commands can be compared (--agent-cmd NEW --against OLD)')
        options.refuse_given(': one agent has it, and --against makes them two', '--agents', '--sweep',
                             '--compare-replay', '--levels', '--scrape', '--stop-when', '--app')

    def _check_looks(self) -> None:
        """Whether a look after each launch can end the campaign."""
        options = self.options
        if options['ends_when'].startswith('never'):
            options['ends_when'] = options['ends_when'][len('never'):]
        if not options['ends_when']:
            return
        if options['ends_when'] != 'decided':
            die(2, "--stop-when: '%s' is not never or decided" % options['ends_when'])
        if not options['margin']:
            die(2, '--stop-when decided: what is to be decided? Give --margin')
        if self.n_launches < 2:
            die(2, '--stop-when decided: looks are taken between launches; give --launches')
        options.refuse_given(' and --stop-when decided cannot be combined: launches of one sort are looked '
                             'at, one after the other', '--agents',
                             '--sweep', '--compare-replay', '--array')
        if not options['submit'] and not files.in_path('Rscript'):
            die(2, '--stop-when decided: R, which looks, is missing here')

    def _rehearse(self, words: List[str]) -> None:
        """Of one interval, or of all launches; times only where the user says them."""
        options = self.options
        words = words + ['--design', self.design]
        # of a sweep the first interval
        period = nanoseconds(options['agent_period'] or self.intervals.split(',')[0])
        words += [self.stretch_name, '%dns' % self._stretch_of(period)] if self.stretch or period else []
        words += ['--agent-period', '%dns'
                  % nanoseconds(options['agent_period'])] if options['agent_period'] else []
        settle = options['agent_settle'] or ('%dns' % settle_of(period) if self.is_started else '')
        words += ['--agent-settle', settle] if settle else []
        words += self._load()
        if self.seconds_each:
            self._refuse_too_short(words)
        self.experiment.rehearse(words + (['--seconds', self.seconds_each] if self.seconds_each else []))

    def _refuse_too_short(self, words: List[str]) -> None:
        """Where --seconds also holds the recording of the agent: whether it leaves one round to measure."""
        spent_s = Recorder(self).foretold_s()
        if not self._holds_all(spent_s):
            return
        rehearsal = self.experiment.rehearsal
        rehearsal.campaign = self.experiment.campaign.folder
        said = rehearsal.ask(rehearsal.of(words + ['--seconds', '8760h']))
        round_ns = said.number('measuring_ns') // said.number('rounds')
        if nanoseconds(self._less_recording(self.seconds_each, spent_s)) >= round_ns:
            return
        # what leaves so much, by _less_recording
        least_ns = min(-(-(round_ns + spent_s * SECOND_NS) * 12 // 11), 2 * round_ns)
        die(2, '--seconds: %s s is too short: one round of halves takes %s s, and recording the agent and '
            'the answer are in it, too;'
            % (decimals(nanoseconds(self.seconds_each) // 1000000, 1000),
               decimals(round_ns // 1000000, 1000)),
            'give at least %d s, or its period (--agent-period), which needs no recording'
            % -(-least_ns // SECOND_NS))

    def _load(self) -> List[str]:
        """A calibrated load beside the agent."""
        options = self.options
        return (['--levels', options['levels']] if options['levels'] else []) + (['--on', options['places']]
                                                                                 if options['places'] else [])

    def _share_seconds(self) -> None:
        """What a launch (of each interval) has of --seconds; empty where the user does not say it."""
        seconds = self.options['seconds']
        self.seconds_each = seconds
        # the detector says what is wrong with it
        if is_time(seconds) or is_time(seconds + 'h'):
            self.seconds_each = '%dns' % ((nanoseconds(seconds) + self.n_launches // 2) // self.n_launches)

    def _choose_stretch(self) -> None:
        """The design, and what a stretch in one arm lasts before it is made to hold whole periods."""
        options, way = self.options, self.way
        self.is_started = way == '--agent-on' or (way == '--agent-cmd' and options['restart'] != '')
        plain = not any(options[name] for name in ('design', 'block', 'half_period', 'levels',
                                                   'compare_replay', 'app'))
        design = 'quick' if plain and not self.is_started and way != '--scrape' else options['design']
        # what is not frozen for some milliseconds at a time is started for each stretch
        if way == '--agent-cmd' and design != 'quick':
            self.is_started = True
        self.design = design or ('blocks' if (self.is_started or options['block'])
                                 and not options['half_period'] else 'lockin')
        by_design = {'quick': ('--block', UNDISTURBED_NS, '--half-period'),
                     'lockin': ('--half-period', HALF_NS, '--block'),
                     'blocks': ('--block', STARTED_BLOCK_NS, '--half-period')}
        if self.design not in by_design:
            die(2, "--design: '%s' cannot switch an agent within a launch (try quick, lockin, blocks)"
                % self.design)
        self.stretch_name, self.stretch_ns, other = by_design[self.design]
        if options.was_given(other):
            die(2, '%s: design %s has %s' % (other, self.design, self.stretch_name))
        self.stretch = options.of(self.stretch_name)
        if self.stretch:
            self.stretch_ns = time_above_0(self.stretch_name, self.stretch)

    def _check_sweep(self) -> None:
        """Intervals and where they go."""
        options = self.options
        if not options['sweep']:
            for name in WORDED:
                if '@INTERVAL@' in options.of(name) or '@FILE@' in options.of(name):
                    die(2, name + ': @INTERVAL@ and @FILE@ belong to --sweep LIST')
            return
        seen = set()
        for each in parts_of('--sweep', self.intervals, '0.1s,1s,10s'):
            ns = time_above_0('--sweep', each)
            if ns in seen:
                die(2, "--sweep: '%s' is there twice" % each)
            seen.add(ns)
        if options['agent_period']:
            die(2, '--agent-period: with --sweep the interval is the period; leave it out')
        if options['compare_replay']:
            die(2, '--compare-replay and --sweep cannot be combined: compare at one interval')
        # a pull agent works when it is asked
        if options['scrape'] and not options['scrape_period']:
            options['scrape_period'] = '@INTERVAL@'
        # the interval is a number of seconds, and a time takes its unit
        options['scrape_period'] = re.sub('^@INTERVAL@(?=$|:)', '@INTERVAL@s', options['scrape_period'])
        commands = '\n'.join(options.of(name) for name in WORDED)
        if self.interval_template:
            self._check_template(commands)
        elif '@FILE@' in commands:
            die(2, '@FILE@ is the file made of --sweep LIST:template=FILE, and there is none')
        elif '@INTERVAL@' not in commands:
            where = {'--agent-on': '--agent-on or --agent-off', '--agent-cmd': '--agent-cmd'}.get(self.way)
            needs = 'a sweep needs --agent-cmd, --agent-on and --agent-off, or --scrape'
            where = where or 'what %s switches (%s)' % (self.way, needs)
            die(2, '--sweep: nothing sets the interval: no @INTERVAL@ in %s, and no template with it' % where)

    def _check_template(self, commands: str) -> None:
        template = self.interval_template
        files.require_readable('--sweep: template', template)
        if '@INTERVAL@' not in files.read(template):
            die(2, "--sweep: template: '%s' has no @INTERVAL@ in it" % template)
        if '@FILE@' not in commands:
            die(2, "--sweep: template: no command has @FILE@, the path of the file made of '%s'" % template)
        path = files.absolute(self.experiment.campaign.folder)
        self.experiment.campaign.use(path)
        if re.search('[^A-Za-z0-9_./:%+,@=-]', path):
            die(2, "--out: '%s' would stand in the agent's command as @FILE@, and has blanks or quotes; "
                "choose another name" % path)

    def _check_replay(self) -> None:
        """Whose bursts are recorded."""
        options = self.options
        if options['compare_replay']:
            if self.way in ('--agent-on', '--scrape'):
                die(2, '--compare-replay: %s does not tell whose bursts to record; give --agent-cmd, '
                    '--agent-pid, --agent-cgroup or --agent-unit'
                    % self.way)
            options.refuse_given(': --compare-replay decides it (the recorded bursts at their own level); '
                                 'leave it out', '--levels', '--on',
                                 '--pattern', '--replay', '--kind', '--preset')
            self.experiment.campaign.use(files.absolute(self.experiment.campaign.folder))
        # what only the nodes can tell cannot be planned before the job
        is_known = any(options[name] for name in ('sweep', 'agent_period', 'scrape'))
        knows_period = is_known or self.way == '--agent-on'
        if options['submit'] and (options['compare_replay'] or not knows_period):
            self.experiment.plan_later = 'the agent is recorded on the nodes'

    # ---- intervals

    def _at_interval(self, interval: str) -> Tuple[str, str]:
        """A plain number of seconds, and the name of the file made for it."""
        seconds = decimals(nanoseconds(interval), SECOND_NS)
        return seconds, 'interval-%ss-%s' % (seconds,
                                             re.sub('[^A-Za-z0-9._-]', '_',
                                                    os.path.basename(self.interval_template)))

    def _make_interval_files(self) -> None:
        if not self.interval_template:
            return
        try:
            os.makedirs(self.files_folder, exist_ok=True)
            template = files.read(self.interval_template)
            for each in self.intervals.split(','):
                seconds, name = self._at_interval(each)
                files.write(self.files_folder + '/' + name, template.replace('@INTERVAL@', seconds))
        except OSError:
            die(2, "cannot write into '%s' (no space left?)" % self.files_folder)

    def _agent_words(self, interval: str, words: List[str]) -> List[str]:
        """The options of the agent at that interval (- without one), and the words after them."""
        if self.options['shell']:
            words = ['--shell'] + words
        # it gets going in the warm-up
        if (self.way, self.design) == ('--agent-cmd', 'quick'):
            words = ['--warmup', '%dns' % STARTED_SETTLE_NS] + words
        seconds, name_of_file = self._at_interval(interval) if interval != '-' else ('', '')
        for name in COMPANION:
            value = self.options.of(name)
            if value and interval != '-' and name in WORDED:
                value = value.replace('@INTERVAL@', seconds)
                if self.interval_template:
                    value = value.replace('@FILE@', self.files_folder + '/' + name_of_file)
            words = ([name, value] if value else []) + words
        return words

    # ---- the plan

    def _stretch_of(self, period_ns: int) -> int:
        """What a segment lasts: whole periods, no less than asked for."""
        if not period_ns:
            is_default = self.design == 'lockin' and not self.stretch
            return HALF_WITHOUT_PERIOD_NS if is_default else self.stretch_ns
        return (self.stretch_ns - 1) // period_ns * period_ns + period_ns

    def _of_interval(self, interval: str, spent_s: int) -> Interval:
        """What holds for launches at that interval."""
        options = self.options
        period = self.period_ns if interval == '-' else nanoseconds(interval)
        stretch = self._stretch_of(period)
        settle = options['agent_settle'] or ('%dns' % settle_of(period) if self.is_started else '-')
        asked = self.seconds_each or self._enough_seconds(stretch)
        self._asked_ns, seconds = nanoseconds(asked), self._less_recording(asked, spent_s)
        # as the detector chooses it, where it is not said
        settling = max(period // 2 or stretch // 10, 5000000) if settle == '-' else nanoseconds(settle)
        return Interval(interval, period, stretch, settle, seconds, 0 if self.design == 'quick' else settling)

    def _enough_seconds(self, stretch_ns: int) -> str:
        """What stretches of that length take for an answer."""
        options, experiment = self.options, self.experiment
        # a round has as many stretches as that of a launch with a load in the agent's place; quick halves
        # take about as long as their stretch
        design = 'blocks' if self.design == 'quick' else self.design
        # one thing that is timed
        operations, n_bytes = ('empty', '8') if options['app'] else (options['op'], options['bytes'])
        if not self._n_stretches:
            levels = ['99'] + ([options['levels']] if options['levels'] else [])
            levels += ['98'] if options['compare_replay'] or options['against'] else []
            said = experiment.rehearsal.ask(
                [experiment.programs.path('noiselab-detect'), '--dry-run', '--out',
                 experiment.campaign.folder, '--op', operations, '--bytes', n_bytes, '--design', design,
                 self.stretch_name, '%dns' % stretch_ns, '--levels', ','.join(levels), '--seconds', '8760h'])
            self._n_stretches = said.number('halves_per_round')
        return '%ds' % max(self.least_s, -(-LEAST_ROUNDS * self._n_stretches * stretch_ns // SECOND_NS))

    def _holds_all(self, spent_s: int) -> bool:
        """Whether --seconds holds what comes before and after the launch, too."""
        return self.design == 'quick' and self.n_launches == 1 and spent_s > 0

    def _less_recording(self, seconds: str, spent_s: int) -> str:
        """What recording the agent and all before took is of the time of a launch whose --seconds hold all,
        and so is a twelfth for the answer."""
        if not self._holds_all(spent_s):
            return seconds
        ns = nanoseconds(seconds)
        return decimals(max(ns - ns // 12 - spent_s * SECOND_NS, ns // 2), SECOND_NS) + 's'

    def plan(self, plan: Plan, words: List[str]) -> List[str]:
        """Launches, of each interval where there are some; what is noted in the schedule."""
        options, experiment, campaign = self.options, self.experiment, self.experiment.campaign
        recorder = Recorder(self)
        replay = None  # type: Optional[Tuple[str, str]]
        if plan.is_dry:
            plan.unknown += recorder.foretell()
        else:
            recorder.know_period()
            if options['compare_replay']:
                replay = recorder.record_for_replay()
        n_turns = self.n_launches * len(experiment.nodes.sets)
        intervals = [self._of_interval(each, recorder.spent_s)
                     for each in (self.intervals.split(',') if self.intervals else ['-'])]
        n = len(intervals)
        # what is left out after a switch comes on top of the measuring time: it counts as part of a launch's
        # start
        each_ms = [nanoseconds(it.seconds) // 1000000 for it in intervals]
        settling_ms = sum(ms * it.settling_ns // it.stretch_ns for ms, it in zip(each_ms, intervals))
        campaign.start_s = (campaign.start_s * 1000 + settling_ms // n + 500) // 1000
        plan.before_s += recorder.spent_s
        if self.design == 'quick':
            plan.includes_settling = True
            if self._holds_all(recorder.spent_s):
                # setting up is in the time of its launch
                plan.start_s, plan.answer_s = 0, self._asked_ns // 12 // SECOND_NS
        if options['ends_when']:
            note('a look after each launch, at alpha %.3g (0.01 by %d)' % (0.01 / (n_turns * n), n_turns * n))
        lines = ['%d %s' % (i, nodes) for i in range(n) for nodes in experiment.nodes.sets]
        labels = ['' if it.interval == '-' else 'every ' + it.interval for it in intervals]
        for _, line in shuffled(int(options['seed']), self.n_launches, lines):
            i, _, nodes = line.partition(' ')
            it = intervals[int(i)]
            plan.row('-', nodes, experiment.ranks, self._row_words(it, words, replay)
                     + ['--seed', str(int(options['seed']) + plan.number)],
                     nanoseconds(it.seconds) * it.settling_ns // it.stretch_ns,
                     labels[int(i)])
        plan.parts.sort(key=lambda part: labels.index(part.label))
        notes = ['analyses: ' + campaign.analyses, 'start_s: %d' % campaign.start_s, 'agent_period_ns: %s'
                 % (self.period_ns or '-'),
                 'agent_period_source: ' + self.period_source]
        notes += ['looks: %d' % (n_turns * n)] if options['ends_when'] else []
        return notes + (['agent_intervals: ' + self.intervals] if options['sweep'] else [])

    def _row_words(self, it: Interval, words: List[str], replay: Optional[Tuple[str, str]]) -> List[str]:
        """The words of a launch at that interval, but its seed."""
        words = list(self._agent_words(it.interval, words))
        if it.period_ns:
            words += ['--agent-period', '%dns%s' % (it.period_ns, '' if it.interval == '-' else ':interval='
                                                    + it.interval)]
        words += ([] if it.settle == '-' else ['--agent-settle', it.settle]) + self._load()
        if replay is not None:
            trace = files.absolute(self.experiment.campaign.folder) + '/agent/recorded.trace'
            words += ['--pattern', 'replay', '--replay', trace, '--levels', replay[0], '--on', replay[1]]
        return words + ['--design', self.design, self.stretch_name, '%dns' % it.stretch_ns, '--seconds',
                        it.seconds]

