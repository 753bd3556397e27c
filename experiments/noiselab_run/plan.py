"""What is known before the first launch: the words are tried once by the program that measures, without a
launcher, and it says what it would do. A wrong word then gives one line, not one per rank and the launcher's
own."""
import math
from typing import List, Optional, Sequence

from noiselab_run import document
from noiselab_run.options import Options
from noiselab_run.process import Programs, ask
from noiselab_run.schedule import Plan
from noiselab_run.text import Stop, die, put, say_seconds

# Of a pair's log ratio, percent times the root of the half over sqrt(2), by the half in seconds, as noiselab
# plan assumes it without a pilot (assumed_scatter in analysis/R/decide-plan.R, with which a test compares
# it). Where every half holds the same bursts ranks say it, and the first figure is another. Nodes on which
# launches are planned have no R, and to start it takes longer than to plan.
SCATTER = ((0.01, 0.5), (1.0, 2.1), (5.0, 4.0))
SCATTER_BY_RANKS = 4 * math.sqrt(0.01 / 2)
# quantiles of the normal distribution: alpha 0.01 on one side, power 0.95; with fewer than 7 pairs no test
# reaches that alpha
Z = 2.3263 + 1.6449
LEAST_PAIRS = 7
# of a half, beside its measuring time
SWITCH_S = 3e-4


def assumed_scatter(half_s: float, by_ranks: bool) -> float:
    """Percent of a pair, times sqrt(half / 2); between the figures, and beyond the last one, straight in
    logarithms."""
    x = [math.log(half) for half, _ in SCATTER]
    y = [math.log(SCATTER_BY_RANKS if by_ranks and i == 0 else figure) for i,
         (_, figure) in enumerate(SCATTER)]
    at = math.log(half_s)
    i = 0 if at < x[1] else 1
    return math.exp(y[i] + (y[i + 1] - y[i]) / (x[i + 1] - x[i]) * (max(at, x[0]) - x[i]))


def reach(said: document.Document, n_launches: int) -> str:
    """How small a slowdown these launches, all as rehearsed, could see; empty for one loop per arm."""
    design, rounds, n_halves, half_ns = [said.value(key)
                                         for key in ('design', 'rounds', 'halves_per_round', 'half_ns')]
    varies = any(pattern != 'periodic' for pattern in said.all('treatments.*.pattern'))
    if design == 'single':
        return ''
    half = half_ns / 1e9
    number, unit = (half * 1e6, 'us') if half < 1e-3 else (half * 1e3, 'ms') if half < 1 else (half, 's')
    pairs = rounds * n_launches
    what = '%d pairs of %g %s for each operation and level' % (pairs, number, unit)
    if pairs < LEAST_PAIRS:
        each = ((LEAST_PAIRS - 1) // n_launches + 1) * n_halves * half
        enough_s = (int(each * 10 - 1e-9) + 1) / 10
        return '%s: too few, a test at alpha 0.01 needs %d; --seconds %g would do' \
            % (what, LEAST_PAIRS, enough_s)
    sd = assumed_scatter(half, not varies and design == 'lockin') * math.sqrt(2 / half)
    seen = Z * sd / math.sqrt(pairs)
    return '%s: by time a slowdown of %.2g %% can be seen (assumed: pairs scatter by %.2g %%)' \
        % (what, seen, sd)


class Forecast:
    """What a campaign takes, by its plan: the same sum before a dry run, before a run and at its end."""

    def __init__(self, plan: Plan, start_s: float, half_ns: int, answer_s: int) -> None:
        """start_s: of each launch; half_ns: of a segment, between two switches (0: there are none)."""
        self.plan = plan
        self.n_launches = len(plan.parts)
        self.measuring_s = sum(part.measuring_ns for part in plan.parts) / 1e9
        self.settling_s = sum(part.settling_ns for part in plan.parts) / 1e9
        self.start_s = self.n_launches * start_s
        if half_ns:
            self.start_s += self.measuring_s / (half_ns / 1e9) * SWITCH_S
        self.answer_s = answer_s if plan.answer_s is None else plan.answer_s

    @property
    def total_s(self) -> float:
        return self.plan.before_s + self.measuring_s + self.settling_s + self.start_s + self.answer_s

    def say(self) -> str:
        """In one line."""
        plan = self.plan
        of_it = ['%s to record the agent' % say_seconds(plan.before_s)] if plan.before_s else []
        of_it.append('%s of measuring%s' % (say_seconds(self.measuring_s),
                                            ' (settling included)' if plan.includes_settling else ''))
        if self.settling_s:
            of_it.append('%s of settling after switches' % say_seconds(self.settling_s))
        of_it.append('%s to start%s' % (say_seconds(self.start_s), ' and switch' if self.settling_s else ''))
        of_it.append('%s for the answer' % say_seconds(self.answer_s))
        return '%d launch%s, total %s: %s' % (self.n_launches, '' if self.n_launches == 1 else 'es',
                                              say_seconds(self.total_s), ', '.join(of_it))

    def say_parts(self) -> str:
        """What each interval of a sweep, or other part with a name, gets; empty where there is one."""
        said = []  # type: List[str]
        for label in dict.fromkeys(part.label for part in self.plan.parts):
            parts = [part for part in self.plan.parts if part.label == label]
            n, settling_s = len(parts), sum(part.settling_ns for part in parts) / 1e9
            measuring_s = sum(part.measuring_ns for part in parts) / 1e9
            if label:
                said.append('%s: %d launch%s, %s of measuring%s' % (
                    label, n, '' if n == 1 else 'es', say_seconds(measuring_s),
                    ' and %s of settling' % say_seconds(settling_s) if settling_s else ''))
        return '; '.join(said) if len(said) > 1 else ''


class Rehearsal:
    """What the program plans (`said`), and with --dry-run what the user is shown."""

    def __init__(self, programs: Programs, options: Options, program: str, campaign: str) -> None:
        self.programs, self.options, self.program, self.campaign = programs, options, program, campaign
        self._said = None  # type: Optional[document.Document]
        self.shown = ''

    @property
    def said(self) -> document.Document:
        assert self._said is not None, 'nothing was rehearsed'
        return self._said

    def switched_ns(self) -> int:
        """The length of a segment, after which the noise is switched; 0: it is not, or takes no time."""
        if self.program != 'noiselab-detect' or self._said is None:
            return 0
        return self._said.number('half_ns') if self._said.text('design') in ('lockin', 'blocks') else 0

    def of(self, words: Sequence[str]) -> List[str]:
        """The command of a dry run."""
        words = ['--out', self.campaign] + list(words)
        if self.program == 'noiselab-detect':
            words = self.programs.handed_on(words, self.options.experiment)
        return [self.programs.path(self.program), '--dry-run'] + words

    @staticmethod
    def ask(command: Sequence[str]) -> document.Document:
        """What the program of that dry run plans; what it refuses is said and refused here, too."""
        said = ask(list(command[:2]) + ['--json'] + list(command[2:]))
        if said.status:
            put(said.err, 2)
            raise Stop(2)
        return document.of_program(said.out)

    def run(self, words: Sequence[str]) -> None:
        is_plan = self.options['dry_run'] or self.program == 'noiselab-accept'
        if not is_plan and self.options.was_given('--json'):
            die(2, '--json: belongs to --dry-run; for results as JSON: noiselab analyze --json DIR')
        command = self.of(words)
        self._said = self.ask(command)
        if self.options['dry_run']:
            # with the user's own --json, if it was given
            shown = ask(command, stderr=None)
            if shown.status:
                raise Stop(shown.status)
            self.shown = shown.out.rstrip('\n')
