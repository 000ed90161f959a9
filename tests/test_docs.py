"""README and docs: commands and flags exist, imports resolve, and pictures are there."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from functools import cache
from pathlib import Path

import pytest

from kin4d.cli import COMMANDS, main
from kin4d.renamed import COMMANDS as RENAMED_COMMANDS
from kin4d.renamed import FLAGS

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
}
GROUPS = {"data", "train"}
"""Commands with sub-commands."""


def code_blocks(page: str, *languages: str) -> list[str]:
    """The code blocks of a page in one of these languages."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGES[page], re.DOTALL | re.MULTILINE)
    return [text for language, text in blocks if language in languages]


def commands(page: str) -> list[list[str]]:
    """The words of every ``kin4d ...`` line in the code blocks of a page."""
    lines = "\n".join(code_blocks(page, "bash", "")).replace("\\\n", " ").splitlines()
    found = [re.search(r"(?:^|\)\s)\s*kin4d (.*)", line.split("#")[0]) for line in lines]
    return [one[1].split() for one in found if one]


@cache
def help_text(command: str) -> str:
    """What ``kin4d COMMAND --help`` prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    return text.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_flags_exist(page: str) -> None:
    wrong = []
    for words in commands(page):
        assert words[0] in COMMANDS, words
        command = " ".join(words[: 2 if words[0] in GROUPS else 1])
        flags = [word for word in words if re.fullmatch(r"--?[a-z][a-z0-9-]*", word)]
        known = set(re.findall(r"--?[a-z][a-z0-9-]*", help_text(command)))
        wrong += [f"kin4d {command} {flag}" for flag in flags if flag not in known]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_imports_resolve(page: str) -> None:
    wrong = []
    for block in code_blocks(page, "python"):
        for module, names in re.findall(r"^from (kin4d[\w.]*) import (.+)$", block, re.MULTILINE):
            home = importlib.import_module(module)
            for name in names.split("#")[0].split(","):
                if not hasattr(home, name.split(" as ")[0].strip()):
                    wrong.append(f"{module}.{name.strip()}")
        wrong += [name for name in re.findall(r"\bkin4d\.(\w+)\(", block) if not has_name(name)]
    assert wrong == []


def has_name(name: str) -> bool:
    """Whether the package exports it."""
    return hasattr(importlib.import_module("kin4d"), name)


def test_pictures_of_the_readme_are_small() -> None:
    pictures = re.findall(r'src="([^"]+)"', PAGES["README.md"])
    assert len(pictures) >= 6
    assert {name for name in pictures if (ROOT / name).stat().st_size > 400_000} == set()


def test_contributing_shows_the_tested_body() -> None:
    tested = (ROOT / "tests" / "tools" / "custom_body.py").read_text()
    assert tested[tested.index("class ") :].rstrip() in PAGES["CONTRIBUTING.md"]


def test_changelog_has_every_renamed_flag_and_command() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    renamed = [pair for flags in FLAGS.values() for pair in flags.items()]
    assert [pair for pair in renamed if "`{}` → `{}`".format(*pair) not in text] == []
    assert [old for old, new in RENAMED_COMMANDS.items() if f"`kin4d {new}`" not in text] == []
