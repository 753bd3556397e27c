"""The answer of an acceptance campaign: the verdict that is kept, that of each node, and what the user is
shown."""
import os
from typing import List

from noiselab_run import files
from noiselab_run.experiment import Experiment
from noiselab_run.process import ask, run
from noiselab_run.schedule import is_complete, keep
from noiselab_run.status import ANSWERS
from noiselab_run.text import Stop, die, note, put


class Judged(Experiment):
    """The part of noiselab run acceptance that judges."""

    def answer_by_analysis(self) -> int:
        """The verdict into the campaign, and to the user as asked for; its status is the answer's."""
        verdict = self._judge()
        if verdict not in ANSWERS:
            raise Stop(verdict)
        if not self.options['no_report']:
            folder = self.campaign.folder
            status = run([self.programs.path('noiselab-report'), '--out', folder + '/report.html']
                         + self._judged_by(), stdout=2)
            if status:
                raise Stop(status)
        lost = [line.split(' ', 1) for line in self.campaign.schedule.value('lost').split('\n') if line]
        self.refuse_incomplete(''.join(' (%s lost %s)' % (launch, names.replace(',', ', ')) for launch,
                                       names in lost
                                       if not is_complete(self.campaign.folder, launch)))
        return verdict

    def judge_what_ran(self) -> None:
        """Before the end for a launch that failed: what was measured until then is worth an answer."""
        if next(files.with_file(self.campaign.folder, 'accept.csv'), None) and files.in_path('Rscript'):
            note('a launch did not end as planned; what was measured until then:')
            self._judge()

    def _judged_by(self) -> List[str]:
        """The campaign, and what it is judged by."""
        folder, schedule = self.campaign.folder, self.campaign.schedule
        words = [folder]
        for name in ('limits', 'classes'):
            if schedule.value(name):
                words += ['--' + name, '%s/%s.conf' % (folder, name)]
        if self.options['margin']:
            words += ['--margin', self.options['margin']]
        for reference in schedule.value('reference').split('\n'):
            words += ['--reference', reference] if reference else []
        return words

    def _judge(self) -> int:
        """The status of the analysis; where it has an answer, that is kept and shown."""
        analyze = [self.programs.path('noiselab-analyze'), 'acceptance']
        folder, made = self.campaign.folder, self.scratch('nodes')
        files.remove_tree(made)
        more = ['--write', 'junit=' + self.options['junit']] if self.options['junit'] else []
        said = ask(analyze + ['--json', '--write', 'nodes=' + made] + more + self._judged_by(), stderr=None)
        if said.status not in ANSWERS:
            return said.status
        keep(folder, 'verdict.json', said.out.rstrip('\n'))
        try:
            os.makedirs(folder + '/nodes', exist_ok=True)
        except OSError:
            die(2, "cannot write '%s/nodes'" % folder)
        # each file in one step: a health checker may read it at this moment
        for name in [name for name in files.entries(made) if name.endswith('.txt')]:
            if not files.replace('%s/nodes/%s' % (folder, name), files.read(made + '/' + name).rstrip('\n')):
                die(2, "cannot write '%s/nodes' (no space left?)" % folder)
        if self.options['json']:
            put(said.out)
        else:
            run(analyze + (['--lines'] if self.options['lines'] else []) + self._judged_by())
        return said.status
