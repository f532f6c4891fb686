"""A power cut on a disk that keeps only what it was asked to keep.

A file has the content that it had when it was last synced, and is there only under the names that its folder had when
that was last synced.
"""

import os
import stat
from pathlib import Path

import pytest


class PowerCut(BaseException):
    """Ends the program where it stands."""


class Disk:
    """Watches a folder. `rebuild` makes another one as it would be found after the cut.

    Args:
        folder: all that lies in it counts as kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: dict[int, dict[str, int]] = {}  # folder -> name -> file, by inode
        self._folders: set[int] = set()
        self._contents: dict[int, bytes] = {}
        self._held: dict[int, int] = {}  # open descriptors, so that no inode is used again
        for path in [folder, *folder.rglob("*")]:
            self._keep(path, os.open(path, os.O_RDONLY))

    def watch(self, patch: pytest.MonkeyPatch, cut_after: int = -1) -> None:
        """Note every sync instead of doing it; cut the power when one more than `cut_after` is asked for, if not -1."""
        left = cut_after

        def fsync(descriptor: int) -> None:
            nonlocal left
            if left == 0:
                raise PowerCut
            left -= 1
            self._keep(Path(f"/proc/self/fd/{descriptor}").readlink(), os.dup(descriptor))

        patch.setattr(os, "fsync", fsync)

    def rebuild(self, target: Path) -> None:
        """Make `target` from what was kept."""
        self._rebuild(self.folder.stat().st_ino, target)

    def close(self) -> None:
        """Watch no longer."""
        while self._held:
            os.close(self._held.popitem()[1])

    def _rebuild(self, inode: int, target: Path) -> None:
        target.mkdir()
        for name, child in self._names.get(inode, {}).items():
            if child in self._folders:
                self._rebuild(child, target / name)
            else:
                (target / name).write_bytes(self._contents.get(child, b""))

    def _keep(self, path: Path, descriptor: int) -> None:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = {entry.name: entry.inode() for entry in os.scandir(path)}
            self._folders |= {entry.inode() for entry in os.scandir(path) if entry.is_dir()}
            for entry in os.scandir(path):  # a new file's inode is held from its first name on
                if entry.inode() not in self._held:
                    self._held[entry.inode()] = os.open(entry.path, os.O_RDONLY)
        else:
            self._contents[found.st_ino] = path.read_bytes()
        if found.st_ino in self._held:
            os.close(descriptor)
        else:
            self._held[found.st_ino] = descriptor
