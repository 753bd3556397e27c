"""A campaign on disk, and what runs of its schedule: the launches that are not complete, in order, one after
the other."""
import os
import re
from typing import Callable, List, Optional, Set

from noiselab_run import document, files, slurm, treatments
from noiselab_run.claims import Claims
from noiselab_run.launch import LaunchFailed, Launcher, Step
from noiselab_run.nodes import ALL, Nodes
from noiselab_run.options import Options
from noiselab_run.process import NOTHING, Programs, ask, run, signals
from noiselab_run.schedule import Plan, Row, Schedule, is_columns, is_complete, is_launch
from noiselab_run.status import NO
from noiselab_run.text import SECOND_NS, Stop, die, note, now, number_of, say_time, utc

# a batch job gets its TERM a minute before its end (--signal=B:TERM@60)
RESERVE_S = 65


class Campaign:
    """The folder, its schedule, and how its launches are run. `judges_partial`: what looks at the data before
    the end that a failed launch is; `plans_again`: changes the plan after a launch, and then says so."""

    def __init__(self, experiment: str, options: Options, programs: Programs, nodes: Nodes,
                 launcher: Launcher, scratch: files.Scratch) -> None:
        self.experiment, self.options, self.programs = experiment, options, programs
        self.nodes, self.launcher, self.scratch = nodes, launcher, scratch
        self.folder = ''
        self.schedule = Schedule('')
        # what starting MPI, the pilot and writing the files take; what launches really took replaces it
        self.start_s = 2
        self.command = 'noiselab run ' + experiment
        self.analysis = ''
        self.analyses = ''
        self.treatment = ''
        self.interval_s = ''
        self.notes = []  # type: List[str]  # lines for the head of the schedule
        # what else the plan may make for the campaign: a folder for an agent, limits of acceptance
        self.planned_files = ['agent', 'limits.conf', 'classes.conf']
        self.judges_partial = None  # type: Optional[Callable[[], None]]
        self.plans_again = None  # type: Optional[Callable[[], bool]]
        self.n_taken = 0
        self.launches_s = self.went_on_s = 0  # what launches took; of it, a program after its measurement
        self.n_elsewhere = 0
        self._n_before = 0  # complete when this began
        self._taken_s = 0
        self._started_s = 0
        self._left_ns = 0
        self._ends_at = None  # type: Optional[int]
        self._is_made = False
        self._is_decided = False
        self._lost = ''  # part of a message

    def use(self, folder: str) -> None:
        self.folder = self.launcher.campaign = folder
        self.schedule = Schedule(folder)

    def how_to_go_on(self) -> str:
        return "go on with: noiselab run %s --resume '%s'" % (self.experiment, self.folder)

    def interruption(self) -> str:
        """What is said of a signal while no launch runs."""
        if self.folder and os.path.isfile(self.folder + '/schedule.tsv'):
            return "interrupted; what was taken is in '%s'; %s" % (self.folder, self.how_to_go_on())
        return 'interrupted; nothing was measured'

    # ---- a new one

    def refuse_scheduled(self) -> None:
        """A folder with a schedule is a campaign that goes on as it was planned."""
        if os.path.exists(self.folder + '/schedule.tsv'):
            die(2, "'%s' has a schedule already: %s, or give another --out"
                % (self.folder, self.how_to_go_on()))

    def make(self) -> None:
        """The folder, and in it what the plan made."""
        there = files.entries(self.folder)
        # what is there and is no campaign of ours is not taken without a word
        if there and not self._is_made and not os.path.exists(self.folder + '/schedule.tsv'):
            if next(files.with_file(self.folder, 'launch.json'), None):
                note("'%s' holds launches already: these are added to them, and analysed with them"
                     % self.folder)
            else:
                more = ' and %d more' % (len(there) - 3) if len(there) > 3 else ''
                note("'%s' exists and is no campaign: the launches go beside what is in it (%s%s)"
                     % (self.folder, ', '.join(there[:3]), more))
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            die(2, "--out: cannot make '%s': %s" % (self.folder, os.strerror(error.errno or 0)))
        self._is_made = True
        for name in self.planned_files:
            if os.path.exists(self.scratch(name)):
                try:
                    files.copy_tree(self.scratch(name), self.folder + '/' + name)
                except OSError:
                    die(2, "cannot write into '%s' (no space left?)" % self.folder)

    def take_plan(self, plan: Plan) -> None:
        """The launches that were planned, with what the head of the schedule says of them."""
        options = self.options
        rows = [Row(line) for line in plan.lines]
        tenths = (max([row.measuring_ns for row in rows] + [0]) + 50000000) // 100000000 + self.start_s * 10
        version = version_of(self.programs)
        head = ['schema: 1', 'experiment: ' + self.experiment, 'created_utc: ' + utc('%Y-%m-%dT%H:%M:%SZ'),
                'version: ' + version,
                'command: ' + self.command, 'seed: ' + options['seed'], 'launches: %d' % len(rows),
                'nodes_planned: ' + ((options['nodes'] or '-') if options['submit']
                                     else str(self.nodes.n_nodes)),
                'seconds_per_launch: %d.%d' % (tenths // 10, tenths % 10), 'margin_percent: '
                + (options['margin'] or '-'),
                'report: ' + ('no' if options['no_report'] else 'yes'), 'treatment: '
                + (self.treatment or '-'),
                'interval_s: ' + (self.interval_s or '-')]
        if options['hosts']:
            head.append('hosts: ' + options['hosts'])
        self.schedule.take('\n'.join('# ' + line for line in head + self.notes), plan.lines)

    # ---- one that goes on

    def read(self, folder: str) -> None:
        """Checks that there is a schedule that this noiselab and this experiment can go on with, and takes
        over what it recorded."""
        options = self.options
        self.use(folder[:-1] if folder.endswith('/') else folder)
        folder, schedule = self.folder, self.schedule
        if not os.path.isdir(folder):
            die(2, "'%s' is not a folder" % folder)
        if not os.path.isfile(schedule.path):
            die(2, "'%s' has no schedule.tsv: it was made by an older noiselab, or by noiselab detect, and "
                "cannot be resumed, only analysed" % folder)
        # words that stand in it are run
        if os.geteuid() == 0 and (files.owner_of(folder) or files.owner_of(schedule.path)):
            die(2, "'%s' belongs to another user, and what it says would be run as root: go on with it as "
                "that user" % folder)
        schedule.load()
        if schedule.value('schema') != '1':
            die(2, "'%s': schema '%s' is not known here (1 is)" % (schedule.path, schedule.value('schema')))
        of = schedule.value('experiment')
        if of != self.experiment:
            die(2, "'%s' is of the experiment '%s': noiselab run %s --resume '%s'" % (folder, of, of, folder))
        if schedule.damaged:
            die(2, "'%s', line %d: not a launch of its own (launch, set, nodes, ranks, words, separated by "
                "tabs)" % (schedule.path, schedule.damaged))
        options['seed'] = schedule.value('seed')
        options['margin'] = schedule.value('margin_percent')
        self.treatment = schedule.value('treatment')
        self.interval_s = schedule.value('interval_s')
        self.analyses = schedule.value('analyses')
        if schedule.value('report') != 'yes':
            options['no_report'] = 'yes'
        self._take_private_schedule()
        # a Slurm job that goes on has nodes of its own
        if not slurm.in_job() and not options['submit']:
            options['hosts'] = options['hosts'] or schedule.value('hosts')
        self.nodes.check_hosts()
        start_s = number_of(schedule.value('start_s'))
        self.start_s = self.start_s if start_s is None else start_s
        # plain words only; they become options
        for key in ('analyses', 'seed', 'margin_percent', 'interval_s'):
            value = schedule.value(key)
            if re.search('[^0-9A-Za-z.%,:=]', value):
                die(2, "'%s': '%s' is not a value of '%s'" % (schedule.path, value, key))

    def _take_private_schedule(self) -> None:
        """Where words of the schedule are secret, those as they are."""
        schedule, private = self.schedule, self.folder + '/schedule.private.tsv'
        if os.path.isfile(private):
            if os.geteuid() == 0 and files.owner_of(private):
                die(2, "'%s' belongs to another user, and would be run as root" % private)
            schedule.path = private
            schedule.load()
        elif self.options['resume'] and any('***' in row.line for row in schedule.rows):
            die(2, "'%s' has *** where passwords were, and '%s', which has them, is gone: it can only be "
                "analysed (--finish)" % (schedule.path, private))

    # ---- what is left, and whether the job has the time

    def needed_seconds(self) -> int:
        """What the launches that are left take."""
        n_left = self.schedule.n_planned - self._n_before - self.n_taken
        return self._left_ns // SECOND_NS + n_left * self.start_s + 1

    def count(self) -> None:
        """At the beginning of a run, or of a submission."""
        self.schedule.count()
        self._n_before, self._left_ns = self.schedule.n_complete, self.schedule.left_ns

    def count_now(self) -> int:
        """In the middle of a run: how many launches are complete."""
        self.schedule.count()
        self._n_before, self._left_ns = self.schedule.n_complete - self.n_taken, self.schedule.left_ns
        return self.schedule.n_complete

    def _refuse_short_time(self) -> None:
        """A job that cannot hold the launches that are left is refused before the first; one that may go back
        into the queue must hold one."""
        n_left = self.schedule.n_planned - self._n_before
        if self._ends_at is None or self.options['only'] or not n_left:
            return
        need_s, have_s = self.needed_seconds(), self._ends_at - now()
        if self.options['requeue'] or need_s + RESERVE_S <= have_s:
            return
        die(2, 'the %d launch(es) that are left take some %s, and this job ends in %s,'
            % (n_left, say_time(need_s), say_time(have_s)),
            'of which it keeps the last %d s: ask for --time=%s,'
            % (RESERVE_S, slurm.time(need_s * 5 // 4 + RESERVE_S)),
            "or go on from job to job (--requeue); '%s' can be resumed" % self.folder)

    def _leave_in_time(self, row: Row, seconds: int) -> None:
        """A launch that could not end in this job's time is not begun."""
        if self._ends_at is None:
            return
        have_s = self._ends_at - now()
        if seconds + self.start_s + RESERVE_S <= have_s:
            return
        self._release(row)
        if self.options['requeue'] and self.n_taken:
            slurm.back_into_queue(self.folder, self.how_to_go_on())
        die(2, 'the next launch takes some %d s and would not end before this job does, in %s,'
            % (seconds + self.start_s, say_time(have_s)),
            'of which it keeps the last %d s; %d of %d launches are left; %s'
            % (RESERVE_S, self.schedule.n_planned - self._n_before - self.n_taken, self.schedule.n_planned,
               self.how_to_go_on()))

    # ---- the launches

    def run(self) -> None:
        """All launches that are not complete, or only those of one task. Returns when they are; else ends
        with status 2 and says how to go on."""
        schedule, only = self.schedule, self.options['only']
        self.launcher.choose()
        self.nodes.find_cpus()
        if self.treatment:
            treatments.require(self.treatment, self.options, self.launcher)
        self.count()
        self._ends_at = slurm.ends_at()
        self._refuse_short_time()
        planned_on = schedule.value('nodes_planned')
        if planned_on and planned_on != str(self.nodes.n_nodes) and not only:
            note('planned on %s node(s), and run on %d: launches on all nodes (-) differ in size from those '
                 'before' % (planned_on, self.nodes.n_nodes))
        self.claims = Claims(self.folder, self.how_to_go_on())
        signals.catch()
        while self._walk():
            pass
        signals.end()
        self.schedule.count()
        if only:
            return
        # what others had begun may be complete by now
        if self.n_elsewhere and schedule.n_complete != schedule.n_planned:
            die(2, "%d launch(es) are run by others at this moment (see '%s/claims'); when they have ended, "
                "%s"
                % (self.n_elsewhere, self.folder, self.how_to_go_on()))

    def _walk(self) -> bool:
        """The launches in order; True: what is left was planned anew, and is walked again."""
        for number, row in enumerate(self.schedule.rows, 1):
            if self.options['only'] and int(self.options['only']) != row.task:
                continue
            is_replanned = self._run_row(row, number)
            if self._is_decided or is_replanned:
                return is_replanned
        return False

    def _release(self, row: Row) -> None:
        self.claims.release(row.launch)

    def _run_row(self, row: Row, number: int) -> bool:
        """One launch; True: it changed what is left."""
        seconds = (row.measuring_ns + SECOND_NS - 1) // SECOND_NS
        if is_complete(self.folder, row.launch):
            return False
        self.nodes.require_known('launch ' + row.launch, row.nodes)
        if not self.claims.claim(row.launch):
            self.n_elsewhere += 1
            return False
        # another one may have completed it between the look and the claim
        if is_complete(self.folder, row.launch):
            self._release(row)
            return False
        step = Step(row.launch, row.nodes)
        words = step.take_words(row.words, self.schedule.path, self.nodes)
        if step.noise_node:
            words = ['--noise-nodes', step.noise_node] + words
        self._leave_in_time(row, seconds)
        self._put_aside(row)
        what = self._described(row, step, words)
        if self.n_taken and not self.options['only']:
            what += ', some %s left' % say_time(self.needed_seconds())
        note('launch %d of %d: %s' % (number, self.schedule.n_planned, what))
        treatments.put_under(step, words, self.interval_s)
        try:
            self.launcher.launch(step, row.ranks, ['--out', self.folder, '--launch-id', row.launch,
                                                   '--progress', progress()] + words)
        except LaunchFailed as failed:
            self._failed(row, str(failed))
        self._judge_end(row, step)
        self.n_taken += 1
        self._taken_s += seconds
        self._started_s += step.took_s - step.went_on_s
        self.launches_s += step.took_s
        self.went_on_s += step.went_on_s
        self.start_s = max(1, (2 * (self._started_s - self._taken_s) + self.n_taken) // (2 * self.n_taken))
        self._left_ns -= seconds * SECOND_NS
        self._release(row)
        self._look_at_margin()
        return self.plans_again() if self.plans_again is not None else False

    def _look_at_margin(self) -> None:
        """At a look that was planned; where it decides, the launches that are left are taken out of the
        schedule."""
        n_looks = self.schedule.value('looks')
        if not n_looks or self.options['only'] or self.n_elsewhere:
            return
        n_now = self.count_now()
        if n_now >= self.schedule.n_planned:
            return
        word = [each for each in self.analyses.split(',')[:1] if each]
        words = [self.programs.path('noiselab-analyze')] + word + ['--margin', self.options['margin'],
                                                                   '--json', self.folder]
        if run(words, stdout=NOTHING, stderr=NOTHING) > NO:
            return
        self._is_decided = True
        note('the look after launch %d of %s has decided: the other launches are not run' % (n_now, n_looks))

        def decided(lines: List[str], complete: Set[str]) -> List[str]:
            out = []  # type: List[str]
            for line in lines:
                if is_columns(line):
                    out.append('# decided_after: %d of %s' % (n_now, n_looks))
                if not is_launch(line) or line.split('\t', 1)[0] in complete:
                    out.append(line)
            return out

        self.schedule.change(decided)
        self.count_now()

    def _failed(self, row: Row, message: str) -> None:
        """What is there stays, and is looked at where the experiment wants that."""
        self._release(row)
        if self.judges_partial is not None:
            self.judges_partial()
        die(2, message)

    def _keep_lost(self, row: Row) -> None:
        """Notes the nodes that the launch lost in the schedule, for the verdict."""
        self._lost = ''
        lost = self.launcher.lost_nodes()
        if not lost:
            return
        self._lost = ', and there is no answer from ' + ', '.join(lost)
        entry = '%s %s' % (row.launch, ','.join(lost))
        if entry not in self.schedule.value('lost').split('\n'):
            self.schedule.add_to_head('# lost: ' + entry)

    def _judge_end(self, row: Row, step: Step) -> None:
        """What the launch ended with decides, not the launcher, whose status is often that of a rank that was
        told to end."""
        said = document.undamaged('%s/%s/launch.json' % (self.folder, row.launch))
        ranks = ended = ''  # it is not there, or was cut off
        if said is not None:
            try:
                ranks, ended = said.text('ranks'), said.text('ended')
            except Stop:
                self._release(row)
                raise
        # a job ends when a node does
        if signals.interrupted or ended == 'interrupted':
            self._keep_lost(row)
            self._stop_interrupted(row)
        # noiselab-accept ends with 1 after data errors, and is complete all the same
        status = 0 if step.program == 'noiselab-accept' and ended == 'complete' else step.status
        self._lost = ''
        if status or ended != 'complete':
            self._keep_lost(row)
        taken = "what was taken is in '%s'; %s" % (self.folder, self.how_to_go_on())
        if status and not os.path.exists(self.folder + '/' + row.launch):
            self._failed(row, 'launch %s did not start (%s ended with status %d%s)%s; %s'
                         % (row.launch, self.launcher.kind, status, self._lost, self._other_launcher(),
                            self.how_to_go_on()))
        if status:
            self._failed(row, 'the measurement ended with status %d%s; %s' % (status, self._lost, taken))
        # srun ends with 0 after some losses of nodes, too
        if ended != 'complete':
            self._failed(row, 'launch %s is not complete (%s%s); %s'
                         % (row.launch, ended or 'it has no end', self._lost, taken))
        wanted = step.shape.n_nodes * step.shape.per_node
        if ranks != str(wanted):
            self._failed(row, 'launch %s has %s rank(s) in place of %d%s'
                         % (row.launch, ranks or 'no', wanted, self._other_launcher()))

    def _other_launcher(self) -> str:
        """What to try where the ranks did not find each other."""
        it, how = self.launcher.mpirun, 'name another one in NOISELAB_MPIRUN'
        if self.launcher.kind == 'srun':
            it, how = 'srun', 'set NOISELAB_SRUN_MPI (see srun --mpi=list), or take --launcher mpirun'
        return ': if %s does not fit the MPI library of noiselab-detect, %s' % (it, how)

    def _stop_interrupted(self, row: Row) -> None:
        self._release(row)
        signals.end()
        # a TERM near the end of the job's time is the time limit's, which Slurm may send a minute early; any
        # other one is somebody's wish and a launch that did not fit into a whole job would not fit into the
        # next one
        may_go_on = self.options['requeue'] and self._ends_at is not None and self.n_taken
        if may_go_on and self._ends_at is not None and self._ends_at - now() <= RESERVE_S + 60:
            slurm.back_into_queue(self.folder, self.how_to_go_on())
        if self.judges_partial is not None:
            self.judges_partial()
        analysis = self.analysis + ' ' if self.analysis else ''
        die(2, "interrupted%s; rows taken so far can be analysed: noiselab analyze %s'%s'; %s"
            % (self._lost, analysis, self.folder, self.how_to_go_on()))

    def _put_aside(self, row: Row) -> None:
        """Rows of an attempt that did not end are kept apart from those of the next one."""
        path = self.folder + '/' + row.launch
        if not os.path.exists(path):
            return
        attempt = 1
        while os.path.exists('%s/partial/%s.%d' % (self.folder, row.launch, attempt)):
            attempt += 1
        try:
            os.makedirs(self.folder + '/partial', exist_ok=True)
            os.rename(path, '%s/partial/%s.%d' % (self.folder, row.launch, attempt))
        except OSError:
            self._release(row)
            die(2, "cannot move the unfinished launch '%s' to '%s/partial'" % (path, self.folder))

    def _described(self, row: Row, step: Step, words: List[str]) -> str:
        """By what this launch differs from the others, for people."""
        what = 'one rank per core' if row.ranks == ALL else row.ranks + ' rank(s)'
        if step.nodes != ALL:
            what += ' on ' + step.nodes
        arm, external = treatments.arm_of(words)
        level = ''
        for word, value in zip(words, words[1:]):
            if word == '--count':
                what += ', blocks of %s operations' % value
            elif word == '--levels':
                level = value + ' %'
        level = external or level
        if row.set != '-':
            what += ', set ' + row.set
        if step.program == 'noiselab-accept':
            what += ', checks'
        if step.noise_node:
            what += ', %s%s on %s' % ('' if self.experiment == 'advise' else 'self-check with ', level,
                                      step.noise_node)
        return what + {'off': ', off', 'on': ', ' + level}.get(arm, '')


def progress() -> str:
    """How launches say it: mpirun hides the terminal and its width from the ranks."""
    if not os.isatty(2) or os.environ.get('TERM', 'dumb') == 'dumb':
        return 'lines'
    try:
        os.environ['COLUMNS'] = str(os.get_terminal_size(2).columns)
    except OSError:
        pass
    return 'terminal'


def version_of(programs: Programs) -> str:
    said = ask([programs.path('noiselab-gen'), '--version'], stderr=None).out.strip()
    return said[len('noiselab-gen '):] if said.startswith('noiselab-gen ') else said

