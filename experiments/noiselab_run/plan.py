"""What is known before the first launch: the words are tried once by the program that measures, without a
launcher, and it says what it would do. A wrong word then gives one line, not one per rank and the launcher's
own."""
import math
from typing import List, Optional, Sequence

from noiselab_run import document
from noiselab_run.options import Options
from noiselab_run.process import Programs, ask
from noiselab_run.text import Stop, die, note, put

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


def say_seconds(seconds: float) -> str:
    return '%.0f s' % seconds if seconds < 120 else '%d min %d s' % (seconds // 60, seconds % 60)


def reach(said: document.Document, n_launches: int, start_s: int) -> str:
    """What these launches, all as rehearsed, take in all, and how small a slowdown they could see; empty for
    one loop per arm."""
    design, rounds, n_halves, half_ns = [said.value(key)
                                         for key in ('design', 'rounds', 'halves_per_round', 'half_ns')]
    varies = any(pattern != 'periodic' for pattern in said.all('treatments.*.pattern'))
    if design == 'single':
        return ''
    half = half_ns / 1e9
    number, unit = (half * 1e6, 'us') if half < 1e-3 else (half * 1e3, 'ms') if half < 1 else (half, 's')
    pairs = rounds * n_launches
    takes = n_launches * (rounds * n_halves * (half + SWITCH_S) + start_s)
    what = '%d launch%s, some %s in all; %d pairs of %g %s for each operation and level' % (
        n_launches, '' if n_launches == 1 else 'es', say_seconds(takes), pairs, number, unit)
    if pairs < LEAST_PAIRS:
        each = ((LEAST_PAIRS - 1) // n_launches + 1) * n_halves * half
        enough_s = (int(each * 10 - 1e-9) + 1) / 10
        return '%s: too few, a test at alpha 0.01 needs %d; --seconds %g would do' \
            % (what, LEAST_PAIRS, enough_s)
    sd = assumed_scatter(half, not varies and design == 'lockin') * math.sqrt(2 / half)
    seen = Z * sd / math.sqrt(pairs)
    return '%s: by time a slowdown of %.2g %% can be seen (assumed: pairs scatter by %.2g %%)' \
        % (what, seen, sd)


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

    def of(self, words: Sequence[str]) -> List[str]:
        """The command of a dry run."""
        words = ['--out', self.campaign] + list(words)
        if self.program == 'noiselab-detect':
            words = self.programs.handed_on(words, self.options.experiment)
        return [self.programs.path(self.program), '--dry-run'] + words

    def run(self, words: Sequence[str]) -> None:
        is_plan = self.options['dry_run'] or self.program == 'noiselab-accept'
        if not is_plan and self.options.was_given('--json'):
            die(2, '--json: belongs to --dry-run; for results as JSON: noiselab analyze --json DIR')
        command = self.of(words)
        said = ask(command[:2] + ['--json'] + command[2:])
        if said.status:
            put(said.err, 2)
            raise Stop(2)
        self._said = document.of_program(said.out)
        if self.options['dry_run']:
            # with the user's own --json, if it was given
            shown = ask(command, stderr=None)
            if shown.status:
                raise Stop(shown.status)
            self.shown = shown.out.rstrip('\n')

    def say_reach(self, n_launches: int, start_s: int) -> None:
        """Nothing is refused."""
        text = reach(self.said, n_launches, start_s)
        if text:
            note('plan: ' + text)
