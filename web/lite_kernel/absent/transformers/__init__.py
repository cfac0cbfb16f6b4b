"""Where a notebook compares with transformers: a browser does not have it, and this says what does."""

raise ModuleNotFoundError(
    "transformers is not available in the browser; open this notebook with `make lab` to compare with it / "
    "浏览器里没有 transformers；要和它比较，请用 `make lab` 打开这个笔记本",
    name="transformers",
)
