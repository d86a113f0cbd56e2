/*
 * CTR (SP 800-38A, 6.5) with a 128-bit big-endian counter block: C_j = P_j ^ E(K, counter + j).
 *
 *   rdi       first round key (on entry the aes_key)
 *   rsi, rdx  source and destination; may be equal
 *   rcx       bytes left
 *   r8        on entry the counter block, at once replaced by the one that follows this message; then the place in
 *             the table from which the next register's counters are made
 *   r9, r10   last round key; key length in bytes
 *   rax       low quadword of v12's upper part; scratch in the tail, as is r11
 *   v0 - v7   counter blocks, then keystream, then output
 *   v8, v11   two successive upper parts ^ round key 0, in every lane
 *   v9        the bits in which a counter of the later upper part may differ from v8
 *   v10       the bits of the lower part
 *   v12       the later upper part as an integer, in every lane
 *   v13       data ^ the last round key
 *   key0 ...  round keys: held in v17 to v31 with EVEX, else spread from memory into v15
 *
 * The counters of a pass without shuffle, compare or branch. One pass takes PASS = 8 * LANES blocks, a power of 2. Call
 * counter / PASS the upper part and counter % PASS the lower. A pass adds PASS, so the lower part of a given lane of a
 * given register is the same in every pass, and among the lanes of one pass are two upper parts at most: u until the
 * lower part wraps, then u + 1. With the first lower part b, lane p of the pass needs entry b + p of a table of 2 * PASS
 * blocks: its lower part, and in the bits above all zeros (take u) or all ones (take u + 1). So a register is
 *
 *   (entry & v9) ^ v8,   v9 = (u ^ (u + 1)) | lower bits,   v8 = u ^ round key 0
 *
 * From u to u + 1 it is one addition of quadwords a pass, in vector registers. Its carry out of the low quadword shows
 * in rax, a branch that is taken once in 2^64 blocks. Where the table is read and that branch depend on the counter,
 * which is public, never on the key or the data.
 *
 * A message of one block needs none of this: its counter block is the input, and its call a third shorter.
 *
 * What a call costs beside its rounds is the wait for its first counters, while the rounds of the call before run out.
 * On Emerald Rapids, where AES runs on ports 0 and 1, an instruction that can only go there waits behind all rounds that
 * are queued, 10 cycles each time. So the table's address is loaded (LEA from rip is for port 1 alone) and its index is
 * the counter block's last byte (of BSWAP, a part is for port 1): with both, a call with ymm costs 1 cycle more than its
 * rounds, without either 20, and without one of them no less than 15. The XOR of the data goes into the last round key,
 * so that it does not wait in the scheduler for the last round: 2 cycles a call.
 *
 * Tried and lost: the carry as ADD and ADC on the counter in general registers, swapped and moved over every pass: 17
 * instructions instead of 6, and 2.4 cycles a pass with ymm and xmm (4 % of it). Ending a message of zmm with ymm: 1,420
 * bytes are 23 registers of zmm, 322 cycles, or 45 of ymm, 315; but 13 of ymm behind 16 of zmm take 425, for port 1 has
 * no vectors while zmm instructions wait.
 *
 * Clobbers rax, rcx, rdx, rsi, r8 to r11, k1, the registers above and the flags.
 */

#include "lanes.inc"

        .section .rodata
        .p2align 6
/* Turns the bytes of a block round: from the integer to the counter block and back. */
.Lctr_swap:
        .rept 4
        .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
        .endr
/* 2^64, as it is added by quadwords. */
.Lctr_high:
        .rept 4
        .quad 0, 1
        .endr
.Lctr_one:
        .quad 1, 0
        .text

.macro ctr_table set
        .section .rodata
        .p2align 6
.Lctr_pass_\set:
        .rept LANES
        .quad PASS, 0
        .endr
        .p2align 6
.Lctr_table_\set:
        .set .Lentry, 0
        .rept PASS
        .fill 15, 1, 0
        .byte .Lentry
        .set .Lentry, .Lentry + 1
        .endr
        .set .Lentry, -PASS
        .rept PASS
        .fill 15, 1, 0xff
        .byte .Lentry
        .set .Lentry, .Lentry + 1
        .endr
        .section .data.rel.ro, "aw"
        .p2align 3
.Lctr_table_at_\set:
        .quad .Lctr_table_\set
        .text
.endm

/* rax and v12 to the next upper part, v11 = that ^ round key 0, v9 for v8 and v11. */
.macro ctr_carry set, number
        first_key rdi
        vpaddq v12, v12, [rip + .Lctr_pass_\set]
        add rax, PASS
        jc .Lctr_carry\number\()_\set
.Lctr_carried\number\()_\set:
        vpshufb v11, v12, [rip + .Lctr_swap]
        vxor v11, v11, key0
        .if EVEX
        vcopy v9, v8
        vpternlogq v9, v11, v10, 0xbe
        .else
        vxor v9, v8, v11
        vor v9, v9, v10
        .endif
.endm

/* Behind the end: where the low quadword of the counter in `register` passed from all ones to zero. */
.macro ctr_carry_high set, number, register
.Lctr_carry\number\()_\set:
        vpaddq \register, \register, [rip + .Lctr_high]
        jmp .Lctr_carried\number\()_\set
.endm

/* v8 to v12, rax and r8 for the counter block at [r8]. It becomes the one that follows rcx bytes, in one 16-byte store,
   as the next call loads it. */
.macro ctr_begin set
        mov rax, [r8 + 8]
        bswap rax
        vspread v8, [r8]
        mov r11, [rip + .Lctr_table_at_\set]
        /* The entry of the highest lower part has just the lower bits. */
        vspread v10, [r11 + 16 * (PASS - 1)]
        .if EVEX
        vpandnq v8, v10, v8
        .else
        vpandn v8, v10, v8
        .endif
        vpshufb v12, v8, [rip + .Lctr_swap]
        movzx r10d, byte ptr [r8 + 15]
        and r10d, PASS - 1
        and rax, -PASS
        lea r9, [rcx - 1]
        shr r9, 4
        lea r9, [r9 + r10 + 1]
        shl r10d, 4
        add r10, r11
        vmovq xv0, r9
        vpaddq xv0, xv0, xv12
        add r9, rax
        jc .Lctr_carry0_\set
.Lctr_carried0_\set:
        vpshufb xv0, xv0, [rip + .Lctr_swap]
        vmovdqu [r8], xv0
        mov r8, r10
.endm

/* The counters of the listed registers, round key 0 included. */
.macro ctr_counters registers:vararg
        .set .Lat, 0
        .irp r, \registers
        .if EVEX
        vload \r, [r8 + .Lat]
        vpternlogq \r, v9, v8, 0x6a
        .else
        vand \r, v9, [r8 + .Lat]
        vxor \r, \r, v8
        .endif
        .set .Lat, .Lat + VL
        .endr
.endm

/* Encrypt the counters in the listed registers, and with them the data, which enters with the last round key. */
.macro ctr_crypt registers:vararg
        aes_rounds_but_last enc, r9, r10, \registers
        .set .Lat, 0
        .irp r, \registers
        vxor data, last_key, [rsi + .Lat]
        aes_last enc, data, \r
        vstore [rdx + .Lat], \r
        .set .Lat, .Lat + VL
        .endr
        add rsi, .Lat
        add rdx, .Lat
.endm

/* Less than a pass: as many registers as are listed. */
.macro ctr_part registers:vararg
        ctr_counters \registers
        add r8, .Lat
        ctr_crypt \registers
.endm

/* xv0 = the keystream of a message of one block: that of the counter block at [r8], to which 1 is added there. */
.macro ctr_block set
        vmovdqu xv1, [r8]
        vpshufb xv0, xv1, [rip + .Lctr_swap]
        vpaddq xv0, xv0, [rip + .Lctr_one]
        mov rax, [r8 + 8]
        bswap rax
        add rax, 1
        jc .Lctr_carry3_\set
.Lctr_carried3_\set:
        vpshufb xv0, xv0, [rip + .Lctr_swap]
        vmovdqu [r8], xv0
        schedule enc, rdi, rdi, r9, r10
        vmovdqa xv0, xv1
        aes_block enc, xv0, rdi, r9, r10
.endm

/* The last rcx bytes, fewer than a register holds, with the keystream in v0. With EVEX masked: nothing beyond them is
   touched. Else a block if there is one, then 8, 4, 2 and 1 bytes as the bits of rcx say. */
.macro ctr_tail
        .if EVEX
        mask_bytes k1, rcx, rax
        vmovdqu8 v1{k1}{z}, [rsi]
        vxor v0, v0, v1
        vmovdqu8 [rdx]{k1}, v0
        .else
        .if VL == 32
        test cl, 16
        jz 1f
        vpxor xv1, xv0, [rsi]
        vmovdqu [rdx], xv1
        vextracti128 xv0, v0, 1
        add rsi, 16
        add rdx, 16
1:
        .endif
        vmovq rax, xv0
        test cl, 8
        jz 1f
        xor rax, [rsi]
        mov [rdx], rax
        vpextrq rax, xv0, 1
        add rsi, 8
        add rdx, 8
1:
        ctr_tail_piece 4, r11d, eax
        ctr_tail_piece 2, r11w, ax
        ctr_tail_piece 1, r11b, al
        .endif
.endm

.macro ctr_tail_piece bytes, data, keystream
        test cl, \bytes
        jz 1f
        mov \data, [rsi]
        xor \data, \keystream
        mov [rdx], \data
        .if \bytes > 1
        shr rax, 8 * \bytes
        add rsi, \bytes
        add rdx, \bytes
        .endif
1:
.endm

.macro ctr set, vl, evex
        lanes \vl, \evex
        name_keys
        .set data, v13
        .set PASS, 8 * LANES
        ctr_table \set

function ctr_crypt_\set
        test rcx, rcx
        jz 7f
        cmp rcx, 16
        jbe .Lctr_block_\set
        ctr_begin \set
        schedule enc, rdi, rdi, r9, r10
        hold_keys rdi, r9, r10
        first_key rdi
        vxor v8, v8, key0
        ctr_carry \set, 1

        sub rcx, 8 * VL
        jb 2f
1:
        ctr_counters v0, v1, v2, v3, v4, v5, v6, v7
        vcopy v8, v11
        ctr_carry \set, 2
        ctr_crypt v0, v1, v2, v3, v4, v5, v6, v7
        sub rcx, 8 * VL
        jae 1b
2:      /* Fewer than 8 registers are left, and the low bits of rcx still say how many. */
        test ecx, 4 * VL
        jz 3f
        ctr_part v0, v1, v2, v3
3:
        test ecx, 2 * VL
        jz 4f
        ctr_part v0, v1
4:
        test ecx, VL
        jz 5f
        ctr_part v0
5:
        and ecx, VL - 1
        jz 6f
        ctr_counters v0
        aes_rounds enc, r9, r10, v0
.Lctr_tail_\set:
        ctr_tail
6:
        leave_lanes
7:
        ret

.Lctr_block_\set:
        ctr_block \set
        cmp ecx, 16
        jb .Lctr_tail_\set
        vpxor xv0, xv0, [rsi]
        vmovdqu [rdx], xv0
        leave_lanes

        ctr_carry_high \set, 0, xv0
        ctr_carry_high \set, 1, v12
        ctr_carry_high \set, 2, v12
        ctr_carry_high \set, 3, xv0
end_function ctr_crypt_\set
.endm

ctr aesni_avx, 16, 0
ctr vaes_avx2, 32, 0
ctr vaes_avx512_256, 32, 1
ctr vaes_avx512_512, 64, 1
