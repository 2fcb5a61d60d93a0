"""Made by tools/golden.py: the rows of a text and those of an image behind it."""

from golden import random, write

for case, first, count in (("image_behind_text", 4, 3), ("one_row", 1, 5)):
    x = random(2, first + count, 5)
    write(__file__, case, {"count": count}, {"x": x}, {"first": x[:, :first], "last": x[:, first:]})
