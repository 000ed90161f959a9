"""`kin4d info`: versions and what is installed."""

from __future__ import annotations

from importlib import metadata

from kin4d.cli.output import print_result

# The package that tells whether each extra is installed.
_EXTRAS = {
    "usd": "usd-core",
    "robots": "example-robot-data",
    "sim": "mujoco",
    "compressed": "dracopy",
    "viewer": "viser",
    "parquet": "pyarrow",
}


def info_command(*, json: bool = False) -> None:
    """Show versions, the machine, and which optional parts are installed.

    Args:
        json: Print JSON for machines.
    """
    from kin4d.benchmarks.report import machine, versions

    installed = {distribution.name.lower() for distribution in metadata.distributions()}
    extras = {name: package in installed for name, package in _EXTRAS.items()}
    data = {"versions": versions(), "machine": machine(), "extras": extras}
    lines = [f"{name:12} {version}" for name, version in data["versions"].items()]
    lines.append(
        f"{'machine':12} {', '.join(str(value) for value in data['machine'].values())} cores"
    )
    for name, found in extras.items():
        state = "installed" if found else f'missing: pip install "kin4d[{name}]"'
        lines.append(f"{'[' + name + ']':12} {state}")
    print_result("\n".join(lines), data, as_json=json)
