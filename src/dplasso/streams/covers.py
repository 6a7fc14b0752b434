"""Covers: the nodes of a binary tree that hide the protected rows of a release.

Steps count from 1. The node (level, index) stands for the 2^level steps that follow the first index
2^level. A cover of a step is a set of disjoint nodes; the noise of a release is the sum of the
noises of its nodes.
"""

from collections.abc import Callable

Node = tuple[int, int]
Cover = Callable[[int], list[Node]]


def prefix(start: int, length: int) -> list[Node]:
    """Nodes that cover the first ``length`` steps after ``start``, the largest first.

    >>> prefix(8, 5)
    [(2, 2), (0, 12)]
    """
    nodes = []
    for level in reversed(range(length.bit_length())):
        if length >> level & 1:
            nodes.append((level, start >> level))
            start += 1 << level
    return nodes


def suffix(end: int, length: int) -> list[Node]:
    """Nodes that cover the last ``length`` steps up to ``end``; the largest ends at ``end``.

    >>> suffix(8, 3)
    [(1, 3), (0, 5)]
    """
    nodes = []
    for level in reversed(range(length.bit_length())):
        if length >> level & 1:
            end -= 1 << level
            nodes.append((level, end >> level))
    return nodes


def whole_stream() -> Cover:
    """Cover all steps so far, by the binary digits of their number."""
    return lambda step: prefix(0, step)


def window_only(block: int) -> Cover:
    """Cover the last ``block`` steps, a power of 2: part of this block and of the previous one.

    Formal guarantees
    -----------------
    Only log2(block) + 1 nodes ever cover a step, one of each size. Until ``block`` steps have
    passed, every release covers it.
    """

    def cover(step: int) -> list[Node]:
        start, inside = _place(step, block)
        before = suffix(start, block - inside) if start else []
        return prefix(start, inside) + before

    return cover


def root_kept(block: int) -> Cover:
    """The same with fewer nodes: the root covers the previous block until all of it has expired.

    Formal guarantees
    -----------------
    As for `window_only`; steps stay covered slightly longer than necessary.
    """

    def cover(step: int) -> list[Node]:
        start, inside = _place(step, block)
        if not start or inside == block:
            return prefix(start, inside)
        root = (block.bit_length() - 1, start // block - 1)
        return [root, *prefix(start, inside)]

    return cover


def _place(step: int, block: int) -> tuple[int, int]:
    """Number of steps before this step's block, and of steps of the block up to this one."""
    start = (step - 1) // block * block
    return start, step - start
