"""JupyterLite's kernel installs packages with `piplite`; this site brings all it has, and fetches nothing."""

from piplite.piplite import install

__all__ = ["install"]
