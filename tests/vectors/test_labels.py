"""Files are named as shortly as tells them apart."""

import pytest

from aeskit.vectors.files import labels


@pytest.mark.parametrize(
    ("paths", "named"),
    [
        (["/a/b/x.json", "/a/c/y.json"], ["x.json", "y.json"]),
        (["/a/b/x.json", "/a/c/x.json", "z"], ["b/x.json", "c/x.json", "z"]),
        (["a/b/x", "c/b/x", "x"], ["a/b/x", "c/b/x", "x"]),
        (["x", "x", "x"], ["x", "x (2)", "x (3)"]),
        ([], []),
    ],
)
def test_labels(paths, named):
    assert labels(paths) == named
