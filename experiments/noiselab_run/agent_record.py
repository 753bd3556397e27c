"""What is recorded of an agent before the launches: its period, and its bursts for a replay.

What such a campaign has beside its launches is in CAMPAIGN/agent: the files made of --sweep
LIST:template=FILE, and the recording of the agent (recorded.trace, recorded.json).
"""
import os
import re
import subprocess
from typing import Any, List, Optional, Tuple

from noiselab_run import document, files, slurm
from noiselab_run.process import NOTHING, said_by, signals, start, status_of, terminate
from noiselab_run.text import (SECOND_NS, decimals, die, nanoseconds, note, now, say_ns, say_seconds,
                               time_above_0, without_name)

# what a recording has to hold to be replayed
RECORDED_PERIODS, RECORDED_LEAST_S = 10, 10
BEGAN_S = now()

# A pull agent does nothing unless it is asked. This runs on the node, where nothing but a shell is sure to
# be; what the user gives are its arguments, and what it waits for ends with it.
SCRAPER = '''period=$1; shift; trap "kill \\$! 2>/dev/null; exit" TERM
        while :; do "$@" >/dev/null 2>&1 & wait $!; sleep "$period" & wait $!; done'''


class Recorder:
    """Records one agent (of a Switched)."""

    def __init__(self, switched: Any) -> None:
        self.switched = switched
        self.options = switched.options
        self.experiment = switched.experiment
        self.launcher = self.experiment.launcher
        self.scratch = self.experiment.scratch
        self.spent_s = 0  # what recording and all before it took
        self.recorded = ''  # recorded.trace and recorded.json, without their ends
        self._scraper = None  # type: Optional[subprocess.Popen[bytes]]

    def _on_first_node(self, words: List[str]) -> List[str]:
        """That command, here or on the first node of the job, as a process that ends with this one."""
        if slurm.in_job():
            words = slurm.on_first_node(self.experiment.nodes.names[0], words)
        return list(self.launcher.owned(words))

    def _words_of(self, command: str) -> List[str]:
        if self.options['shell']:
            return ['sh', '-c', command]
        return list(self.experiment.programs.split(command))

    def _start_scraping(self) -> None:
        if not self.options['scrape']:
            return
        period = decimals(nanoseconds(self.options['scrape_period'].split(':')[0]), SECOND_NS)
        words = ['sh', '-c', SCRAPER, 'scrape', period] + self._words_of(self.options['scrape'])
        if self.switched.scrape_cpu:
            words = ['taskset', '-c', self.switched.scrape_cpu] + words
        self._scraper = start(self._on_first_node(words), NOTHING, NOTHING, NOTHING)

    def _stop_scraping(self) -> None:
        if self._scraper is not None:
            terminate(self._scraper)
            self._scraper.wait()
        self._scraper = None

    def _whose(self) -> List[str]:
        """Words of the recorder that say whom it records."""
        options, way = self.options, self.switched.way
        if way == '--agent-cmd':
            on_cpu = ['taskset', '-c', options['agent_cpu']] if options['agent_cpu'] else []
            return ['--'] + on_cpu + self._words_of(options['agent_cmd'])
        if way == '--agent-pid':
            return ['--pid', options['agent_pid']]
        if way == '--agent-cgroup':
            return ['--cgroup', options['agent_cgroup']]
        if way == '--agent-unit':
            path = said_by(*self._on_first_node(['systemctl', 'show', '--property=ControlGroup', '--value',
                                                 options['agent_unit']])).strip()
            if not path:
                die(2, "--agent-unit: '%s' is no running unit of systemd here" % options['agent_unit'])
            return ['--cgroup', path]
        return []

    def _record(self, seconds: int) -> bool:
        """Into recorded.trace and recorded.json; False where nothing of the agent ran in that time."""
        folder = self.scratch(self.switched.folder)
        # on a file system that the node sees
        if slurm.in_job():
            self.experiment.campaign.make()
            folder = self.experiment.campaign.folder + '/' + self.switched.folder
        self.recorded = folder + '/recorded'
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError:
            die(2, "cannot make '%s'" % folder)
        self._start_scraping()
        words = [self.experiment.programs.path('noiselab-record'), '--duration', '%ds' % seconds, '--out',
                 self.recorded + '.trace', '--force',
                 '--json'] + self._whose()
        signals.catch()
        with open(self.recorded + '.json', 'wb') as out, open(self.scratch('record.err'), 'wb') as err:
            recorder = start(self._on_first_node(words), NOTHING, out, err)
        signals.stop = lambda: terminate(recorder)
        if signals.interrupted:
            terminate(recorder)
        status = status_of(recorder.wait())
        was_interrupted = signals.interrupted
        signals.end()
        self._stop_scraping()
        if was_interrupted:
            die(2, 'interrupted; nothing was measured')
        self._refuse_ended(seconds)
        if status == 3:
            return False
        if status == 0 and os.path.exists(self.recorded + '.trace') and os.path.getsize(self.recorded
                                                                                        + '.trace'):
            return True
        reason = without_name(files.read(self.scratch('record.err')))
        die(2, 'the agent cannot be recorded: ' + reason
            + ('' if self.options['compare_replay'] else '; give its period (--agent-period)'))

    def _refuse_ended(self, seconds: int) -> None:
        """An agent that ends while it is recorded would end in every launch."""
        if self.switched.way != '--agent-cmd' or not files.read_or(self.recorded + '.json'):
            return
        ended = document.of_file(self.recorded + '.json').text('ended')
        if not ended:
            return
        lines = files.read_or(self.scratch('record.err')).split('\n')
        wrote = [line for line in lines if not line.startswith('noiselab-record: ')
                 and re.search('[A-Za-z0-9]', line)]
        die(2, "--agent-cmd: '%s' ended by itself (%s) within %d s, having %s"
            % (self.options['agent_cmd'], ended, seconds, 'written last: '
               + wrote[-1] if wrote else 'written nothing to stderr'))

    # ---- its period

    def know_period(self) -> None:
        """Sets the period, if it can be known, and where that is from."""
        switched, options = self.switched, self.options
        if options['sweep']:
            switched.period_source = 'interval'
        elif options['agent_period']:
            switched.period_ns, switched.period_source = nanoseconds(options['agent_period']), 'given'
        elif options['scrape']:
            switched.period_ns = time_above_0('--scrape-period', options['scrape_period'].split(':')[0])
            switched.period_source = 'scrape'
        elif switched.way == '--agent-on':
            note('the period of what --agent-on switches is not known (--agent-period): segments may not '
                 'hold whole periods')
        else:
            self._measure_period()

    def _most_s(self) -> int:
        """How long it is recorded for, to know its period."""
        switched = self.switched
        if switched.design != 'quick':
            return 85
        of_all_ns = nanoseconds(switched.seconds_each or '%ds' % switched.least_s)
        return max(5, of_all_ns // (10 * SECOND_NS))

    def _is_to_be_measured(self) -> bool:
        """Whether nothing but a recording tells the period."""
        options = self.options
        return self.switched.way != '--agent-on' and not any(
            options[name] for name in ('sweep', 'agent_period', 'scrape'))

    def foretold_s(self) -> int:
        """What recording takes, at least, of --seconds of a quick launch, which hold it; 0: nothing."""
        return 6 if self.switched.design == 'quick' and self._is_to_be_measured() else 0

    def foretell(self) -> List[str]:
        """What is recorded before the launches, for a plan that runs nothing."""
        switched, options, said = self.switched, self.options, []  # type: Any, Any, List[str]
        if not self._is_to_be_measured():
            self.know_period()
        else:
            most_s = sum(each for each in (5, 15, 60) if each <= self._most_s())
            # --seconds of a quick launch holds it
            self.spent_s = self.foretold_s()
            said.append('the agent is recorded first, for %s, to know its period (--agent-period saves '
                        'that time)'
                        % ('5 s' if most_s == 5 else '5 s to %s' % say_seconds(min(most_s, 80))))
        if options['compare_replay']:
            said.append('the bursts to replay are recorded first, for %s'
                        % (say_seconds(nanoseconds(switched.record_for) / SECOND_NS) if switched.record_for
                           else '%d of its periods, at least %d s' % (RECORDED_PERIODS, RECORDED_LEAST_S)))
        return said

    def _measure_period(self) -> None:
        """Records for longer as long as less than five periods were seen; of a launch whose --seconds hold
        all for a tenth of it. What did nothing in 5 s has no period that 15 s would show."""
        switched, n_seconds, is_silent, error_ns = self.switched, 0, False, 0.0
        most_s = self._most_s()
        for seconds in (5, 15, 60):
            if is_silent and seconds == 15:
                continue
            if n_seconds + seconds > most_s:
                break
            note('recording the agent for %d s, to know its period' % seconds)
            n_seconds += seconds
            if not self._record(seconds):
                is_silent = True
                continue
            said = document.of_file(self.recorded + '.json')
            period_ns, error_ns = float(said.value('period_ns') or 0), float(said.value('period_error_ns')
                                                                             or 0)
            if 0 < period_ns * (5 if seconds < 60 else 3) <= seconds * 1e9:
                switched.period_ns = int(round(period_ns))
                break
        self.spent_s = now() - BEGAN_S
        if switched.period_ns:
            switched.period_source = 'measured in %d s' % n_seconds
            note('its period is %s +- %s; measuring that took %d s'
                 % (say_ns(switched.period_ns), say_ns(error_ns), n_seconds))
        else:
            switched.period_source = 'none found in %d s' % n_seconds
            note('no period was found in %d s: segments have the default length; give --agent-period if it '
                 'has one' % n_seconds)

    # ---- its bursts

    def record_for_replay(self) -> Tuple[str, str]:
        """A recording that is long enough, without what the start of a started program took; its level and
        CPUs."""
        from noiselab_run.agent_switched import settle_of
        period_ns, asked_ns = self.switched.period_ns, nanoseconds(self.switched.record_for or '0s')
        wanted_ns = asked_ns or max(RECORDED_PERIODS * period_ns, RECORDED_LEAST_S * SECOND_NS)
        # a started program is left alone while it gets going, as in the launches
        skip_ns = settle_of(period_ns) if self.switched.way == '--agent-cmd' else 0
        seconds = -(-wanted_ns // SECOND_NS) - (-skip_ns // SECOND_NS)
        note('recording the agent for %d s, to replay it' % seconds)
        if not self._record(seconds):
            die(2, '--compare-replay: nothing of the agent ran in %d s; record for longer '
                '(--compare-replay=TIME)' % seconds)
        trace = self.recorded + '.trace'
        text = trimmed(files.read(trace), skip_ns) if skip_ns else files.read(trace)
        try:
            files.write(trace, text)
        except OSError:
            die(2, "cannot write '%s' (no space left?)" % trace)
        percent, cpus = share_of(text)
        if not cpus:
            die(2, '--compare-replay: the recording holds no burst of the agent; record for longer '
                '(--compare-replay=TIME)')
        level = '%.6g' % percent
        if float(level) < 0.001:
            die(2, '--compare-replay: the agent took %s %% of a CPU, and a load below 0.001 %% cannot be '
                'replayed' % level)
        places = 'last' if any(cpu.startswith('-') for cpu in cpus) else ','.join('cpu:' + cpu
                                                                                  for cpu in cpus)
        note('the agent took %s %% of each of %s; that is replayed beside it' % (level, places))
        return level, places


def trimmed(text: str, skip_ns: int) -> str:
    """A trace without the bursts that began before, and as much shorter."""
    out = []  # type: List[str]
    for line in text.split('\n'):
        span = re.match(r'# *span_ns:\s*(\S*)', line)
        burst = re.match('([0-9]+)(.*)$', line, re.DOTALL)
        if span:
            out.append('# span_ns: %.0f' % (float(span.group(1) or 0) - skip_ns))
        elif line.startswith('#') or not line:
            out.append(line)
        elif burst and int(burst.group(1)) >= skip_ns:
            out.append('%d%s' % (int(burst.group(1)) - skip_ns, burst.group(2)))
    return '\n'.join(out)


def share_of(text: str) -> Tuple[float, List[str]]:
    """Percent of one CPU, on each CPU that it ran on, and these; none where the trace has no burst."""
    span = re.search(r'^# *span_ns:\s*(\S+)', text, re.MULTILINE)
    bursts = [line.split() for line in text.split('\n') if line.strip() and not line.startswith('#')]
    cpus = list(dict.fromkeys(fields[2] for fields in bursts))
    if not span or not cpus or float(span.group(1)) <= 0:
        return 0.0, []
    return 100 * sum(float(fields[1]) for fields in bursts) / float(span.group(1)) / len(cpus), cpus
