"""Who runs which launch: array tasks, and a second --resume, share a campaign without file locks, which not
every file system has.

To claim a launch is to make CAMPAIGN/claims/LAUNCH: mkdir succeeds for one only. Its file `owner` says who
that is; a claim whose owner is gone is taken over by making a folder in it that names this owner, for which
again mkdir succeeds for one only.
"""
import os
import re
from typing import NamedTuple

from noiselab_run import files
from noiselab_run.process import ask_all
from noiselab_run.text import die

ENDED = ('PENDING', 'REQUEUED', 'CANCELLED', 'COMPLETED', 'FAILED', 'TIMEOUT', 'PREEMPTED', 'NODE_FAIL',
         'BOOT_FAIL', 'DEADLINE',
         'OUT_OF_MEMORY')

# who holds a claim; - where something is not known, '' where an earlier version did not say it
Owner = NamedTuple('Owner', [('host', str), ('pid', str), ('start', str), ('job', str), ('restarts', str),
                             ('boot', str),
                             ('space', str), ('machine', str)])


def process_start(pid: str) -> str:
    """When it started, in clock ticks since boot, which tells it from a later process with the same number.
    Empty: not known."""
    # from the third field on: the second, a name, may hold anything
    fields = files.line_of('/proc/%s/stat' % pid).rpartition(') ')[2].split()
    return fields[19] if len(fields) > 19 else ''


def host() -> str:
    return files.line_of('/proc/sys/kernel/hostname')


def space() -> str:
    """The namespace of process numbers: containers of one host have its name, and numbers of their own."""
    try:
        return os.readlink('/proc/self/ns/pid')
    except OSError:
        return '-'


def this_owner() -> Owner:
    pid = str(os.getpid())
    return Owner(host(), pid, process_start(pid), os.environ.get('SLURM_JOB_ID') or '-',
                 os.environ.get('SLURM_RESTART_COUNT') or '0',
                 files.line_of('/proc/sys/kernel/random/boot_id') or '-', space(),
                 files.line_of('/etc/machine-id') or '-')


def is_process_gone(pid: str, start: str) -> bool:
    """What cannot be looked at is not gone."""
    now = process_start(pid)
    if now:
        return now != start
    # /proc may be mounted so that it hides others' processes
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        pass
    return False


def is_job_gone(job: str) -> bool:
    """As Slurm knows it."""
    # the last task of an array has the array's own number, by which squeue shows all its tasks: %A tells them
    # apart
    said = ask_all(['squeue', '--noheader', '--jobs=' + job, '--states=all', '--format=%A %T'])[1]
    states = [line[len(job) + 1:] for line in said.split('\n') if line.startswith(job + ' ')]
    state = states[-1] if states else said.strip()
    return state == '' or 'Invalid job id' in said or state.startswith(ENDED)


def is_owner_gone(line: str, claim: str) -> bool:
    """Only where that is sure."""
    if not line:
        # between mkdir and the owner's name there is an instant
        return files.older_than_a_minute(claim)
    field = line.split()
    owner = Owner(*(field + [''] * 8)[:8])
    job = os.environ.get('SLURM_JOB_ID', '')
    if owner.job == job:
        # the same job: of an earlier start of it, or of a process of this one
        if owner.restarts != (os.environ.get('SLURM_RESTART_COUNT') or '0'):
            return True
    elif owner.job != '-':
        return is_job_gone(owner.job)
    me = this_owner()
    if owner.host != me.host:
        return False
    if (owner.boot or me.boot) != me.boot:
        # started anew since, if it is this machine; another one may have its name
        return me.machine != '-' and (owner.machine or me.machine) == me.machine
    return (owner.space or me.space) == me.space and is_process_gone(owner.pid, owner.start)


class Claims:
    """The claims of one campaign."""

    def __init__(self, campaign: str, how_to_go_on: str) -> None:
        self.folder = campaign + '/claims'
        self.how_to_go_on = how_to_go_on

    def _make(self, claim: str) -> bool:
        """False when it is there. Others may take away the claim, or the empty folder of all, between two
        steps of this: then once more."""
        for _ in range(3):
            try:
                os.makedirs(self.folder, exist_ok=True)
                os.mkdir(claim)
                return True
            except OSError:
                if os.path.isdir(claim):
                    return False
        die(2, "cannot write into '%s' (no space left, or not allowed?); %s"
            % (self.folder, self.how_to_go_on))

    def _take_over(self, claim: str, owner: str) -> bool:
        """From the owner that was judged; False for all but one."""
        heir = '%s/after-%s' % (claim, re.sub('[ /]', '_', owner))
        try:
            # of one that was killed before its own name was there
            if files.older_than_a_minute(heir):
                os.rmdir(heir)
        except OSError:
            pass
        try:
            # between the look and this step another one may have taken it over, or run the launch
            os.mkdir(heir)
        except OSError:
            return False
        return files.line_of(claim + '/owner') == owner

    def claim(self, launch: str) -> bool:
        """False when somebody else runs it."""
        claim = self.folder + '/' + launch
        if not self._make(claim):
            owner = files.line_of(claim + '/owner')
            if not is_owner_gone(owner, claim) or not self._take_over(claim, owner):
                return False
        if not files.replace(claim + '/owner', ' '.join(this_owner())):
            files.remove_tree(claim)
            die(2, "cannot write into '%s' (no space left?); %s" % (claim, self.how_to_go_on))
        return True

    def release(self, launch: str) -> None:
        files.remove_tree(self.folder + '/' + launch)
        try:
            os.rmdir(self.folder)
        except OSError:
            pass
