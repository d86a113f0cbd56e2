"""What compilers make of loops in C is proved at every length: indices, ends and counts of their choice."""

import shutil
import subprocess

import pytest

from aeskit import contracts
from aeskit.machine.loader import load
from aeskit.verify.proving.every_length import EveryLength
from aeskit.verify.proving.proof import Prover

# CTR with a partial block at the end; a function a loop.
SOURCE = """
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef const uint8_t *in;
typedef uint8_t *out;

static __m128i load(in p) { return _mm_loadu_si128((const __m128i *)p); }
static void store(out p, __m128i x) { _mm_storeu_si128((__m128i *)p, x); }

static inline __m128i block(in key, uint64_t high, uint64_t low)
{
	__m128i x = _mm_set_epi64x(__builtin_bswap64(low), __builtin_bswap64(high));
	int r;

	x = _mm_xor_si128(x, load(key));
	for (r = 1; r < 10; r++)
		x = _mm_aesenc_si128(x, load(key + 16 * r));
	return _mm_aesenclast_si128(x, load(key + 160));
}

#define NEXT do { if (++low == 0) high++; } while (0)
#define ONE(from, to) do { store(to, _mm_xor_si128(load(from), block(key, high, low))); NEXT; } while (0)
#define CTR(name, loop) \\
void name(in key, in source, out target, size_t length, uint64_t *counter) \\
{ \\
	uint64_t high = __builtin_bswap64(counter[0]), low = __builtin_bswap64(counter[1]); \\
	size_t i = 0, j, rest = length % 16; \\
	uint8_t last[16]; \\
	loop \\
	if (rest) { \\
		store(last, block(key, high, low)); \\
		for (j = 0; j < rest; j++) \\
			target[i + j] = source[i + j] ^ last[j]; \\
		NEXT; \\
	} \\
	counter[0] = __builtin_bswap64(high); \\
	counter[1] = __builtin_bswap64(low); \\
}

CTR(up, for (; i + 16 <= length; i += 16) ONE(source + i, target + i);)
CTR(down, for (; length >= 16; length -= 16, source += 16, target += 16) ONE(source, target);)
CTR(whole, for (; i < length - rest; i += 16) ONE(source + i, target + i);)
CTR(blocks, size_t n = length / 16; for (; i < n; i++) ONE(source + 16 * i, target + 16 * i); i *= 16;)
CTR(end, in to = source + (length & -16);
	for (; source != to; source += 16, target += 16) ONE(source, target);)
/* Wrong: the last whole block is left; the counter's upper half is lost in every second block. */
CTR(short_by_one, for (; i + 16 < length; i += 16) ONE(source + i, target + i);)
CTR(stale, for (; i + 16 <= length; i += 16) {
	store(target + i, _mm_xor_si128(load(source + i), block(key, high, low)));
	low++; if (!low && i % 32 == 0) high++; })
"""
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
RIGHT = ["up", "down", "whole", "blocks", "end"]


@pytest.fixture(scope="module", params=[(c, o) for c in COMPILERS for o in ("-O2", "-O3")], ids="".join)
def compiled(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "loops.c").write_text(SOURCE)
    compiler, level = request.param
    options = [level, "-maes", "-mavx", "-fno-stack-protector", "-fno-pic", "-c", "loops.c"]
    subprocess.run([compiler, *options], cwd=folder, check=True)
    return load(folder / "loops.o")


def everything(image, function, in_place):
    """The findings of a proof for every length; below the loop some lengths stand for all."""
    contract, prover = contracts.ALL["ctr"], Prover(image, limit=20_000)
    every = EveryLength(prover, function, contract, 16, in_place)
    closed = every.close()
    found = list(closed.findings)
    for length in (*range(0, closed.base(), 7), *range(closed.base(), closed.first, 5)):
        head = closed.head if length >= closed.base() else None
        found += prover.prove(function, contract, length, 16, in_place, head).findings
    return found


@pytest.mark.parametrize("function", RIGHT)
def test_a_loop_is_proved_at_every_length(compiled, function):
    in_place = RIGHT.index(function) % 2 == 1
    assert everything(compiled, function, in_place) == []


@pytest.mark.parametrize("function", ["short_by_one", "stale"])
def test_a_wrong_loop_is_not_proved(compiled, function):
    assert everything(compiled, function, False)
