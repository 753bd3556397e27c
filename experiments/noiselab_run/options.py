"""The options of noiselab run: one table for all experiments, one for each.

They are read here and not by argparse: every word that is not ours goes on to the detector in its place, and
argparse would take abbreviations of options that it does not have for ours.
"""
from typing import Callable, Dict, List, NamedTuple, Sequence, Set

from noiselab_run.text import die, quoted

# Rows: a kind, and options of it: NAME, or NAME=VARIABLE where the parameter of batch scripts and the value
# here have another name. Kinds: value, list (may come again), flag (yes), maybe (a flag that may have a
# value, by =), seen (of interest, and goes on to the detector), asks (prints something and ends). All others
# go to the detector.
COMMON = '''
value out launches ranks seed margin
flag no-report
value launcher hosts node-sets resume finish only
flag requeue submit array wait=wait_for_job
value partition nodes time=time_limit
list sbatch=sbatch_options
seen stop-when
asks dry-run version=shows list=shows
'''

# what may stand beside --resume: how it is run, not what is measured
WITH_RESUME = ('--resume --finish --only --no-report --launcher --hosts --requeue --dry-run --submit '
               '--array --wait --partition '
               '--nodes --time --sbatch').split()

COMMON_USAGE = '''\
Campaigns and launches:
  --out DIR         campaign directory (default noiselab-EXPERIMENT-DATE); the schedule of all launches is
                    written first
  --resume DIR      run the launches of DIR that are not complete, as planned
  --finish DIR      only analyse DIR and write its report
  --margin PERCENT  sensitivity, agent: is every slowdown below this? status 0 yes, 1 no, 3 the data cannot
                    tell; agent: also of many nodes, 1%:nodes=1000,every=1ms (every: of a program by itself;
                    unseen=2ms: no burst is longer that may come and was not seen, else 50ms)
  --no-report       print the answer only
  --dry-run         check the options, print the plan (with --json as JSON), and end
  --launcher NAME   srun, mpirun or auto (default: srun within a Slurm job, else mpirun)

Several nodes without Slurm:
  --hosts LIST      nodes that mpirun can reach, by the names that uname -n prints there, such as n1,n2,n3;
                    campaign and programs must have the same path on all of them

In a Slurm job (the nodes and CPUs are those of the job), or with --hosts:
  --node-sets LIST|K    each launch on one of these sets of nodes, 'n1,n2;n3,n4', or on K nodes of the job at
                        a time, in random order; accepted:DIR: on all but those that noiselab run acceptance,
                        in DIR, found worse
  --requeue             at the time limit, requeue the job and continue

Batch jobs:
  --submit          write the batch script into the campaign, show it and submit it (with --dry-run: only show
                    it)
  --array           one array task per launch (or set of launches), one after the other, and a job that
                    analyses
  --wait            wait for the job; the exit status is the job's
  --partition P, --nodes N, --time T, --sbatch 'OPTION' (such as '--qos=Q', '--dependency=afterany:JOBID'; may
                    come again) passed to sbatch; without --time the time is computed

  -h, --help        this text

The environment variable NOISELAB_MPIRUN names another mpirun.
'''

Row = NamedTuple('Row', [('name', str), ('kind', str), ('variable', str)])


def rows_of(*tables: str) -> Dict[str, Row]:
    """The rows by name, in order; the first one of a name holds."""
    rows = {}  # type: Dict[str, Row]
    for line in '\n'.join(tables).split('\n'):
        kind, *words = line.split() or ['']
        for word in words:
            name, _, variable = word.partition('=')
            rows.setdefault('--' + name, Row('--' + name, kind, (variable or name).replace('-', '_')))
    return rows


class Options:
    """The options of one command: `values` by variable (empty: not given, and no default), and the words that
    are not ours."""

    def __init__(self, experiment: str, table: str) -> None:
        self.experiment = experiment
        self.rows = rows_of(table, COMMON)
        # a name that the experiment has in its own way is empty under its common one
        self.values = {row.variable: '' for rows in (rows_of(COMMON), self.rows) for row in rows.values()}
        self.given = []  # type: List[str]
        self.foreign = []  # type: List[str]  # options that are not in the table
        self.words = []  # type: List[str]  # for the program that measures
        self.program = ''  # the words behind --, quoted

    def __getitem__(self, variable: str) -> str:
        return self.values[variable]

    def __setitem__(self, variable: str, value: str) -> None:
        if variable not in self.values:
            raise KeyError(variable)
        self.values[variable] = value

    def was_given(self, name: str) -> bool:
        return name in self.given

    def of(self, name: str) -> str:
        """The value of the option with that name."""
        return self.values[self.rows[name].variable]

    def refuse_given(self, reason: str, *names: str) -> None:
        """Ends where one of these options was given."""
        for name in names:
            if self.was_given(name):
                die(2, name + reason)

    def forget(self) -> None:
        """What is read next is another command's; values stay."""
        self.given, self.foreign, self.words, self.program = [], [], [], ''
        for variable in ('shows', 'dry_run'):
            self.values[variable] = ''

    def _set(self, name: str, value: str) -> None:
        row = self.rows[name]
        before = self.values[row.variable]
        self.values[row.variable] = before + '\n' + value if row.kind == 'list' and before else value
        self.given.append(name)

    def read(self, words: Sequence[str], refuse: Callable[[str], None], helps: Callable[[str], None]) -> None:
        """Takes what is ours out of the words. `refuse` ends for options that the experiment decides itself,
        `helps` for what only asks (--help, --list-tables)."""
        self.forget()
        rest = list(words)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition('=')
            if word == '--':
                self.program = quoted(rest)
                break
            if word in ('-h', '--help', '--list-tables'):
                helps(word)
            if not (word.startswith('--') and equals):
                name, equals, value = word, '', ''
            refuse(name)
            kind = self.rows[name].kind if name in self.rows else ''
            if kind in ('value', 'list'):
                if not equals:
                    if not rest:
                        die(2, '%s needs a value (see noiselab run %s --help)' % (name, self.experiment))
                    value = rest.pop(0)
                self._set(name, value)
            elif kind in ('flag', 'maybe'):
                if equals and kind == 'flag':
                    die(2, '%s takes no value' % name)
                self._set(name, value or 'yes')
            else:
                if kind:
                    self._set(name, 'yes')
                else:
                    self.given.append(name)
                    if name.startswith('--') and len(name) > 2:
                        self.foreign.append(name)
                self.words.append(word)

    def refuse_unknown(self, known: Sequence[str], did_you_mean: Callable[[str, Sequence[str]], str]) -> None:
        """Of the options that are not ours: an unambiguous beginning of one of the program's will do, as
        everywhere."""
        for name in self.foreign:
            if not any(other.startswith(name) for other in known):
                die(2, "'%s': unknown option (see noiselab run %s --help)%s"
                    % (name, self.experiment, did_you_mean(name, list(self.rows) + list(known))))

    def listed(self) -> List[str]:
        """The rows as the programs in C list theirs, for completion and help."""
        return ['option\t%s\t%s\toption of noiselab run %s'
                % (row.name, 'VALUE' if row.kind in ('value', 'list') else '-', self.experiment)
                for row in self.rows.values()]

    def as_words(self, without: Set[str]) -> List[str]:
        """The options given, as words, but those whose variable is in `without`."""
        out = []  # type: List[str]
        for row in self.rows.values():
            if row.kind not in ('value', 'flag', 'maybe',
                                'list') or row.variable in without or not self.was_given(row.name):
                continue
            for value in self.values[row.variable].split('\n'):
                if row.kind == 'flag' or (row.kind == 'maybe' and value == 'yes'):
                    out.append(row.name)
                elif row.kind == 'maybe':
                    out.append('%s=%s' % (row.name, quoted([value])))
                else:
                    out.append('%s %s' % (row.name, quoted([value])))
        return out
