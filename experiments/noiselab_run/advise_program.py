"""Advice for a program of the user's: which of its operations are compared, by its profile."""
from typing import Dict, List

from noiselab_run import files
from noiselab_run.experiment import Experiment
from noiselab_run.process import ask
from noiselab_run.program import run_profiled
from noiselab_run.text import die, note, put, whole, without_name


class ForProgram(Experiment):
    """The part of noiselab run advise that is about a program."""

    algorithms = {}  # type: Dict[str, List[str]]  # of each operation, those that can be chosen
    worth = []  # type: List[Dict[str, str]]  # of the program's operations those that are compared
    advised_program = ''  # its words, quoted

    def check_program(self) -> None:
        """What goes with a program. Its command is a word of the schedule, and not one of the launches."""
        options, verify = self.options, self.options['verify']
        self.advised_program = options.program
        if not options.program and not options['profile']:
            if verify:
                die(2, '--verify: which program? Its command comes last, after -- (run advise --verify 7 -- '
                    'mpirun -n 4 ./app)')
            return
        options.refuse_given(': the operations and ranks are those of the program; leave it out', '--op',
                             '--bytes', '--ranks', '--hosts', '--node-sets',
                             '--submit')
        if '\n' in options.program:
            die(2, 'a program: its words cannot hold line breaks')
        if verify:
            whole('--verify', verify)
            if not options.program:
                die(2, '--verify: the program has to run again: give its command, after --')
            if int(verify) < 2:
                die(2, '--verify: %s pair has no scatter: at least 2 (try 7)' % verify)
        if not options['profile'] and options['dry_run']:
            die(2, '--dry-run: what a program needs is known after a run of it; give --profile DIR')
        if not files.in_path('Rscript'):
            die(2, 'a program: R, which reads its profile, is missing here')

    def _analyze_profile(self, what: str, name: str) -> str:
        """Has the analysis of the profile write a file; what it said where it cannot."""
        said = ask([self.programs.path('noiselab-analyze'), 'profile', '--write', '%s=%s'
                    % (what, self.scratch(name)), self.options['profile']])
        if what == 'worth':
            put(said.out)
        return without_name(said.err) if said.status else ''

    def take_profile(self) -> None:
        """Which of a program's operations are compared (worth), and its number of ranks."""
        options = self.options
        if not options['profile']:
            note('a run of the program under noiselab profile')
            run_profiled(self.launcher, self.scratch('profiles'), 'program', options.program)
            options['profile'] = self.scratch('profiles')
        reason = self._analyze_profile('worth', 'worth')
        if reason:
            die(2, reason)
        lines = [line.split(',') for line in files.read(self.scratch('worth')).split('\n') if line]
        for line in lines[1:]:
            if self.algorithms and not line[8] and line[0] not in self.algorithms:
                line[8] = 'its algorithm cannot be chosen'
        files.write(self.scratch('advice.program'), ''.join(','.join(line) + '\n' for line in lines))
        worth = [line for line in lines[1:] if not line[8]]
        if not worth:
            die(2, 'no operation of the program can be compared: '
                + ';'.join('%s %s' % (line[0], line[8]) for line in lines[1:]))
        self.worth = [{'operation': line[0], 'bytes': line[1]} for line in worth]
        options['ranks'] = worth[0][4]
        # the launches are of the detector alone
        options.program = ''
        if options['arrival']:
            return
        # as late as its ranks; where they were not looked at, as in other campaigns
        reason = self._analyze_profile('arrivals', 'advice.arrivals')
        if reason:
            note("ranks are late as in other campaigns, not as in the program: " + reason)
            return
        self.campaign.planned_files.append('advice.arrivals')
        options['arrival'] = 'trace:file=%s/advice.arrivals' % files.absolute(self.campaign.folder)
