"""Rules that noiselab run advise writes: tried where they were measured, and with a program's own runs."""
import os
import re
from typing import Any, Dict, List, Optional

from noiselab_run import files
from noiselab_run.launch import Step
from noiselab_run.nodes import Spread
from noiselab_run.process import NOTHING, ask, run
from noiselab_run.program import run_profiled
from noiselab_run.schedule import is_complete
from noiselab_run.settings import environment_of
from noiselab_run.text import first_line, note, shuffled

DYNAMIC = 'OMPI_MCA_coll_tuned_use_dynamic_rules'


def rows_of(text: str) -> List[Dict[str, str]]:
    """The rows of a CSV, by the names of its columns."""
    import csv
    return [dict(row) for row in csv.DictReader(text.split('\n'))]


class Rules:
    """The file of rules of one campaign, and what is in it."""

    def __init__(self, experiment: Any) -> None:
        self.experiment = experiment
        self.campaign = experiment.campaign
        self.path = os.path.realpath(self.campaign.folder) + '/advice.rules'

    def advise(self) -> Optional[List[Dict[str, str]]]:
        """What is advised by a rule, which then is in the file; nothing where nothing is."""
        margin = self.experiment.options['margin']
        said = ask([self.experiment.programs.path('noiselab-analyze'), 'advise', '--csv', '--write', 'rules='
                    + self.path]
                   + (['--margin', margin] if margin else []) + [self.campaign.folder], stderr=NOTHING)
        return rows_of(said.out) if os.path.isfile(self.path) else None

    def _without(self) -> Dict[str, Optional[str]]:
        """Changes of the user's environment that take them out."""
        names = re.findall('^export (.*)=.*$', files.read_or(self.path), re.MULTILINE)
        names += ['OMPI_MCA_coll_tuned_dynamic_rules_filename', 'OMPI_MCA_coll_han_use_dynamic_file_rules',
                  'OMPI_MCA_coll_han_dynamic_rules_filename']
        return dict.fromkeys(names)

    def _with(self) -> Dict[str, Optional[str]]:
        """Changes for the file of rules, and for han's where there is one; or what the file itself says."""
        changes = self._without()
        said = re.findall('^export ([^=\n]*)=(.*)$', files.read_or(self.path), re.MULTILINE)
        if said:
            changes.update(said)
            return changes
        changes.update({DYNAMIC: '1', 'OMPI_MCA_coll_tuned_dynamic_rules_filename': self.path})
        if os.path.isfile(self.path + '.han'):
            changes.update({'OMPI_MCA_coll_han_use_dynamic_file_rules': '1',
                            'OMPI_MCA_coll_han_dynamic_rules_filename': self.path + '.han'})
        return changes

    def _launch(self, n_ranks: int, path: str, words: List[str], changes: Dict[str, Optional[str]]) -> str:
        """Which algorithms run, on the nodes of the first launch, by a rank more on each than was measured;
        into the file. What was said where it could not be started."""
        experiment, launcher = self.experiment, self.experiment.launcher
        row = self.campaign.schedule.rows[0]
        step = Step('noiselab-rules', row.nodes)
        n_nodes = len(experiment.nodes.named(row.nodes, 'here'))
        shape = experiment.nodes.spread('--ranks', str(n_ranks), n_nodes)
        step.shape = Spread(shape.n_nodes, shape.per_node + 1)
        step.take_turns()
        step.env.update({'SLURM_OVERCOMMIT': '1', DYNAMIC: '1'})
        binds, launcher.binds = launcher.binds, False
        command, env = launcher.words(step, [experiment.programs.libexec + '/noiselab-rules', '--out', path,
                                             '--ranks', str(n_ranks)] + words)
        launcher.binds = binds
        for name, value in changes.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        said = experiment.scratch('rules.said')
        with open(said, 'wb') as file:
            failed = run(command, NOTHING, file, file, env)
        return first_line(files.read_or(said)) or 'it ended with status %d' % failed if failed else ''

    def try_them(self) -> None:
        """What the analysis would advise is tried: without the rules and with them, into advice.tried, which
        the analysis reads. What runs is watched, not timed."""
        # with --finish the nodes are gone: what was tried then holds
        if not self.experiment.launcher.kind or self.campaign.schedule.value('arms'):
            return
        folder = self.campaign.folder
        for name in ('advice.tried', 'advice.rules.han'):
            files.remove_tree(folder + '/' + name)
        rows = self.advise()
        if rows is None:
            return
        advised = {}  # type: Dict[int, List[str]]
        for row in rows:
            if row['condition'] == 'quiet' and row['verdict'] == 'use':
                advised.setdefault(int(row['ranks']), []).append('%s=%s:%s'
                                                                 % (row['operation'], row['algorithm'],
                                                                    row['bytes']))
        note('two short launches try the advice')
        tried = ''
        for n_ranks in sorted(advised):
            for how, changes in (('without', self._without()), ('with', self._with())):
                path = '%s.%s' % (self.path, how)
                reason = self._launch(n_ranks, path, advised[n_ranks], changes)
                lines = files.read_or(path)
                files.remove_tree(path)
                if reason:
                    note('the rules could not be tried by %d ranks: %s' % (n_ranks + 1, reason))
                    return
                tried += ''.join('%s %s\n' % (how, line) for line in lines.split('\n') if line)
        if tried:
            files.write(folder + '/advice.tried', tried)

    def verify_program(self) -> None:
        """Pairs of runs of the program, without the rules and with them, as the plan says; those that are
        there stay."""
        schedule, folder = self.campaign.schedule, self.campaign.folder
        if not schedule.value('verify') or not self.experiment.launcher.kind:
            return
        if self.advise() is None:
            note('no rule is advised, so nothing is verified')
            return
        note('%s pairs of runs of the program, without the rules and with them' % schedule.value('verify'))
        for number, how in shuffled(self.experiment.seed, int(schedule.value('verify')), ['off', 'on']):
            name = 'verify-%03d-%s' % (number, how)
            if is_complete(folder + '/profiles', name):
                continue
            files.remove_tree('%s/profiles/%s' % (folder, name))
            # without the advice: settings as their launches had them
            changes = self._without()
            changes[DYNAMIC] = None
            if how == 'on':
                changes.update(self._with())
            elif schedule.value('arms'):
                changes.update(environment_of(schedule.value('reference')))
            run_profiled(self.experiment.launcher, folder + '/profiles', name, schedule.value('program'),
                         files.environment_with(changes))
