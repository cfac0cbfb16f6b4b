"""Reference for 178 `BlockPool`."""


class BlockPool:
    """Blocks of KV with reference counts, a free queue, and keys by which content is found again.

    ``queue``: numbers of free blocks, the front is allocated first. ``ref``: reference count of each block.
    """

    def __init__(self, n: int) -> None:
        """``n`` blocks, all free and without a key."""
        self.queue = list(range(n))
        self.ref = [0] * n
        # hint: 再记每个块的键 | Keep each block's key, too
        self._keys: list[str | None] = [None] * n

    def allocate(self) -> int:
        """Take the front of the queue; only now its old content is lost. RuntimeError when none is free."""
        if not self.queue:
            raise RuntimeError("no block is free")
        block = self.queue.pop(0)
        self._keys[block] = None
        self.ref[block] = 1
        return block

    def publish(self, block: int, key: str) -> None:
        """Give a block in use its key. ValueError when nobody uses it."""
        if self.ref[block] == 0:
            raise ValueError(f"block {block} is free")
        self._keys[block] = key

    def lookup(self, key: str) -> int | None:
        """The lowest block with this key, or None; nothing changes."""
        return next((block for block, own in enumerate(self._keys) if own == key), None)

    def touch(self, block: int) -> None:
        """One more request uses the block, which may be free."""
        # hint: 空闲的块先离开队列 | A free block leaves the queue first
        if self.ref[block] == 0:
            self.queue.remove(block)
        self.ref[block] += 1

    def free(self, block: int) -> None:
        """One request fewer uses the block. ValueError when none does."""
        if self.ref[block] == 0:
            raise ValueError(f"block {block} is free already")
        self.ref[block] -= 1
        # hint: 归零才进队列；有键的在队尾 | At 0 it joins the queue: at the end with a key
        if self.ref[block] == 0:
            self.queue.insert(0 if self._keys[block] is None else len(self.queue), block)
