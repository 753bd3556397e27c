"""What every experiment does with its options: ask, submit, plan and run, go on, or only answer. An
experiment is a class that says what is its own (docs/guides/extending.md)."""
import os
from typing import List, NoReturn, Optional, Sequence

from noiselab_run import files, slurm
from noiselab_run.campaign import Campaign
from noiselab_run.launch import Launcher
from noiselab_run.nodes import Nodes
from noiselab_run.options import COMMON_USAGE, WITH_RESUME, Options
from noiselab_run.plan import Forecast, Rehearsal
from noiselab_run.process import Programs, ask, run
from noiselab_run.schedule import Plan
from noiselab_run.status import ANSWERS, DONE, USAGE
from noiselab_run.text import (Stop, check_margin, countable, die, note, now, put, quoted, say_seconds, utc,
                               whole)

# of a launch, where the beat of a program is looked for
PROGRAM_START_S = 8
# what analysis and report take, and the answer without a report
ANSWER_S, ANSWER_ALONE_S = 10, 5
# a campaign that takes so many times what its plan said, and a few seconds, says why
OVERRUN, OVERRUN_S = 1.3, 5


class Experiment:
    """One command. Subclasses set what stands here in capitals, and have `defaults`, `refuse`, `check` and
    `plan`."""

    NAME = ''
    ANALYSIS = ''  # the word of noiselab analyze that answers; may be empty
    ASKED = ''  # the word that is asked of options, where that is another one
    OPTIONS = ''  # rows of options (noiselab_run/options.py)
    USAGE = ''
    PROGRAM = 'noiselab-detect'  # asks, rehearses and measures
    ASKS_MARGIN = True  # whether the analysis is asked of --margin alone, and not of more, later
    WITH_RESUME = ()  # type: Sequence[str]  # options of its own that may stand beside --resume

    def __init__(self, programs: Programs, words: List[str]) -> None:
        self.programs = programs
        self.scratch = files.Scratch()
        self.options = Options(self.NAME, self.OPTIONS)
        self.nodes = Nodes(programs, self.options)
        self.launcher = Launcher(programs, self.options, self.nodes, self.scratch, self.NAME)
        self.campaign = Campaign(self.NAME, self.options, programs, self.nodes, self.launcher, self.scratch)
        self.campaign.analysis = self.ANALYSIS
        if words:
            self.campaign.command += ' ' + quoted(words).replace('\n', ' ')
        self.words = words
        self.words_for_program = ''  # quoted: what a batch script hands on
        self.answer_options = ''  # how the answer of a job is to be written
        self.ranks = ''  # the column of the schedule
        self.plan_later = ''  # why the launches are not known before the job
        self.rehearsal = Rehearsal(programs, self.options, self.PROGRAM, '')
        self.reach = ''  # how small a slowdown the plan can see
        self.forecast = None  # type: Optional[Forecast]
        self._began_s = now()

    # ---- what an experiment says of itself

    def defaults(self) -> None:
        """Sets its options before they are read."""

    def refuse(self, name: str) -> None:
        """Ends for an option that the experiment decides itself."""

    def check(self, words: List[str]) -> None:
        """Checks values, tries the words of the program that measures (rehearse), and ends with go_on, with
        the words of all launches."""
        raise NotImplementedError

    def plan(self, plan: Plan, words: List[str]) -> None:
        """Calls plan.row for each launch, in its order."""
        raise NotImplementedError

    def questions(self) -> List[str]:
        """Options of the analysis that answers; and what is to be done before it."""
        margin = self.options['margin']
        return ['--margin', margin] if margin and self.campaign.analysis in ('', 'agent', 'intervals') else []

    def scale_barrier(self) -> str:
        """What does not judge a margin of many nodes, such as 'run agent with --sweep'; else empty."""
        return 'run ' + self.NAME

    def asks(self) -> bool:
        """Whether a question was asked, so that 1 and 3 are answers."""
        return self.options['margin'] != ''

    # ---- one command

    def main(self) -> int:
        try:
            self.defaults()
            self.options.read(self.words, self.refuse, self._help)
            self._refuse_unknown()
            return self._begin()
        finally:
            self.scratch.remove()

    def takers(self) -> Sequence[str]:
        """Programs whose options may be given."""
        return ('detect', 'gen',
                'agent') if self.PROGRAM == 'noiselab-detect' else (self.PROGRAM[len('noiselab-'):],)

    def _refuse_unknown(self) -> None:
        if self.options.foreign:
            self.options.refuse_unknown(list(self.programs.options_of(self.takers())),
                                        self.programs.did_you_mean)

    def _help(self, word: str) -> NoReturn:
        if word != '--list-tables':
            put(self.USAGE + '\n' + COMMON_USAGE)
            raise Stop(DONE)
        seen = set()
        # what both have is described there
        for taker in self.takers():
            listed = ask([self.programs.path('noiselab-' + taker), '--list-tables'], stderr=None).out
            lines = [line for line in listed.split('\n') if line.startswith('option\t')]
            for line in lines + (self.options.listed() if taker == self.takers()[-1] else []):
                name = line.split('\t')[1]
                if name not in seen:
                    put(line + '\n')
                seen.add(name)
        raise Stop(DONE)

    def _begin(self) -> int:
        options = self.options
        words = options.words
        self.words_for_program = quoted(word for word in words if word != '--dry-run')
        if options['shows']:
            path = self.programs.path(self.PROGRAM)
            os.execv(path, [path] + words)
        if options['only']:
            whole('--only', options['only'])
        slurm.say_het_job()
        if options['resume'] or options['finish']:
            return self._go_on_recorded(words)
        if options['only']:
            die(2, '--only: belongs to --resume DIR')
        self._refuse_without_submit()
        self.nodes.check_hosts()
        self.campaign.use(options['out'] or 'noiselab-%s-%s' % (self.NAME, utc('%Y%m%dT%H%M%SZ')))
        margin = options['margin']
        if margin:
            check_margin(margin, options.program != '')
        if ':' in margin and self.scale_barrier():
            die(2, "--margin: '%s' is of many nodes, which %s does not judge (run agent, run acceptance and "
                "project do): give one of one node (try %s)"
                % (margin, self.scale_barrier(), margin.split(':')[0]))
        if margin and self.ASKS_MARGIN:
            self.ask_analysis(['--margin', margin])
        if options['stop_when'] and options['margin']:
            words = words + ['--margin', options['margin']]
        self.campaign.refuse_scheduled()
        self.nodes.find_sets()
        self.plan_later = self.nodes.plan_later
        self.check(words)
        return self.status

    status = DONE

    def ask_analysis(self, words: List[str]) -> None:
        """Ends where the analysis would refuse these options, which it alone reads, after all was measured.
        Only asked where there are some: R takes a quarter of a second to start."""
        if not files.in_path('Rscript'):
            note('there is no R here: %s is checked when the campaign is analysed' % quoted(words))
            return
        word = [self.ASKED or self.ANALYSIS] if self.ASKED or self.ANALYSIS else []
        if run([self.programs.path('noiselab-analyze'), '--check-options'] + word + words):
            raise Stop(USAGE)

    def _refuse_without_submit(self) -> None:
        """Options for sbatch mean nothing here."""
        if self.options['submit']:
            return
        self.options.refuse_given(': belongs to --submit', '--array', '--wait', '--partition', '--time',
                                  '--sbatch')
        if self.options['nodes'] and not self.nodes.have_names():
            die(2, '--nodes: belongs to --submit, to a Slurm job, or to --hosts')

    def rehearse(self, words: Sequence[str]) -> None:
        """Tries the words; what the program plans is then in self.rehearsal.said."""
        self.rehearsal.campaign = self.campaign.folder
        self.rehearsal.run(words)

    def seed_and_launches(self, launches: int) -> int:
        """What is asked for or, without, so many launches and a seed from the clock; an answer about launches
        takes three."""
        self.seed_from_clock()
        self.options['launches'] = self.options['launches'] or str(launches)
        n_launches = whole('--launches', self.options['launches'])
        countable(self.options['seed'])
        if n_launches < 3:
            note('--launches %d: too few for an answer, which needs 3' % n_launches)
        return n_launches

    def seed_from_clock(self) -> None:
        self.options['seed'] = self.options['seed'] or str(now())

    @property
    def seed(self) -> int:
        return int(self.options['seed'])

    @property
    def n_launches(self) -> int:
        return int(self.options['launches'])

    def make_plan(self, words: List[str], is_dry: bool = False) -> None:
        """Has the experiment plan its launches, and says what they take."""
        plan = Plan()
        plan.is_dry = is_dry
        has_program = bool(self.options.values.get('app'))
        if has_program:
            self.campaign.start_s = max(self.campaign.start_s, PROGRAM_START_S)
            plan.unknown.append('each launch lasts to the end of the program, however long that is')
        start_s = self.campaign.start_s
        if 'launch_id' in self.options.values:
            plan.launch_id = self.options['launch_id']
        if has_program:
            plan.before = ['--follow=' + self.options.program]
        self.plan(plan, words)
        self.campaign.take_plan(plan)
        self.forecast = Forecast(plan, start_s if plan.start_s is None else plan.start_s,
                                 self.rehearsal.switched_ns(),
                                 ANSWER_ALONE_S if self.options['no_report'] else ANSWER_S)
        self._say_plan(plan)

    def _say_plan(self, plan: Plan) -> None:
        assert self.forecast is not None
        said = []  # type: List[str]
        if plan.parts:
            said = ["%s; seed %s; into '%s'"
                    % (self.forecast.say(), self.options['seed'], self.campaign.folder)]
        for text in said + [self.forecast.say_parts(), self.reach] + plan.unknown:
            if text:
                note('plan: ' + text)

    def go_on(self, words: List[str]) -> None:
        """The words are checked."""
        if self.options['submit']:
            from noiselab_run.submit import Submission
            self.status = Submission(self).campaign(words)
        elif self.options['dry_run']:
            put(self.rehearsal.shown + '\n' if self.rehearsal.shown else '')
            self.make_plan(words, is_dry=True)
        else:
            self.launcher.choose()
            self.make_plan(words)
            self.campaign.make()
            self.campaign.schedule.keep(self.programs)
            self.status = self._run_and_answer()

    def _go_on_recorded(self, words: List[str]) -> int:
        """--resume and --finish."""
        options, campaign = self.options, self.campaign
        for name in options.given:
            if name not in WITH_RESUME and name not in self.WITH_RESUME:
                die(2, '%s: a campaign goes on as it was planned; only --no-report, --launcher, --hosts and '
                    'options of the job may be given' % name)
        if words and words != ['--dry-run']:
            die(2, "'%s': a campaign goes on as it was planned; leave it out" % words[0])
        if options['resume'] and options['finish']:
            die(2, '--resume and --finish cannot be combined')
        self._refuse_without_submit()
        if options['nodes'] and not options['submit']:
            die(2, '--nodes: a campaign goes on with the nodes of its plan; leave it out, or submit a job '
                '(--submit)')
        campaign.read(options['resume'] or options['finish'])
        campaign.count()
        schedule = campaign.schedule
        if options['finish']:
            return self.answer()
        if options['submit']:
            from noiselab_run.submit import Submission
            return Submission(self).resume()
        if options['only'] and int(options['only']) > schedule.n_tasks:
            die(2, "--only: '%s' has %d tasks (launches, or sets of them)"
                % (campaign.folder, schedule.n_tasks))
        note('%d of %d planned launches are complete' % (schedule.n_complete, schedule.n_planned))
        return DONE if options['dry_run'] else self._run_and_answer()

    def _run_and_answer(self) -> int:
        self.campaign.run()
        # one task is no answer: that is for --finish
        if self.options['only']:
            return DONE
        answered_s = now()
        status = self.answer()
        self._say_overrun(now() - answered_s)
        return status

    def _say_overrun(self, answer_took_s: int) -> None:
        """Why this took much longer than the plan said, where it did."""
        took_s, forecast, campaign = now() - self._began_s, self.forecast, self.campaign
        if forecast is None or took_s <= OVERRUN * forecast.total_s + OVERRUN_S:
            return
        launches_s = forecast.measuring_s + forecast.settling_s + forecast.start_s
        causes = [(campaign.went_on_s, 'the program went on for %s after the measurement'),
                  (campaign.launches_s - campaign.went_on_s - launches_s,
                   'the launches took %s longer: the machine was busy, or waited for'),
                  (answer_took_s - forecast.answer_s, 'the answer took %s longer')]
        least_s = 0.1 * (took_s - forecast.total_s)
        why = '; '.join(text % say_seconds(seconds) for seconds, text in causes if seconds >= least_s)
        note('the campaign took %s, its plan was %s: %s'
             % (say_seconds(took_s), say_seconds(forecast.total_s),
                why or 'it waited before the first launch'))

    # ---- the answer

    def is_whole(self) -> bool:
        return self.campaign.schedule.n_complete == self.campaign.schedule.n_planned

    def answer(self) -> int:
        """Analysis and report; the status is the answer's."""
        # nothing is run any more: passwords are no longer needed
        if self.is_whole():
            files.remove_tree(self.campaign.folder + '/schedule.private.tsv')
        if not files.in_path('Rscript'):
            die(2, "the data are in '%s', but R is missing here: analyse them where R is (noiselab run %s "
                "--finish '%s')"
                % (self.campaign.folder, self.NAME, self.campaign.folder))
        return self.answer_by_analysis()

    def report(self, words: Sequence[str] = ()) -> None:
        """Ends where it cannot be written."""
        if self.options['no_report']:
            return
        folder = self.campaign.folder
        status = run([self.programs.path('noiselab-report'), '--out', folder + '/report.html'] + list(words)
                     + [folder], stdout=2)  # the answer alone is one screen
        if status:
            raise Stop(status)

    def refuse_incomplete(self, more: str = '') -> None:
        schedule = self.campaign.schedule
        if not self.is_whole():
            die(2, 'only %d of %d planned launches are complete%s; %s'
                % (schedule.n_complete, schedule.n_planned, more, self.campaign.how_to_go_on()))

    def answer_by_analysis(self) -> int:
        """Of launches of the detector. The first analysis has the question, and its status is the answer's.
        """
        campaign, analyze = self.campaign, self.programs.path('noiselab-analyze')
        words = campaign.analyses.split(',')
        asked = words[0]
        if asked not in ('', 'verdicts'):
            campaign.analysis = asked
        verdict = run([analyze] + ([campaign.analysis] if campaign.analysis else []) + self.questions()
                      + [campaign.folder])
        if verdict not in ANSWERS or (verdict != DONE and not self.asks()):
            raise Stop(verdict)
        # what one of the others cannot say is no reason to keep the rest, and the report, back
        for word in words[1:]:
            if word == asked:
                continue
            put('\n')
            status = run([analyze] + ([] if word == 'verdicts' else [word]) + [campaign.folder])
            if status:
                note('noiselab analyze %s ended with status %d; the other analyses are valid'
                     % (word, status))
        if asked in ('agent', 'intervals'):
            note('a load that imitates the agent: noiselab analyze equivalent %s' % quoted([campaign.folder]))
        self.report()
        self.refuse_incomplete()
        return verdict


def these_launches(n_launches: int) -> None:
    """What an answer is about where launches are few."""
    if n_launches < 5:
        note('--launches %d: the result holds for these launches only; for launches like these it takes '
             'five or more' % n_launches)
