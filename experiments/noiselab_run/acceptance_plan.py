"""What of an acceptance campaign is reckoned before it: orders of nodes, and the launches of the self-check.
"""
from math import gcd
from typing import List, NamedTuple

from noiselab_run.process import NOTHING, Programs, run
from noiselab_run.text import nanoseconds, rounded, without

# a launch with a known load: percent of one CPU, how long, and its half-periods
Loaded = NamedTuple('Loaded', [('level', str), ('seconds', str), ('half', str)])


def loaded(level: str, seconds: str) -> Loaded:
    """Long halves: nodes that share a CPU take turns on it in slices of milliseconds, which a half does not
    hold whole."""
    ns = nanoseconds(seconds)
    return Loaded(level, seconds, '%dms' % min(max(ns // 40000000, 100), 1000))


class SelfCheck:
    """One node gets a known load, and must be found; a short launch with ten times the load tells whether the
    run was insensitive or something is broken."""

    def __init__(self, wanted: str) -> None:
        self.is_on = wanted != 'none'
        level, has_time, seconds = wanted.partition(':')
        self.level = level if wanted and self.is_on else '1'
        self.seconds = seconds if has_time else '40s'
        self.level = without(self.level, '%')

    def launches(self) -> List[Loaded]:
        out = [loaded(self.level, self.seconds)]
        # ten times the load in an eighth of the time (3 s at least), where that is not all of a CPU
        if 10 * float(self.level) <= 50:
            out.append(loaded(rounded(10 * float(self.level)), '%dms'
                              % max(3000, nanoseconds(self.seconds) // 8000000)))
        return out


def order_of_nodes(turn: int, n_turns: int, n_nodes: int) -> str:
    """"first:step" of an order of so many nodes: it begins with another node each time, and where the number
    of nodes allows it each node has other neighbours, too: steps that have no divisor in common with the
    number, up to half of it, for a step and its complement are the same ring."""
    steps = [step for step in range(1, max(n_nodes // 2, 1) + 1) if gcd(step, n_nodes) == 1]
    return '%d:%d' % (turn * n_nodes // n_turns, steps[turn % len(steps)])


def drawn_kind(programs: Programs, seed: int, may_be_here: bool) -> str:
    """spin, or cache where all runs on this machine, and it has one; elsewhere nobody knows."""
    if seed % 2 == 1 and may_be_here:
        words = [programs.path('noiselab-gen'), '--kind', 'cache', '--level', '0.1', '--duration', '20ms']
        # status 1: it ran, if for another time than asked
        if run(words, stdout=NOTHING, stderr=NOTHING) <= 1:
            return 'cache'
    return 'spin'
