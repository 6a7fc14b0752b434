"""Private linear models of tables by other means, to compare with. Not part of the product.

What ``benchmarks/rivals`` says of its rivals holds for these too: the same rows, the same delta,
one row more or less (diffprivlib apart), noise that is just sufficient, seeded and not secure.
Every seed has its own split of the rows.
"""
