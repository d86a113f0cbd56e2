/*
 * CTR (SP 800-38A, 6.5) with a 128-bit big-endian counter block: C_j = P_j ^ E(K, counter + j).
 *
 *   rdi       first round key (on entry the aes_key)
 *   rsi, rdx  source and destination; may be equal
 *   rcx       bytes left
 *   r8        on entry the counter block, at once replaced by the one that follows this message; then the place in
 *             the table from which the next register's counters are made
 *   r9, r10   last round key; key length in bytes
 *   r11:rax   the upper part of v11 as a 128-bit integer; scratch in the tail
 *   v0 - v7   counter blocks, then keystream, then output
 *   v8, v11   two successive upper parts ^ round key 0, in every lane
 *   v9        the bits in which a counter of the later upper part may differ from v8
 *   v10       the bits of the lower part
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
 * and the one carry over 128 bits, from u to u + 1, is ADD and ADC once a pass. Where the table is read depends on the
 * counter, which is public, never on the key or the data.
 *
 * A message of one block needs none of this: its counter block is the input, and its call a third shorter.
 *
 * Clobbers rax, rcx, rdx, rsi, r8 to r11, k1, the registers above and the flags.
 */

#include "lanes.inc"

.macro ctr_table set
        .section .rodata
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
        .text
.endm

/* Put the counter that follows rcx bytes, rounded up to blocks, at [r8]. One 16-byte store: the next call loads it so.
   r11:rax is the counter; clobbers r9, r10 and v0. */
.macro ctr_write_back
        lea r9, [rcx - 1]
        shr r9, 4
        inc r9
        mov r10, r11
        add r9, rax
        adc r10, 0
        bswap r9
        bswap r10
        vmovq xv0, r10
        vpinsrq xv0, xv0, r9, 1
        vmovdqu [r8], xv0
.endm

/* r11:rax and v11 to the next upper part, v9 for v8 and v11. */
.macro ctr_carry
        first_key rdi
        add rax, PASS
        adc r11, 0
        bswap r11
        vmovq xv11, r11
        bswap r11
        bswap rax
        vpinsrq xv11, xv11, rax, 1
        bswap rax
        vspread_low v11, v11
        vxor v11, v11, key0
        vxor v9, v8, v11
        vor v9, v9, v10
.endm

/* r11:rax = the counter block at [r8]. */
.macro ctr_load
        mov rax, [r8 + 8]
        bswap rax
        mov r11, [r8]
        bswap r11
.endm

/* v8 to v11, r11:rax and r8 for the counter block at [r8], which is written back. */
.macro ctr_begin set
        ctr_load
        vspread v8, [r8]
        ctr_write_back
        mov r8d, eax
        and r8d, PASS - 1
        and rax, -PASS
        shl r8d, 4
        lea r9, [rip + .Lctr_table_\set]
        add r8, r9
        /* The entry of the highest lower part has just the lower bits. */
        vspread v10, [r9 + 16 * (PASS - 1)]
        vand v11, v8, v10
        vxor v8, v8, v11
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

/* Encrypt the counters in the listed registers, and with them the data. */
.macro ctr_crypt registers:vararg
        aes_rounds enc, r9, r10, \registers
        .set .Lat, 0
        .irp r, \registers
        vxor \r, \r, [rsi + .Lat]
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
.macro ctr_block
        vmovdqu xv1, [r8]
        ctr_load
        ctr_write_back
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
        ctr_carry

        sub rcx, 8 * VL
        jb 2f
1:
        ctr_counters v0, v1, v2, v3, v4, v5, v6, v7
        vcopy v8, v11
        ctr_carry
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
        ctr_block
        cmp ecx, 16
        jb .Lctr_tail_\set
        vpxor xv0, xv0, [rsi]
        vmovdqu [rdx], xv0
        leave_lanes
end_function ctr_crypt_\set
.endm

ctr aesni_avx, 16, 0
ctr vaes_avx2, 32, 0
ctr vaes_avx512_256, 32, 1
ctr vaes_avx512_512, 64, 1
