"""Files: read as the bytes they are, written in one step, and what /proc and the environment say."""
import os
import stat
from typing import Dict, Iterator, List, Optional

from noiselab_run.text import Stop, die


def read(path: str) -> str:
    """The content; bytes that are no text stay what they are."""
    with open(path, 'rb') as file:
        return os.fsdecode(file.read())


def read_or(path: str, instead: str = '') -> str:
    """The content, or something else where it cannot be read."""
    try:
        return read(path)
    except OSError:
        return instead


def line_of(path: str) -> str:
    """Its first line; empty where it cannot be read."""
    return read_or(path).split('\n', 1)[0].strip()


def write(path: str, text: str) -> None:
    """Replaces or makes a file of our own."""
    with open(path, 'wb') as file:
        file.write(os.fsencode(text))


def replace(path: str, text: str) -> bool:
    """The file has this text, and an end of line, in one step: readers see the old file or the whole new one.
    False: it cannot be written, and nothing is left behind."""
    new = '%s.%d' % (path, os.getpid())
    try:
        if os.path.lexists(new):
            os.unlink(new)
        # in a folder that others can write the name may be there as a link
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with open(fd, 'wb') as file:
            file.write(os.fsencode(text + '\n'))
        os.rename(new, path)
        return True
    except OSError:
        try:
            os.unlink(new)
        except OSError:
            pass
        return False


def require_readable(name: str, path: str, more: str = '') -> None:
    """Refuses a file that cannot be read."""
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        die(2, "%s: cannot read '%s'%s" % (name, path, more))


def entries(folder: str) -> List[str]:
    """The names in a folder but hidden ones, sorted; none where it cannot be read."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith('.'))
    except OSError:
        return []


def with_file(folder: str, name: str) -> Iterator[str]:
    """Paths of that name one level below a folder."""
    for entry in entries(folder):
        path = os.path.join(folder, entry, name)
        if os.path.lexists(path):
            yield path


def older_than_a_minute(path: str) -> bool:
    import time
    try:
        return time.time() - os.lstat(path).st_mtime > 60
    except OSError:
        return False


def owner_of(path: str) -> int:
    return os.lstat(path).st_uid


def remove_tree(path: str) -> None:
    """Removes a file or folder with all that is in it; what cannot be removed stays."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return
        for name in os.listdir(path):
            remove_tree(os.path.join(path, name))
        os.rmdir(path)
    except OSError:
        pass


def copy_tree(source: str, target: str) -> None:
    """A copy of a file, or of a folder with all that is in it."""
    if not os.path.isdir(source):
        with open(source, 'rb') as file, open(target, 'wb') as to:
            to.write(file.read())
        os.chmod(target, stat.S_IMODE(os.stat(source).st_mode))
        return
    os.makedirs(target, exist_ok=True)
    for name in os.listdir(source):
        copy_tree(os.path.join(source, name), os.path.join(target, name))


def in_path(name: str) -> bool:
    """Whether there is a program of that name."""
    folders = [''] if '/' in name else os.environ.get('PATH', os.defpath).split(':')
    return any(os.access(os.path.join(folder, name), os.X_OK) and os.path.isfile(os.path.join(folder, name))
               for folder in folders)


def absolute(path: str) -> str:
    return path if path.startswith('/') else os.environ.get('PWD', os.getcwd()) + '/' + path


class Scratch:
    """A folder of this process that goes with it; it is made when it is first asked for."""

    def __init__(self) -> None:
        self._path = None  # type: Optional[str]

    def __call__(self, name: str = '') -> str:
        """The path of a file in it."""
        if self._path is None:
            for _ in range(100):
                path = '%s/noiselab.%s' % (os.environ.get('TMPDIR') or '/tmp', os.urandom(6).hex())
                try:
                    os.mkdir(path, 0o700)
                except FileExistsError:
                    continue
                except OSError:
                    break
                self._path = path
                break
            else:
                pass
            if self._path is None:
                raise Stop(2, 'cannot make a temporary directory')
        return self._path + '/' + name if name else self._path

    def remove(self) -> None:
        if self._path is not None:
            remove_tree(self._path)
            self._path = None


def environment_with(changes: Dict[str, Optional[str]]) -> Dict[str, str]:
    """That of this process with other values; None takes a variable away."""
    changed = dict(os.environ)
    for name, value in changes.items():
        if value is None:
            changed.pop(name, None)
        else:
            changed[name] = value
    return changed
