"""mkdocs hook: one API page for each package of kin4d, made from the source tree.

A page lists the modules of one folder of `src/kin4d` in alphabetical order, so that a new module
appears without an edit here.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import kin4d

SOURCE = Path(__file__).parents[1] / "src"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """mkdocs' event: the pages are appended to the navigation."""
    assert config.nav is not None
    config.nav.append({"API reference": [{page_title(name): page_path(name)} for name in pages()]})
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """mkdocs' event: the pages are added to those of the folder."""
    for name, modules in pages().items():
        files.append(File.generated(config, page_path(name), content=page_text(name, modules)))
    return files


def pages() -> dict[str, list[str]]:
    """Dotted names of the modules on each page, by the dotted name of their package."""
    found: dict[str, list[str]] = {}
    for file in sorted((SOURCE / "kin4d").rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        package = ".".join(parts[:-1])
        found.setdefault(package, [])
        if parts[-1] != "__init__":
            found[package].append(".".join(parts))
    return dict(sorted(found.items()))


def page_path(package: str) -> str:
    """The page of a package, below docs/."""
    return "api/" + (package.removeprefix("kin4d").lstrip(".") or "index") + ".md"


def page_title(package: str) -> str:
    """The page's title in the navigation: `kin4d`, or what follows it."""
    return package.removeprefix("kin4d.")


def page_text(package: str, modules: list[str]) -> str:
    """Markdown: what the package says of itself, then every module."""
    options = "{show_root_heading: false, show_root_toc_entry: false}"
    header = [f"# {package}", f"::: {package}\n    options: {options}"]
    if package == "kin4d":
        header.append(exported_names())
    return "\n\n".join([*header, *(f"::: {module}" for module in modules)]) + "\n"


def exported_names() -> str:
    """A table of the names that `import kin4d` gives, each with a link to its module."""
    homes = vars(kin4d)["_HOME"]
    rows = [
        f"| [`kin4d.{name}`][kin4d.{homes[name]}.{name}] | `kin4d.{homes[name]}` |"
        for name in sorted(homes)
    ]
    return "\n".join(["| name | defined in |", "|---|---|", *rows])
