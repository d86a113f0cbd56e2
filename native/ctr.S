/*
 * CTR (SP 800-38A, 6.5) with a 128-bit big-endian counter block: C_j = P_j ^ E(K, counter + j).
 *
 *   rdi       first round key (on entry the aes_key)
 *   rsi, rdx  source and destination; may be equal
 *   rcx       bytes left
 *   r8        the counter block: read, then at once replaced by the one that follows this message
 *   r9, r10   last round key; key length in bytes
 *   rax, r11  scratch
 *   v0 - v7   counter blocks, then keystream, then output
 *   v8        next counters, one a lane, each a little-endian 128-bit integer
 *   v9        per lane: zero below, the counter's low quadword above (without EVEX less 2^63), to foresee carries
 *   v10       byte shuffle that reverses a lane
 *   v11       EVEX: all ones, which is -1; else scratch
 *   v12       without EVEX: 2^63 in each high quadword
 *   key0 ...  round keys: held in v17 to v31 with EVEX, else spread from memory into v15
 *
 * A quadword add drops its carry. Adding n to a low quadword x carries where x > 2^64 - 1 - n, so one compare of v9 with
 * a constant gives -1 exactly in the high quadwords that must grow by one, and a subtraction adds the carry: no branch,
 * whatever the counter. VPCMPGTQ compares signed numbers, hence the 2^63.
 *
 * Clobbers rax, rcx, rdx, rsi, r9 to r11, k1, the registers above and the flags.
 */

#include "lanes.inc"

        .section .rodata
        .p2align 4
.Lctr_reverse:
        .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
.Lctr_half:
        .quad 0, 1 << 63
        .text

/* Entry 0 numbers the lanes, entry i counts i registers. Each holds what to add to a lane's low quadword and, above it,
   the largest low quadword that takes it without a carry. The low quadwords of the latter never meet a larger one. */
.macro ctr_table set
        .section .rodata
        .p2align 6
.Lctr_table_\set:
        ctr_entry 0, 1
        .irp index, 1, 2, 3, 4, 5, 6, 7, 8
        ctr_entry "\index * LANES", 0
        .endr
        .text
.endm

.macro ctr_entry first:req, step:req
        .set .Llane, 0
        .rept LANES
        .quad \first + .Llane * \step, 0
        .set .Llane, .Llane + 1
        .endr
        .set .Llane, 0
        .rept LANES
        .quad 0, CTR_HIGHEST - (\first + .Llane * \step)
        .set .Llane, .Llane + 1
        .endr
.endm

/* v9 from v8. */
.macro ctr_foresee
        vpslldq v9, v8, 8
        .if !EVEX
        vpxor v9, v9, v12
        .endif
.endm

/* register = v8 + entry `index`, carry and all. */
.macro ctr_add set, register, index
        vpaddq \register, v8, [rip + .Lctr_table_\set + 2 * VL * \index]
        .if EVEX
        vpcmpnleuq k1, v9, [rip + .Lctr_table_\set + 2 * VL * \index + VL]
        vpsubq \register{k1}, \register, v11
        .else
        vpcmpgtq v11, v9, [rip + .Lctr_table_\set + 2 * VL * \index + VL]
        vpsubq \register, \register, v11
        .endif
.endm

/* The next keystream into the registers; v8 moves on. */
.macro ctr_keystream set, registers:vararg
        first_key rdi
        ctr_foresee
        .set .Lat, 0
        .irp r, \registers
        .if .Lat
        ctr_add \set, \r, .Lat
        vpshufb \r, \r, v10
        .else
        vpshufb \r, v8, v10
        .endif
        vxor \r, \r, key0
        .set .Lat, .Lat + 1
        .endr
        ctr_add \set, v8, .Lat
        aes_rounds enc, r9, r10, \registers
.endm

/* One pass over as many registers as are listed. */
.macro ctr_pass set, registers:vararg
        ctr_keystream \set, \registers
        .set .Lat, 0
        .irp r, \registers
        vxor \r, \r, [rsi + .Lat]
        vstore [rdx + .Lat], \r
        .set .Lat, .Lat + VL
        .endr
        add rsi, .Lat
        add rdx, .Lat
.endm

/* The last rcx bytes, fewer than a register holds, with the keystream in v0. With EVEX masked: nothing beyond them is
   touched. Else a block if there is one, then 8, 4, 2 and 1 bytes as the bits of rcx say. */
.macro ctr_tail
        .if EVEX
        mask_bytes k1, rcx, rax
        vmovdqu8 v1{k1}{z}, [rsi]
        vpxorq v0, v0, v1
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

/* The counter block at [r8] advanced by rcx bytes, rounded up to blocks. */
.macro ctr_write_back
        lea rax, [rcx - 1]
        shr rax, 4
        mov r11, [r8 + 8]
        bswap r11
        add rax, 1
        add r11, rax
        mov rax, [r8]
        bswap rax
        adc rax, 0
        bswap rax
        bswap r11
        mov [r8], rax
        mov [r8 + 8], r11
.endm

.macro ctr set, vl, evex
        lanes \vl, \evex
        name_keys
        .set CTR_HIGHEST, ((1 << 63) - 1) | (EVEX << 63)
        ctr_table \set

function ctr_crypt_\set
        test rcx, rcx
        jz 7f
        schedule enc, rdi, rdi, r9, r10
        hold_keys rdi, r9, r10
        vspread v10, [rip + .Lctr_reverse]
        .if EVEX
        vpternlogq v11, v11, v11, 0xff
        .else
        vspread v12, [rip + .Lctr_half]
        .endif
        vspread v8, [r8]
        vpshufb v8, v8, v10
        .if VL > 16
        ctr_foresee
        ctr_add \set, v8, 0
        .endif
        ctr_write_back

        sub rcx, 8 * VL
        jb 2f
1:
        ctr_pass \set, v0, v1, v2, v3, v4, v5, v6, v7
        sub rcx, 8 * VL
        jae 1b
2:      /* Fewer than 8 registers are left, and the low bits of rcx still say how many. */
        test ecx, 4 * VL
        jz 3f
        ctr_pass \set, v0, v1, v2, v3
3:
        test ecx, 2 * VL
        jz 4f
        ctr_pass \set, v0, v1
4:
        test ecx, VL
        jz 5f
        ctr_pass \set, v0
5:
        and ecx, VL - 1
        jz 6f
        ctr_keystream \set, v0
        ctr_tail
6:
        leave_lanes
7:
        ret
end_function ctr_crypt_\set
.endm

ctr aesni_avx, 16, 0
ctr vaes_avx2, 32, 0
ctr vaes_avx512_256, 32, 1
ctr vaes_avx512_512, 64, 1
