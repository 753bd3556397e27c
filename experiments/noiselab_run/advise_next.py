"""The schedule of noiselab run advise with what is to go on, in the time that is left: pure functions of its
lines."""
import re
from typing import Dict, List, Set

from noiselab_run.schedule import is_columns, is_launch


def replanned(lines: List[str], complete: Set[str], new: Dict[str, str], n_now: int) -> List[str]:
    """The lines of a schedule with what is to go on. The launches that are left keep their names, seeds and
    places; more of them count on, in the places of the first ones."""
    left = int(new.get('launches') or 0)
    places = [line for line in lines if is_launch(line)]
    out = []  # type: List[str]
    last, n = '', 0
    for line in lines:
        if line.startswith('# stages: '):
            line = '# stages: ' + new.get('stages', '')
        elif line.startswith('# launches: '):
            line = '# launches: %d' % (n_now + left)
        is_done = line.split('\t', 1)[0] in complete
        if line.startswith('#') or is_columns(line) or is_done:
            out.append(line)
        elif n < left:
            n += 1
            out.append(changed(line, new, line, 0))
        else:
            continue
        if is_launch(line):
            last = line
    for more in range(1, left - n + 1):
        out.append(changed(places[(n_now + n + more - 1) % len(places)], new, last, more))
    return out


def changed(line: str, new: Dict[str, str], last: str, more: int) -> str:
    """A launch with other operations and another time; the `more`th after the last one has its name and seed
    counted on from there."""
    words, ends = line.split('\t'), last.split('\t')
    if more:
        name = re.sub('[0-9]+$', '', ends[0])
        words[0] = '%s%04d' % (name, int(ends[0][len(name):]) + more)
    for i in range(1, len(words)):
        if words[i - 1] == '--op':
            words[i] = new.get('op', '')
        elif words[i - 1] == '--seconds':
            words[i] = new.get('seconds', '') + 's'
        elif words[i - 1] == '--seed' and more:
            words[i] = str(int(ends[ends.index('--seed') + 1]) + more)
    return '\t'.join(words)
