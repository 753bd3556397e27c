"""Batch jobs: the script of the experiment with its variables filled in, shown and given to sbatch."""
import os
import re
import signal
import subprocess
import time
from typing import Any, Dict, List, Optional, Set, Tuple

from noiselab_run import files, slurm
from noiselab_run.campaign import RESERVE_S
from noiselab_run.process import NOTHING, ask_all, signals, start, status_of, terminate
from noiselab_run.schedule import keep
from noiselab_run.text import Stop, die, first_line, note, put, quoted, say_time

# what a job takes from its start to its first launch
BEGIN_S = 20
# these would overrule the lines of the script that is shown, and SBATCH_WAIT would wait for the wrong job
OVERRULING = ('SBATCH_ARRAY_INX', 'SBATCH_EXCLUSIVE', 'SBATCH_JOB_NAME', 'SBATCH_MEM_PER_CPU',
              'SBATCH_MEM_PER_NODE', 'SBATCH_NO_REQUEUE',
              'SBATCH_OPEN_MODE', 'SBATCH_OUTPUT', 'SBATCH_SIGNAL', 'SBATCH_TIMELIMIT', 'SBATCH_WAIT')
# options that are in #SBATCH lines or mean how a job runs
ELSEWHERE = set('out resume finish only launcher partition nodes time_limit no_report requeue submit array '
                'wait_for_job sbatch_options json '
                'lines junit'.split())


def parameters_of(template: str) -> Set[str]:
    return set(re.findall('^([a-z_]*)=.*', template, re.MULTILINE))


def fill(template: str, lines: List[Tuple[str, str]], values: Dict[str, str]) -> str:
    """A batch script: #SBATCH lines (key and words) in place of those of the template with these keys, and
    its parameters with these values. A template may set what it likes: nothing of it is evaluated, and what
    has no value here stays as it is."""
    keys = {key for key, _ in lines}
    out = []  # type: List[str]
    for line in template.split('\n'):
        if line.startswith('#SBATCH --'):
            key = re.split('[= ]', line[len('#SBATCH --'):])[0]
            # lines of an earlier submission that do not hold for this one
            if key in ('array', 'dependency') or key in keys:
                continue
        elif line.startswith('# --- parameters ---'):
            out += ['#SBATCH ' + words for _, words in lines]
        elif re.match('[a-z]', line) and '=' in line:
            name = line.split('=', 1)[0]
            # a command with a = in it is no parameter
            if re.fullmatch('[a-z_]*', name) and name in values:
                line = '%s=%s  # %s' % (name, values[name],
                                        line.split('  # ', 1)[1] if '  # ' in line else line)
        out.append(line)
    return '\n'.join(out)


def ranges_of(tasks: Set[int]) -> str:
    """As sbatch --array takes them (1-3,7)."""
    out = []  # type: List[List[int]]
    for task in sorted(tasks):
        if out and task == out[-1][-1] + 1:
            out[-1] = [out[-1][0], task]
        else:
            out.append([task])
    return ','.join('-'.join(map(str, each)) for each in out)


class Submission:
    """One experiment's job, or array of jobs."""

    def __init__(self, experiment: Any) -> None:
        self.experiment = experiment
        self.options = experiment.options
        self.campaign_of = experiment.campaign
        self.programs = experiment.programs
        self.scratch = experiment.scratch
        self.partition = ''
        # why a script that is only shown could not be checked
        self.unchecked = '' if files.in_path('sbatch') else 'there is no Slurm here (sbatch is not in PATH)'
        self.partition_s = None  # type: Optional[int]  # its time limit
        self.job_s = 0
        self.need_s = 0
        self.job_id = ''
        self._sent = ''  # the job before this one
        self._sender = None  # type: Optional[subprocess.Popen[bytes]]

    def template_path(self) -> str:
        return '%s/%s.sbatch' % (self.programs.libexec, self.experiment.NAME)

    def campaign(self, words: List[str]) -> int:
        """Plans the campaign (unless only the job can), and submits what runs it."""
        self._ready()
        later = self.experiment.plan_later
        if later:
            if self.options['array']:
                die(2, '--array: %s, and so the launches are not known before the job starts; leave it out'
                    % later)
            if not self.options['time_limit']:
                die(2, '--time: %s: give the time that the job may take' % later)
        else:
            # into the campaign only when the job is known to fit
            self.experiment.make_plan(words)
        self.campaign_of.count()
        return self._submit(files.read(self.template_path()))

    def resume(self) -> int:
        """A job for what is left of a campaign."""
        schedule, folder = self.campaign_of.schedule, self.campaign_of.folder
        if schedule.n_planned == schedule.n_complete:
            die(2, "all %d planned launches are complete: noiselab run %s --finish '%s'"
                % (schedule.n_planned, self.experiment.NAME, folder))
        path = self.template_path()
        if os.path.isfile(folder + '/job.sbatch'):
            path = folder + '/job.sbatch'
            # where the earlier job went this one goes, and has to fit
            before = re.findall("^#SBATCH --partition=([^'\n]*)$", files.read(path), re.MULTILINE)
            self.options['partition'] = self.options['partition'] or (before[-1] if before else '')
        template = files.read(path)
        self._ready()
        return self._submit(template)

    def _ready(self) -> None:
        """Checks what is known of the cluster."""
        options, campaign = self.options, self.campaign_of
        if self.unchecked and not options['dry_run']:
            die(2, '--submit: ' + self.unchecked + ': leave --submit out to measure on this machine, '
                'or add --dry-run to see the script')
        if '\n' in campaign.folder:
            die(2, '--out: a name with a line break cannot stand in a batch script')
        schedule = campaign.schedule
        campaign.folder = campaign.launcher.campaign = files.absolute(campaign.folder)
        schedule.campaign, schedule.path = campaign.folder, campaign.folder + '/schedule.tsv'
        overruled = list(OVERRULING)
        if options['partition']:
            overruled.append('SBATCH_PARTITION')
        overruled += [name for name, word in (('SBATCH_ACCOUNT', 'account='), ('SBATCH_QOS', 'qos='))
                      if word in options['sbatch_options']]
        for name in overruled:
            os.environ.pop(name, None)
        options['partition'] = options['partition'] or os.environ.get('SBATCH_PARTITION', '')
        if not self.unchecked:
            self._find_partition(options['partition'], options['nodes'])

    def _find_partition(self, wanted: str, nodes: str) -> None:
        """Refuses a partition that is not there, or has fewer nodes than asked for."""
        status, known = ask_all(['sinfo', '--all', '--noheader', '--format=%P %l %D'])
        if status:
            reason = 'Slurm does not answer: ' + re.sub('^[a-z].*?: error: ', '', first_line(known))
            if not self.options['dry_run']:
                die(2, reason)
            self.unchecked = reason
            return
        rows = [line.split() for line in known.split('\n') if len(line.split()) == 3]
        found = [row for row in rows if (row[0].rstrip('*') == wanted if wanted else row[0].endswith('*'))]
        if not found and wanted:
            die(2, "--partition: '%s' is not a partition here" % wanted,
                '(%s)' % ','.join(sorted({row[0][:-1] if row[0].endswith('*') else row[0] for row in rows})))
        if not found:
            die(2, '--partition: this cluster has no default partition; give one')
        name, limit, _ = found[-1]
        self.partition = name[:-1] if name.endswith('*') else name
        self.partition_s = slurm.seconds(limit)
        n_nodes = sum(int(row[2]) for row in found)
        if nodes and int(nodes) > n_nodes:
            die(2, "--nodes: %s nodes asked for, and partition '%s' has %d"
                % (nodes, self.partition, n_nodes))

    # ---- the time

    def _find_time(self) -> None:
        options, campaign = self.options, self.campaign_of
        self.need_s = campaign.needed_seconds()
        if options['array']:
            self.need_s = campaign.schedule.longest_seconds(True, campaign.start_s)
        # the estimate is one, a minute is the job's own, and a TERM comes before the end
        self.job_s = self.need_s * 5 // 4 + 60 + RESERVE_S
        if options['time_limit']:
            wanted, given = slurm.time(self.job_s), slurm.seconds(options['time_limit'])
            if given is None:
                die(2, "--time: '%s' is not a time (try 30, 2:00:00, 1-12:00:00)" % options['time_limit'])
            self.job_s = given
            has_to_hold = not self.experiment.plan_later and not options['requeue']
            if has_to_hold and BEGIN_S + self.need_s + RESERVE_S > self.job_s:
                die(2, '--time: %s is too short: the launches take some %s, and the last %d s are kept; ask '
                    'for %s'
                    % (options['time_limit'], say_time(self.need_s), RESERVE_S, wanted))
        self._fit_partition()

    def _fit_partition(self) -> None:
        """The partition's time limit against what the job needs."""
        options, limit = self.options, self.partition_s
        if limit is None or self.job_s <= limit:
            return
        must_hold_s = self.need_s
        if options['requeue']:
            must_hold_s = self.campaign_of.schedule.longest_seconds(False, self.campaign_of.start_s)
        if (options['time_limit'] and not options['requeue']) or BEGIN_S + must_hold_s + RESERVE_S > limit:
            die(2, "the job needs some %s, and partition '%s' ends jobs after %s:"
                % (slurm.time(self.job_s), self.partition, slurm.time(limit)),
                'take another one, let it go back into the queue (--requeue), or make each launch, or set '
                'of launches, a task (--array)')
        self.job_s = limit

    # ---- the script

    def _lines(self) -> List[Tuple[str, str]]:
        """The #SBATCH lines that this submission decides; --sbatch may come again with a key."""
        options = self.options
        # a % in a name is doubled: sbatch fills in patterns
        output = self.campaign_of.folder.replace('%',
                                                 '%%') + ('/slurm-%A_%a.out' if options['array']
                                                          else '/slurm-%j.out')
        lines = [('output', '--output=' + quoted([output])), ('time', '--time=' + slurm.time(self.job_s))]
        if options['nodes']:
            lines.append(('nodes', '--nodes=' + options['nodes']))
        if options['partition']:
            lines.append(('partition', '--partition=' + quoted([options['partition']])))
        # one after the other: launches side by side would disturb each other through the network and the file
        # system
        if options['array']:
            schedule = self.campaign_of.schedule
            lines.append(('array', '--array=%s%%1'
                          % ranges_of({row.task for row in schedule.rows
                                       if row.launch not in schedule.complete})))
        for line in options['sbatch_options'].split('\n'):
            line = line if line.startswith('-') or not line else '--' + line
            key = re.match('-*([A-Za-z][a-z-]*)', line)
            if key:
                lines.append((key.group(1), line))
        return lines

    def _values(self, template: str, job_options: str) -> Dict[str, str]:
        """The parameters of the script that this submission decides, as the shell reads them."""
        values = {'noiselab': quoted([self.programs.path('noiselab')]),
                  'campaign': quoted([self.campaign_of.folder]),
                  'job_options': '(%s)' % job_options.strip()}
        # a campaign that goes on has the values of its schedule
        if self.options['resume']:
            return values
        # only variables of our own tables are looked at
        for row in self.options.rows.values():
            value = self.options[row.variable]
            values[row.variable] = quoted([value]) if value else "''"
        # the options given that the template has no variable for, and the detector's
        words = ([self.experiment.words_for_program] if self.experiment.words_for_program else [])
        words += self.options.as_words(parameters_of(template) | ELSEWHERE)
        values['options'] = '(%s)' % ' '.join(words)
        return values

    def _finish_script(self, script: str) -> str:
        """The job after the array, whose status is the answer."""
        limit = self.partition_s or 0
        name, folder = self.experiment.NAME, self.campaign_of.folder
        # where it runs and who pays, as for the launches; clusters may insist on them
        same = [line.replace('%A_%a', '%j') for line in script.split('\n')
                if re.match('#SBATCH (--(output|partition|account|qos|constraint|reservation|clusters)[= '
                            ']|-[pAqCM])', line)]
        command = quoted([self.programs.path('noiselab'), 'run', name, '--finish', folder])
        return '\n'.join(['#!/bin/bash', "# The answer of '%s', after all of its launches." % folder,
                          '#SBATCH --job-name=noiselab-%s-answer' % name,
                          '#SBATCH --nodes=1', '#SBATCH --time='
                          + slurm.time(limit if 0 < limit < 1800 else 1800), '#SBATCH --open-mode=append']
                         + same + ['exec %s%s%s' % (command,
                                                    ' --no-report' if self.options['no_report'] else '',
                                                    self.experiment.answer_options)])

    def _submit(self, template: str) -> int:
        options, folder = self.options, self.campaign_of.folder
        self._find_time()
        job_options = ''.join([' --requeue' if options['requeue'] else '',
                               ' --no-report' if options['no_report'] else '',
                               self.experiment.answer_options, ' --launcher '
                               + quoted([options['launcher']]) if options['launcher'] else ''])
        script = fill(template.rstrip('\n'), self._lines(), self._values(template, job_options))
        # the script is submitted as it is: its user may have put secrets of the site's into it, which then
        # nobody else may read
        shown, is_private = self.programs.redacted(script)
        put(shown + '\n')
        last_script = self._finish_script(script) if options['array'] else ''
        if last_script:
            put('\n%s\n' % last_script)
        if options['dry_run']:
            if self.unchecked:
                note(self.unchecked + ': it was not checked that the partition is '
                     'there, that it has %s, that its time limit holds %s, and that sbatch takes the options'
                     % ('%s node(s)' % options['nodes'] if options['nodes'] else 'the nodes',
                        say_time(self.job_s)))
            return 0
        kept = ['job.sbatch']
        if not options['resume']:
            self.campaign_of.make()
            kept += [name for name in self.campaign_of.planned_files if os.path.exists(self.scratch(name))]
            if not self.experiment.plan_later:
                self.campaign_of.schedule.keep(self.programs)
                kept.append('schedule.tsv')
        before = os.umask(0o077) if is_private else None
        keep(folder, 'job.sbatch', script)
        if before is not None:
            os.umask(before)
        put('\n')
        if not options['array']:
            return self._send(bool(options['wait_for_job']), 'job.sbatch', [], kept)
        keep(folder, 'finish.sbatch', last_script)
        kept.append('finish.sbatch')
        self._send(False, 'job.sbatch', [], kept)
        return self._send(bool(options['wait_for_job']), 'finish.sbatch',
                          ['--dependency=afterany:' + self.job_id], kept)

    # ---- sbatch

    def _known_job(self) -> str:
        return files.line_of(self.scratch('id')).split(';')[0]

    def _stop_waiting(self) -> None:
        """What waits for a job does not outlive this; the job does."""
        terminate(self._sender)

    def _send(self, waits: bool, name: str, more: List[str], kept: List[str]) -> int:
        """To sbatch; sets job_id. The status: 0, or that of the job which is waited for."""
        script = self.campaign_of.folder + '/' + name
        self._sent, self.job_id = self.job_id, ''
        files.remove_tree(self.scratch('id'))
        signals.catch()
        words = ['sbatch', '--parsable'] + (['--wait'] if waits else []) + more + [script]
        with open(self.scratch('id'), 'wb') as out, open(self.scratch('reason'), 'wb') as err:
            try:
                sender = start(words, None, out, err)
            except OSError as error:
                die(2, 'sbatch: ' + os.strerror(error.errno or 0))
        self._sender = sender
        signals.stop = self._stop_waiting
        if signals.interrupted:
            self._stop_waiting()
        while not self._known_job() and sender.poll() is None:
            time.sleep(0.1)
        if self._known_job():
            self.job_id = self._known_job()
            put('job %s: %s\n' % (self.job_id, script))
        status = status_of(sender.wait())
        if signals.interrupted:
            # of the last job that is known
            raise Stop(2, 'interrupted; job %s goes on' % (self._known_job() or self._sent or '(see squeue)'))
        signals.end()
        if not self.job_id:
            self._refused(kept)
        return status

    def _refused(self, kept: List[str]) -> None:
        folder = self.campaign_of.folder
        reason = re.sub('^(sbatch: )?(error: )?', '', files.read_or(self.scratch('reason')),
                        flags=re.MULTILINE).replace('\n', ' ').rstrip(' ')
        if self._sent:
            die(2, 'job %s measures, but the job that answers was refused by sbatch: %s;'
                % (self._sent, reason),
                "when all launches have ended: noiselab run %s --finish '%s'"
                % (self.experiment.NAME, folder))
        # nothing of a job that was refused stays in the way of the next attempt; of one that goes on
        # everything was there before
        if not self.options['resume']:
            for name in kept + ['schedule.private.tsv']:
                files.remove_tree(folder + '/' + name)
            try:
                os.rmdir(folder)
            except OSError:
                pass
        die(2, 'sbatch: ' + reason)


__all__ = ['Submission', 'fill', 'ranges_of', 'NOTHING', 'signal']
