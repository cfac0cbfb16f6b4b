"""Stands where JupyterLite's kernel looks for micropip: nothing is fetched here."""

from piplite.piplite import install

__all__ = ["install"]
