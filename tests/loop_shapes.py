"""Main loops in the shapes of hand-written and compiled code, for each mode, in legacy SSE and in VEX.

A function is `f(key rdi, source rsi, destination rdx, length rcx, iv r8)`, of AES-128 and whole blocks. A
shape is text in which `BLOCK n` stands for the mode's block at byte n from where the shape is.
"""

import re

from aeskit import contracts
from aeskit.contracts.modes import cbc_chain, ctr_128, ecb_blocks, xts_one_schedule

CONTRACTS = {
    "ecb": contracts.Contract("ecb", "ECB encryption", ecb_blocks("encrypt"), multiple=16),
    "cbc": contracts.Contract("cbc", "CBC decryption", cbc_chain("decrypt"), multiple=16),
    "ctr": contracts.Contract("ctr", "CTR, whole blocks", ctr_128, multiple=16),
    "xts": contracts.Contract("xts", "XTS, whole blocks", xts_one_schedule("encrypt"), 16, 16),
}


def rounds(stem, base=0):
    """AES-128 of xmm0, by the round keys at `base` of the context."""
    middle = [f"{stem} {base + 16 * r}(%rdi), %xmm0" for r in range(1, 10)]
    return "\n".join([f"pxor {base}(%rdi), %xmm0", *middle, f"{stem}last {base + 160}(%rdi), %xmm0"])


BEGIN = {
    "ecb": "",
    "cbc": "movdqu (%r8), %xmm1",
    "ctr": "mov (%r8), %r10; bswap %r10; mov 8(%r8), %r9; bswap %r9",
    "xts": "movdqu (%r8), %xmm1; movdqa alpha(%rip), %xmm4",
}
BLOCK = {
    "ecb": f"movdqu SOURCE, %xmm0\n{rounds('aesenc')}\nmovdqu %xmm0, TARGET",
    "cbc": f"""
movdqu SOURCE, %xmm0
movdqa %xmm0, %xmm2
{rounds("aesdec", 240)}
pxor %xmm1, %xmm0
movdqu %xmm0, TARGET
movdqa %xmm2, %xmm1""",
    "ctr": f"""
mov %r10, %r11; bswap %r11; movq %r11, %xmm0
mov %r9, %r11; bswap %r11; movq %r11, %xmm2
punpcklqdq %xmm2, %xmm0
add $1, %r9; adc $0, %r10
{rounds("aesenc")}
movdqu SOURCE, %xmm2
pxor %xmm2, %xmm0
movdqu %xmm0, TARGET""",
    "xts": f"""
movdqu SOURCE, %xmm0
pxor %xmm1, %xmm0
{rounds("aesenc")}
pxor %xmm1, %xmm0
movdqu %xmm0, TARGET
pshufd $0x13, %xmm1, %xmm2
psrad $31, %xmm2
paddq %xmm1, %xmm1
pand %xmm4, %xmm2
pxor %xmm2, %xmm1""",
}
END = {
    "ecb": "",
    "cbc": "movdqu %xmm1, (%r8)",
    "ctr": "bswap %r10; mov %r10, (%r8); bswap %r9; mov %r9, 8(%r8)",
    "xts": "movdqu %xmm1, (%r8)",
}
ALPHA = '.section .rodata.cst16, "aM", @progbits, 16\n.balign 16\nalpha: .quad 0x87, 1\n'

PLAIN = "(%rsi) (%rdx)"
MOVE = "add $16, %rsi; add $16, %rdx"
PAIRS = "BLOCK 0\nBLOCK 16\nadd $32, %rsi; add $32, %rdx"
ODD = f"jnc 1f\nBLOCK 0\n{MOVE}\ntest %rcx, %rcx; jz 9f\n1:\n{PAIRS}\ndec %rcx; jnz 1b\n9:"
FAST_OR_SLOW = (
    f"4:\ntest %rcx, %rcx; jz 9f\nshr $5, %rcx\n{ODD.replace('9', '8')}\njmp 9f\n"
    f"2:\ntest %rcx, %rcx; jz 9f\n3:\nBLOCK 0\n{MOVE}\nsub $16, %rcx; jnz 3b\n9:"
)

SHAPES = {
    "bytes": (PLAIN, f"test %rcx, %rcx; jz 9f\n1:\nBLOCK 0\n{MOVE}\nsub $16, %rcx; jnz 1b\n9:"),
    "blocks": (PLAIN, f"shr $4, %rcx; jz 9f\n1:\nBLOCK 0\n{MOVE}\ndec %rcx; jnz 1b\n9:"),
    "odd by shr": (PLAIN, f"shr $4, %rcx; jz 9f\nshr $1, %rcx\n{ODD}"),
    "odd by one shr": (PLAIN, f"test %rcx, %rcx; jz 9f\nshr $5, %rcx\n{ODD}"),
    "odd by test": (
        PLAIN,
        f"test $16, %cl; jz 1f\nBLOCK 0\n{MOVE}\nsub $16, %rcx\n"
        f"1:\nsub $32, %rcx; jb 9f\n{PAIRS}\njmp 1b\n9:",
    ),
    "pairs, then odd": (
        PLAIN,
        f"sub $32, %rcx; jb 2f\n1:\n{PAIRS}\nsub $32, %rcx; jae 1b\n2:\nadd $32, %rcx; jz 9f\nBLOCK 0\n9:",
    ),
    "index up": (
        "(%rsi,%rax) (%rdx,%rax)",
        "test %rcx, %rcx; jz 9f\nxor %eax, %eax\n1:\nBLOCK 0\nadd $16, %rax; cmp %rcx, %rax; jb 1b\n9:",
    ),
    "index up to equal": (
        "(%rsi,%rax) (%rdx,%rax)",
        "xor %eax, %eax\njmp 2f\n1:\nBLOCK 0\nadd $16, %rax\n2:\ncmp %rax, %rcx; jne 1b\n9:",
    ),
    "index of pairs": (
        "(%rsi,%rax) (%rdx,%rax)",
        "xor %eax, %eax\nmov %rcx, %r11; and $-32, %r11; mov %r11, -8(%rsp); jz 2f\n"
        "1:\nBLOCK 0\nBLOCK 16\nadd $32, %rax\ncmp -8(%rsp), %rax; jne 1b\n"
        "2:\ncmp %rcx, %rax; jae 9f\nBLOCK 0\n9:",
    ),
    "index of quadwords": (
        "(%rsi,%rax,8) (%rdx,%rax,8)",
        "shr $3, %rcx; jz 9f\nxor %eax, %eax\n1:\nBLOCK 0\nadd $2, %rax; cmp %rcx, %rax; jb 1b\n9:",
    ),
    "index of blocks": (
        "(%rsi,%rax) (%rdx,%rax)",
        "shr $4, %rcx; jz 9f\nxor %eax, %eax\n1:\nshl $4, %rax\nBLOCK 0\n"
        "shr $4, %rax; inc %rax; cmp %rcx, %rax; jb 1b\n9:",
    ),
    "index below 0": (
        "(%rsi,%rcx) (%rdx,%rcx)",
        "add %rcx, %rsi; add %rcx, %rdx; neg %rcx; jz 9f\n1:\nBLOCK 0\nadd $16, %rcx; jnz 1b\n9:",
    ),
    "index below 0, by sign": (
        "(%rsi,%rax) (%rdx,%rax)",
        "lea (%rsi,%rcx), %rsi; lea (%rdx,%rcx), %rdx\nxor %eax, %eax; sub %rcx, %rax; jns 9f\n"
        "1:\nBLOCK 0\nadd $16, %rax; js 1b\n9:",
    ),
    "index below 0, by carry": (
        "(%rsi,%rcx) (%rdx,%rcx)",
        "test %rcx, %rcx; jz 9f\nadd %rcx, %rsi; add %rcx, %rdx; neg %rcx\n"
        "1:\nBLOCK 0\nadd $16, %rcx; jnc 1b\n9:",
    ),
    "end pointer": (
        PLAIN,
        f"add %rsi, %rcx\njmp 2f\n1:\nBLOCK 0\n{MOVE}\n2:\ncmp %rcx, %rsi; jne 1b\n9:",
    ),
    "end pointer, below": (
        PLAIN,
        f"lea (%rsi,%rcx), %rax; cmp %rax, %rsi; jae 9f\n1:\nBLOCK 0\n{MOVE}\ncmp %rax, %rsi; jb 1b\n9:",
    ),
    "distance": (
        "(%rsi) (%rsi,%rdx)",
        "sub %rsi, %rdx\nadd %rsi, %rcx\njmp 2f\n1:\nBLOCK 0\nadd $16, %rsi\n2:\ncmp %rcx, %rsi; jne 1b\n9:",
    ),
    "alias by distance": (
        PLAIN,
        f"lea 15(%rdx), %rax; sub %rsi, %rax; cmp $30, %rax; jbe 2f\n{FAST_OR_SLOW}",
    ),
    "alias by ends": (
        PLAIN,
        "lea (%rsi,%rcx), %rax; cmp %rax, %rdx; jae 4f\n"
        f"lea (%rdx,%rcx), %rax; cmp %rax, %rsi; jb 2f\n{FAST_OR_SLOW}",
    ),
}

TWO = {"pxor", "pand", "paddq", "aesenc", "aesenclast", "aesdec", "aesdeclast", "punpcklqdq"}
ONE = {"movdqu", "movdqa", "movq", "pshufd"}


def vex(line):
    """A legacy instruction of the bodies above in its VEX form."""
    name, _, operands = line.partition(" ")
    if name in ONE:
        return f"v{line}"
    if name in TWO or name == "psrad":
        return f"v{line}, {operands.split(', ')[-1]}"
    return line


def source(mode, shape, is_vex, wrong=lambda text: text):
    """The function's text; `wrong` changes it before the encoding is chosen."""
    where, text = SHAPES[shape]
    one, two = where.split()

    def block(match):
        at = int(match[1])
        put = {"SOURCE": f"{at or ''}{one}", "TARGET": f"{at or ''}{two}"}
        return re.sub("SOURCE|TARGET", lambda m: put[m[0]], BLOCK[mode])

    body = "\n".join([BEGIN[mode], re.sub(r"BLOCK (\d+)", block, text), END[mode], "ret"])
    lines = [line.strip() for line in wrong(body).replace("; ", "\n").splitlines()]
    return "\n".join([ALPHA, ".text", ".globl f", "f:", *map(vex if is_vex else str, lines), ""])
