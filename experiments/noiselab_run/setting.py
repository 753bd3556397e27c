"""setting: does a setting of the operating system make MPI codes faster or slower: each value in turn, in
random order, within one run"""
import fnmatch
import glob
import os
import re
from typing import List

from noiselab_run import document, files
from noiselab_run.experiment import Experiment, these_launches
from noiselab_run.process import ask, run
from noiselab_run.schedule import Plan
from noiselab_run.text import SECOND_NS, decimals, die, note, say_time, shuffled, time_above_0, whole

# a block is short against what changes on a machine, and as long as what is left out before it; what no
# table knows settles within so much; a test takes seven sets, and a small difference more
BLOCK_NS, SETTLE_NS, LEAST_SETS = 100000000, 5000000, 24
# what a write and the begin of a block take, about
SWITCH_NS = 2000000


class Setting(Experiment):
    NAME = ANALYSIS = 'setting'
    OPTIONS = '''
list set
value settle block seconds op bytes design between-boots
'''
    USAGE = '''\
Usage: noiselab run setting --set NAME=REFERENCE,OTHER[,...] [OPTIONS]
       noiselab run setting --between-boots NAME --out DIR [OPTIONS]

Switches a setting of the operating system while noiselab-detect measures, in random order, and says whether
the other value makes the operation faster or slower, with its interval, makes no difference beyond --margin,
or is undecided. The first value is the reference. What is found is written into a journal before anything is
changed, and is restored at the end, whatever is killed. noiselab doctor settings lists settings that matter.

  --set NAME=REFERENCE,OTHER   what is compared; may come again, and then all combinations are. NAME is
                          kernel.numa_balancing   a sysctl
                          /sys/kernel/mm/transparent_hugepage/enabled   a file of /sys or /proc/sys
                          '/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor'   all files of a pattern
                          irq:eth0   the CPUs that serve the interrupts of that name, and of its queues
                          (irq:eth0=0,1)
                          confine:NAME   the CPUs of all tasks of that name, or pattern of names, but the
                          ranks; the reference is as they are found (confine:*=1 against where they may
                          run now)
                          a list of CPUs has + for a comma (0-3,8+9 are two lists); \\, is a comma within
                          another value
  --settle TIME           left out after each switch (default: what the table of noiselab doctor settings says
                          of it, at least 5 ms); the answer says where blocks still show the setting before
                          them
  --block TIME            length of a segment with one value (default 100 ms, or as long as --settle)
  --seconds TIME          of all launches together, with what is left out (default 60 s, or 24 sets of all
                          values)
  --launches N            launches (default 1: the result is about this launch; from five on about launches
                          like these)
  --margin PERCENT        what counts as a difference, on both sides. Status 0: no value is slower by more, 1:
                          one is, 3: undecided
  --op LIST, --bytes LIST operations and sizes (default allreduce and 2KiB)
  --seed N                seed of all random orders (default: from the clock)

What only a boot can change:
  --between-boots NAME    one launch of this boot into DIR (once a boot), which was booted with NAME, such as
                          nohz_full or plain. With five boots of each of two names (the exact two-sided test
                          at 98 % takes so many) the answer compares them; the boot is the unit. Boot in
                          random order

Each set also has a placebo, which writes the reference again: what that costs is the least that can be
stated.
The answer names the tasks that take more or less of the ranks' CPUs with a value, where the kernel lets
this user record who runs.

Everything else goes to noiselab-detect as it is (noiselab detect --help).
'''

    def defaults(self) -> None:
        self.options.values.update(op='allreduce', bytes='2KiB')

    def refuse(self, name: str) -> None:
        if name in ('--arms', '--launch-id', '--levels', '--agent', '--agent-settle', '--app', '--count'):
            die(2, name + ': the experiment decides it; leave it out')
        if name == '--setting':
            die(2, '--setting: the option of this experiment is --set NAME=REFERENCE,OTHER')

    def questions(self) -> List[str]:
        return ['--margin', self.options['margin']] if self.options['margin'] else []

    def check(self, words: List[str]) -> None:
        options = self.options
        if options['between_boots']:
            self._check_boot(words)
            return
        if not options['set']:
            die(2, 'which setting? Give --set NAME=REFERENCE,OTHER, such as --set kernel.numa_balancing=1,0 '
                '(noiselab doctor settings lists some)')
        if options['design'] not in ('', 'blocks'):
            die(2, "--design: '%s' does not have all values in one set; leave it out" % options['design'])
        self.seed_from_clock()
        options['launches'] = options['launches'] or '1'
        self.n = whole('--launches', options['launches'])
        if options.was_given('--launches'):
            these_launches(self.n)
        self.sets = options['set'].split('\n')
        self.settle_ns = time_above_0('--settle', options['settle']) if options['settle'] \
            else self._settling_ns()
        self.block_ns = time_above_0('--block', options['block']) if options['block'] else max(BLOCK_NS,
                                                                                              self.settle_ns)
        self.ranks = self.nodes.ranks_column()
        words = [word for each in self.sets for word in ('--setting', each)] \
            + ['--agent-settle', '%dns' % self.settle_ns, '--design', 'blocks',
               '--block', '%dns' % self.block_ns, '--op', options['op'], '--bytes', options['bytes']] + words
        self.rehearse(words + ['--seconds', '8760h'])
        words += ['--seconds', decimals(self._share_seconds(), 1000) + 's']
        if self.settle_ns > SETTLE_NS and not options['settle']:
            note('%s s are left out after each switch, in which the system may behave as before it'
                 % decimals(self.settle_ns // 1000000, 1000))
        if options['dry_run']:
            self.rehearse(words)
        self.go_on(words)

    def _check_boot(self, words: List[str]) -> None:
        """One launch of this boot, in a folder of its own."""
        options, name = self.options, self.options['between_boots']
        options.refuse_given(': --between-boots has one launch of each boot, without a switch; leave it out',
                             '--set', '--settle', '--launches', '--design', '--submit')
        if not re.fullmatch('[A-Za-z0-9_][A-Za-z0-9_.-]*', name):
            die(2, "--between-boots: '%s' is not a name (letters, digits, _ . -)" % name)
        if not options['out']:
            die(2, '--between-boots: in which campaign? Give the same --out DIR after each boot')
        boot = files.read_or('/proc/sys/kernel/random/boot_id')[:8]
        if not re.fullmatch('[0-9a-f]{8}', boot):
            die(2, '--between-boots: /proc/sys/kernel/random/boot_id does not tell which boot this is')
        self.boots = options['out']
        taken = [each for each in self._boots() if each.endswith('-' + boot)]
        if taken:
            die(2, "--between-boots: this boot has its launch already ('%s'), and counts once; boot again"
                % taken[0])
        self.seed_from_clock()
        options['launches'], self.n, self.n_sets, self.settle_ns = '1', 1, 0, 0
        self.campaign.use('%s/%s-%s' % (options['out'], name, boot))
        self.ranks = self.nodes.ranks_column()
        words = ['--levels', 'none', '--design', 'blocks', '--block', options['block'] or '100ms', '--op',
                 options['op'], '--bytes', options['bytes'], '--seconds', options['seconds'] or '60s'] + words
        self.rehearse(words)
        self.go_on(words)

    boots = ''  # the campaign whose launches are one for each boot

    def _boots(self) -> List[str]:
        """The folders of its boots."""
        return sorted(each for each in glob.glob(glob.escape(self.boots) + '/*-' + 8 * '[0-9a-f]')
                      if os.path.isdir(each))

    def answer_by_analysis(self) -> int:
        if not self.boots:
            return super().answer_by_analysis()
        self.refuse_incomplete()
        return run([self.programs.path('noiselab-analyze'), 'boots'] + self.questions() + self._boots())

    def _settling_ns(self) -> int:
        """The longest of these settings, by the table."""
        said = ask([self.programs.path('noiselab-doctor'), 'settings', '--json'])
        longest_ns = SETTLE_NS
        keys = [each.partition('=')[0] for each in self.sets]
        table = document.of_program(said.out) if said.status == 0 else None
        columns = [table.all('settings.*.' + name)
                   for name in ('setting', 'files', 'settling_ms')] if table else []
        for name, pattern, ms in zip(*columns):
            own = pattern or '/proc/sys/' + name.replace('.', '/')
            if ms is None:
                continue
            for key in keys:
                if key == name or fnmatch.fnmatch(key, own) or fnmatch.fnmatch(own, key):
                    longest_ns = max(longest_ns, ms * 1000000)
        return longest_ns

    def _share_seconds(self) -> int:
        """What is measured of each launch, in ms: of --seconds, less what is left out."""
        each_ns = self.block_ns + self.settle_ns + SWITCH_NS
        set_ns = self.rehearsal.said.number('halves_per_round') * each_ns
        seconds = self.options['seconds']
        all_ns = time_above_0('--seconds', seconds if not seconds.isdigit() else seconds + 's') if seconds \
            else max(60 * SECOND_NS, LEAST_SETS * set_ns)
        n_sets = all_ns // self.n // set_ns
        if n_sets < 1:
            in_all = '' if self.n == 1 else ', so %d launches take %s' % (
                self.n, say_time(-(-self.n * set_ns // SECOND_NS)))
            die(2, '--seconds: %s do not hold one set of all values in each launch: a set takes %s%s; '
                'give more' % (seconds, say_time(-(-set_ns // SECOND_NS)), in_all))
        self.n_sets = n_sets
        return n_sets * self.rehearsal.said.number('halves_per_round') * self.block_ns // 1000000

    def plan(self, plan: Plan, words: List[str]) -> None:
        settling_ns = self.n_sets * self.rehearsal.said.number('halves_per_round') * self.settle_ns
        for _, nodes in shuffled(self.seed, self.n, self.nodes.sets):
            plan.row('-', nodes, self.ranks, words + ['--seed', str(self.seed + plan.number)], settling_ns)
