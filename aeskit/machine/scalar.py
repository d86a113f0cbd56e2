"""The scalar integer set: bodies on unsigned ints of `n` bits, giving (result, cf, of)."""

from __future__ import annotations

from typing import Any

from aeskit.machine.semantics import Kind, scalar

Result = tuple[Any, Any, Any]
BOOLEAN, LINEAR, SUM, NUMBERS, MOVE = Kind.BOOLEAN, Kind.LINEAR, Kind.SUM, Kind.NUMBERS, Kind.MOVE


def _ones(n: int) -> int:
    return (1 << n) - 1


def _sign(x: int, n: int) -> int:
    """Two's complement of n bits as a signed number."""
    return x - (x >> n - 1 << n)


# DEST := DEST AND SRC; CF := OF := 0 (OR, XOR, ANDN, TEST likewise)
@scalar("and", kind=BOOLEAN)
def and_(n: int, a: Any, b: Any) -> Result:
    """Both."""
    return a & b, 0, 0


scalar("test", kind=BOOLEAN, writes=False)(and_)


@scalar("or", kind=BOOLEAN)
def or_(n: int, a: Any, b: Any) -> Result:
    """Either."""
    return a | b, 0, 0


@scalar("xor", kind=BOOLEAN)
def xor(n: int, a: Any, b: Any) -> Result:
    """One of them."""
    return a ^ b, 0, 0


@scalar("andn", kind=BOOLEAN)
def andn(n: int, a: Any, b: Any) -> Result:
    """The second where the first is not."""
    return ~a & b, 0, 0


# DEST := NOT DEST; no flags
@scalar("not", kind=BOOLEAN, flags="")
def not_(n: int, a: Any) -> Result:
    """All bits."""
    return ~a, None, None


# DEST := DEST + SRC + CF
@scalar("adc", kind=SUM)
def adc(n: int, a: int, b: int, c: int) -> Result:
    """Sum with carry."""
    total = a + b + c
    r = total & _ones(n)
    return r, total >> n, ((a ^ r) & (b ^ r)) >> n - 1


# DEST := DEST + SRC
@scalar("add", kind=SUM)
def add(n: int, a: int, b: int) -> Result:
    """Sum."""
    return adc(n, a, b, 0)


# DEST := DEST − (SRC + CF)
@scalar("sbb", kind=SUM)
def sbb(n: int, a: int, b: int, c: int) -> Result:
    """Difference with borrow."""
    total = a - b - c
    r = total & _ones(n)
    return r, int(total < 0), ((a ^ b) & (a ^ r)) >> n - 1


# DEST := DEST − SRC
@scalar("sub", kind=SUM)
def sub(n: int, a: int, b: int) -> Result:
    """Difference."""
    return sbb(n, a, b, 0)


scalar("cmp", kind=SUM, writes=False)(sub)


# DEST := DEST + 1, − 1; CF is left alone
@scalar("inc", kind=SUM)
def inc(n: int, a: int) -> Result:
    """One more."""
    r, _, of = add(n, a, 1)
    return r, None, of


@scalar("dec", kind=SUM)
def dec(n: int, a: int) -> Result:
    """One less."""
    r, _, of = sub(n, a, 1)
    return r, None, of


# CF := DEST ≠ 0; DEST := 0 − DEST
@scalar("neg", kind=SUM)
def neg(n: int, a: int) -> Result:
    """The negative."""
    return sub(n, 0, a)


# COUNT := SRC modulo 32 (64 for quadwords); CF := the last bit out
def _count(n: int, count: int) -> int:
    return count & (63 if n == 64 else 31)


@scalar("shl", "sal", kind=LINEAR)
def shl(n: int, a: int, count: int) -> Result:
    """Left."""
    c = _count(n, count)
    r, cf = a << c & _ones(n), a << c >> n & 1
    return (r, cf, cf ^ r >> n - 1) if c else (a, None, None)


@scalar("shr", kind=LINEAR)
def shr(n: int, a: int, count: int) -> Result:
    """Right, zeros in."""
    c = _count(n, count)
    return (a >> c, a >> c - 1 & 1, a >> n - 1) if c else (a, None, None)


@scalar("sar", kind=LINEAR)
def sar(n: int, a: int, count: int) -> Result:
    """Right, the sign in."""
    c, s = _count(n, count), _sign(a, n)
    return (s >> c & _ones(n), s >> c - 1 & 1, 0) if c else (a, None, None)


# TEMP := DEST rotated by COUNT modulo n; CF := the bit that came round
@scalar("rol", kind=LINEAR, flags="")
def rol(n: int, a: int, count: int) -> Result:
    """Left."""
    c = _count(n, count)
    r = (a << c % n | a >> -c % n) & _ones(n) if c % n else a
    return (r, r & 1, r >> n - 1 ^ r & 1) if c else (a, None, None)


@scalar("ror", kind=LINEAR, flags="")
def ror(n: int, a: int, count: int) -> Result:
    """Right."""
    c = _count(n, count)
    r = (a >> c % n | a << -c % n) & _ones(n) if c % n else a
    return (r, r >> n - 1, r >> n - 1 ^ r >> n - 2 & 1) if c else (a, None, None)


# The same through CF, n + 1 bits
@scalar("rcl", kind=LINEAR, flags="")
def rcl(n: int, a: int, count: int, carry: int) -> Result:
    """Left through the carry."""
    c = _count(n, count) % (n + 1)
    wide = carry << n | a
    r = (wide << c | wide >> n + 1 - c) & _ones(n + 1)
    return (r & _ones(n), r >> n, (r >> n ^ r >> n - 1) & 1) if _count(n, count) else (a, None, None)


@scalar("rcr", kind=LINEAR, flags="")
def rcr(n: int, a: int, count: int, carry: int) -> Result:
    """Right through the carry."""
    c = _count(n, count) % (n + 1)
    wide = carry << n | a
    r = (wide >> c | wide << n + 1 - c) & _ones(n + 1)
    return (r & _ones(n), r >> n, (r >> n - 1 ^ r >> n - 2) & 1) if _count(n, count) else (a, None, None)


# DEST := DEST << COUNT, the vacated bits from SRC's top (SHRD: right, from its bottom)
@scalar("shld", kind=LINEAR)
def shld(n: int, a: int, b: int, count: int) -> Result:
    """Left, the second's high bits in."""
    c = _count(n, count)
    r = (a << c | b >> n - c) & _ones(n)
    return (r, a >> n - c & 1, (a ^ r) >> n - 1) if 0 < c <= n else (a, None, None)


@scalar("shrd", kind=LINEAR)
def shrd(n: int, a: int, b: int, count: int) -> Result:
    """Right, the second's low bits in."""
    c = _count(n, count)
    r = (a >> c | b << n - c) & _ones(n)
    return (r, a >> c - 1 & 1, (a ^ r) >> n - 1) if 0 < c <= n else (a, None, None)


# BMI2: the same without flags
@scalar("shlx", kind=LINEAR, flags="")
def shlx(n: int, a: int, count: int) -> Result:
    """Left."""
    return a << count % n & _ones(n), None, None


@scalar("shrx", kind=LINEAR, flags="")
def shrx(n: int, a: int, count: int) -> Result:
    """Right."""
    return a >> count % n, None, None


@scalar("sarx", kind=LINEAR, flags="")
def sarx(n: int, a: int, count: int) -> Result:
    """Right, the sign in."""
    return _sign(a, n) >> count % n & _ones(n), None, None


@scalar("rorx", kind=LINEAR, flags="")
def rorx(n: int, a: int, count: int) -> Result:
    """Rotation to the right."""
    return ror(n, a, count)[0], None, None


# Bytes in reverse order
@scalar("bswap", "movbe", kind=LINEAR, flags="")
def bswap(n: int, a: int) -> Result:
    """Reversed."""
    return int.from_bytes(a.to_bytes(n // 8, "little"), "big"), None, None


# N := SRC2[7:0]; DEST := SRC1 with the bits from N on cleared; CF := N > n − 1
@scalar("bzhi", kind=LINEAR)
def bzhi(n: int, a: int, index: int) -> Result:
    """The low bits."""
    low = index & 0xFF
    return a & _ones(low), int(low > n - 1), 0


# START := SRC2[7:0], LEN := SRC2[15:8]; DEST := LEN bits of SRC1 from START on
@scalar("bextr", kind=LINEAR)
def bextr(n: int, a: int, control: int) -> Result:
    """A field."""
    return a >> (control & 0xFF) & _ones(control >> 8 & 0xFF), 0, 0


# CF := the bit of DEST that SRC names; BTS, BTR, BTC then set, clear, complement it
@scalar("bt", kind=LINEAR, flags="", writes=False)
def bt(n: int, a: int, index: int) -> Result:
    """The bit."""
    return a, a >> index % n & 1, None


@scalar("bts", kind=NUMBERS, flags="")
def bts(n: int, a: int, index: int) -> Result:
    """Set it."""
    return a | 1 << index % n, a >> index % n & 1, None


@scalar("btr", kind=LINEAR, flags="")
def btr(n: int, a: int, index: int) -> Result:
    """Clear it."""
    return a & ~(1 << index % n), a >> index % n & 1, None


@scalar("btc", kind=NUMBERS, flags="")
def btc(n: int, a: int, index: int) -> Result:
    """Complement it."""
    return a ^ 1 << index % n, a >> index % n & 1, None


# DEST := (−SRC) AND SRC; SRC − 1 AND SRC; SRC − 1 XOR SRC; CF tells whether SRC is 0
@scalar("blsi", kind=NUMBERS)
def blsi(n: int, a: int) -> Result:
    """The lowest set bit."""
    return -a & a, int(a != 0), 0


@scalar("blsr", kind=NUMBERS)
def blsr(n: int, a: int) -> Result:
    """Without it."""
    return a - 1 & a if a else 0, int(a == 0), 0


@scalar("blsmsk", kind=NUMBERS)
def blsmsk(n: int, a: int) -> Result:
    """Up to it."""
    return (a - 1 ^ a) & _ones(n), int(a == 0), 0


# Two and three operands: DEST := low half; CF := OF := the product does not fit
@scalar("imul", kind=NUMBERS, flags="")
def imul(n: int, a: int, b: int) -> Result:
    """The signed product's low half."""
    product = _sign(a, n) * _sign(b, n)
    over = int(not -(1 << n - 1) <= product < 1 << n - 1)
    return product & _ones(n), over, over


# Number of trailing, leading zeros, of ones; CF := SRC = 0 for the first two
@scalar("tzcnt", kind=NUMBERS, flags="z")
def tzcnt(n: int, a: int) -> Result:
    """Trailing zeros."""
    return (a & -a).bit_length() - 1 if a else n, int(a == 0), None


@scalar("lzcnt", kind=NUMBERS, flags="z")
def lzcnt(n: int, a: int) -> Result:
    """Leading zeros."""
    return n - a.bit_length(), int(a == 0), None


@scalar("popcnt", kind=NUMBERS, flags="z")
def popcnt(n: int, a: int) -> Result:
    """Ones."""
    return a.bit_count(), 0, 0


# The bits of SRC under MASK, gathered at the bottom; the bottom bits spread under it
@scalar("pext", kind=LINEAR, flags="")
def pext(n: int, a: int, mask: int) -> Result:
    """Gathered."""
    places = [i for i in range(n) if mask >> i & 1]
    return sum((a >> place & 1) << i for i, place in enumerate(places)), None, None


@scalar("pdep", kind=LINEAR, flags="")
def pdep(n: int, a: int, mask: int) -> Result:
    """Spread."""
    places = [i for i in range(n) if mask >> i & 1]
    return sum((a >> i & 1) << place for i, place in enumerate(places)), None, None
