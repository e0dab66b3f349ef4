"""Libraries that only an extra of the package brings (pyproject.toml)."""

from __future__ import annotations

from importlib.util import find_spec

from callsheet.tasks.errors import ConfigurationError


def check_extra(extra: str, *modules: str, use: str) -> None:
    """Raise ConfigurationError unless these modules are installed; `use` is what needs them."""
    if missing := [module for module in modules if not _is_there(module)]:
        raise ConfigurationError(
            f"{use} needs {' and '.join(missing)}, which is not installed; nothing was spent",
            remedy=f"pip install 'callsheet[{extra}]' brings it, as `make install` does",
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:
        # Somebody else has said that it must not be imported.
        return False
