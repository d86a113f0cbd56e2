/*
 * CBC (SP 800-38A, 6.2) and CBC with ciphertext stealing (its addendum): CS1, CS2 and CS3.
 *
 *   rdi       first round key of the direction (on entry the aes_key)
 *   rsi, rdx  source and destination; may be equal, for every pass loads all that it needs before it stores
 *   rcx       bytes left
 *   r8        the IV; on return C_n, the last ciphertext block that was computed or read
 *   r9d       stealing: 1, 2 or 3
 *   r10, r11  key length in bytes; last round key
 *   rax       stealing: bytes of the last block, 1 to 16; scratch
 *   v0 - v7   blocks in flight
 *   v8        decryption: the ciphertext before them, of which the top lane counts
 *   v9        scratch
 *   xmm10     decryption: C_n
 *   key0 ...  round keys: held in v17 to v31 with EVEX, else spread from memory into v15
 *
 * Clobbers rax, rcx, rdx, rsi, rdi, r10, r11, k1, the registers above and the flags.
 */

#include "lanes.inc"

        .section .rodata
        .p2align 4
/* Read at r it moves a block's first r bytes to its end, read at 32 - r the last r bytes to its beginning. 0x80 makes a
   byte shuffle write zero, and a blend take its second source. */
.Lcts_permute:
        .fill 16, 1, 0x80
        .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .fill 16, 1, 0x80
        .text

.macro subroutine name
        .type \name, @function
        .p2align 6
\name:
        .cfi_startproc
.endm

/* Encryption is one chain: each block waits for the one before. So that it waits for AES alone, the next block enters
   with the last round key, L, and leaves again off the chain: the last round gives C_j ^ P_j+1 ^ K_0, the next block's
   first state, when its key is L ^ K_0 ^ P_j+1.

   xmm0  C_0, the IV, on entry; the state; C_n on return
   xmm1  P_j+1 ^ K_0
   xmm2  scratch
   xmm3  K_0
   xmm4  L ^ K_0 */
.macro cbc_encrypt_blocks
        lanes 16, 0

subroutine cbc_encrypt_blocks
        test rcx, rcx
        jz 3f
        vmovdqu xmm3, [rdi]
        vpxor xmm4, xmm3, [r11]
        vpxor xmm1, xmm3, [rsi]
        vpxor xmm0, xmm0, xmm1
        .p2align 5
1:
        add rsi, 16
        aes_block_middle enc, xmm0, r11, r10
        sub rcx, 16
        jz 2f
        vpxor xmm1, xmm3, [rsi]
        vpxor xmm2, xmm4, [rsi]
        vaesenclast xmm0, xmm0, xmm2
        vpxor xmm2, xmm0, xmm1
        vmovdqu [rdx], xmm2
        add rdx, 16
        jmp 1b
2:
        vaesenclast xmm0, xmm0, [r11]
        vmovdqu [rdx], xmm0
        add rdx, 16
3:
        ret
end_function cbc_encrypt_blocks
.endm

/* v8 = the blocks that precede those of `blocks`, when v8 holds what precedes these. */
.macro cbc_precede blocks
        .if EVEX
        valignq v8, \blocks, v8, 2 * LANES - 2
        .elseif VL == 32
        vperm2i128 v8, v8, \blocks, 0x21
        .endif
.endm

/* One pass over as many registers as are listed. */
.macro cbc_decrypt_pass registers:vararg
        first_key rdi
        .set .Lat, 0
        .irp r, \registers
        vxor \r, key0, [rsi + .Lat]
        .set .Lat, .Lat + VL
        .endr
        aes_rounds dec, r11, r10, \registers
        vload v9, [rsi]
        cbc_precede v9
        .set .Lat, 0
        .irp r, \registers
        .if .Lat
        vxor \r, \r, [rsi + .Lat - 16]
        .else
        vxor \r, \r, v8
        .endif
        .set .Lat, .Lat + VL
        .endr
        vload v8, [rsi + .Lat - VL]
        .set .Lat, 0
        .irp r, \registers
        vstore [rdx + .Lat], \r
        .set .Lat, .Lat + VL
        .endr
        add rsi, .Lat
        add rdx, .Lat
.endm

/* The blocks that fill no register: one with ymm; up to three, under a mask, with zmm. */
.macro cbc_decrypt_remainder
        .if EVEX
        mask_bytes k1, rcx, rax
        vmovdqu8 v9{k1}{z}, [rsi]
        vxor v0, v9, key0
        aes_rounds dec, r11, r10, v0
        cbc_precede v9
        vxor v0, v0, v8
        vmovdqu8 [rdx]{k1}, v0
        .else
        vextracti128 xv8, v8, 1
        vmovdqu xv0, [rsi]
        aes_block dec, xv0, rdi, r11, r10
        vpxor xv0, xv0, xv8
        vmovdqu [rdx], xv0
        .endif
.endm

/* Plain CBC over rcx bytes of whole blocks, perhaps none; xmm8: the block before them, then their last. */
.macro cbc_decrypt_blocks set

subroutine cbc_decrypt_blocks_\set
        test rcx, rcx
        jz 7f
        vspread_low v8, v8
        vmovdqu xv10, [rsi + rcx - 16]
        sub rcx, 8 * VL
        jb 2f
1:
        cbc_decrypt_pass v0, v1, v2, v3, v4, v5, v6, v7
        sub rcx, 8 * VL
        jae 1b
2:      /* Fewer than 8 registers are left, and the low bits of rcx still say how many. */
        test ecx, 4 * VL
        jz 3f
        cbc_decrypt_pass v0, v1, v2, v3
3:
        test ecx, 2 * VL
        jz 4f
        cbc_decrypt_pass v0, v1
4:
        test ecx, VL
        jz 5f
        cbc_decrypt_pass v0
5:
        .if VL > 16
        and ecx, VL - 1
        jz 6f
        cbc_decrypt_remainder
6:
        .endif
        vmovdqa xv8, xv10
7:
        ret
end_function cbc_decrypt_blocks_\set
.endm

/* Whole blocks only. The entry behind the label is where stealing goes when there is nothing to steal. */
.macro cbc name, direction, blocks, chain, vl, evex
        lanes \vl, \evex
        name_keys

function \name
.L\name:
        schedule \direction, rdi, rdi, r11, r10
        .ifc \direction, dec
        hold_keys rdi, r11, r10
        .endif
        vmovdqu \chain, [r8]
        and rcx, -16
        call \blocks
        vmovdqu [r8], \chain
        leave_lanes
end_function \name
.endm

/* rax = the bytes of the last block, rcx = those of the plain part, all but the last two blocks. */
.macro cts_split
        lea eax, [rcx - 1]
        and eax, 15
        inc eax
        sub rcx, 16
        sub rcx, rax
.endm

/* Then rcx and rax serve for the permute table: [rcx + 32] moves the last bytes to the front, [rcx + 2 * rax] the
   first bytes to the end. */
.macro cts_table
        lea rcx, [rip + .Lcts_permute]
        sub rcx, rax
.endm

/* Go to `label` unless the last two ciphertext blocks change places: CS1 never does, CS2 only with a partial block. */
.macro cts_in_order label
        cmp r9d, 2
        jb \label
        ja .Lswapped_\@
        cmp eax, 16
        je \label
.Lswapped_\@:
.endm

/* xmm5  C_n-1, of which rax bytes are kept */
.macro cts_encrypt set
        lanes 16, 0

function cts_encrypt_\set
        cmp rcx, 16
        jbe 3f
        schedule enc, rdi, rdi, r11, r10
        vmovdqu xmm0, [r8]
        cts_split
        call cbc_encrypt_blocks
        vpxor xmm0, xmm0, [rsi]
        vmovdqu xmm1, [rsi + rax]
        aes_block enc, xmm0, rdi, r11, r10
        vmovdqa xmm5, xmm0
        cts_table
        vpshufb xmm1, xmm1, [rcx + 32]
        vpxor xmm0, xmm0, xmm1
        aes_block enc, xmm0, rdi, r11, r10
        vmovdqu [r8], xmm0
        vpshufb xmm1, xmm5, [rcx + 2 * rax]
        cts_in_order 1f
        vmovdqu [rdx + rax], xmm1
        vmovdqu [rdx], xmm0
        jmp 2f
1:
        vmovdqu [rdx], xmm5
        vmovdqu [rdx + rax], xmm0
2:
        leave_lanes
3:
        je .Lcbc_encrypt_\set
        ret
end_function cts_encrypt_\set
.endm

/* The last two blocks come first: each of their decryptions waits for the one before, but neither holds up the others.

   xmm1  the shuffle of the last bytes to the front, whose 0x80 mark the bytes that C_n-1 lacks
   xmm2  C_n
   xmm3  C_n-1: the bytes that were kept, then the others out of D(C_n)
   xmm4  P_n
   xmm5  C_n-2, or the IV
   xmm8  the IV */
.macro cts_decrypt set, vl, evex
        lanes \vl, \evex
        name_keys

function cts_decrypt_\set
        cmp rcx, 16
        jbe 4f
        schedule dec, rdi, rdi, r11, r10
        hold_keys rdi, r11, r10
        cts_split
        vmovdqu xv8, [r8]
        vmovdqa xv5, xv8
        add rsi, rcx
        add rdx, rcx
        test rcx, rcx
        jz 1f
        vmovdqu xv5, [rsi - 16]
1:
        push rcx
        .cfi_adjust_cfa_offset 8
        cts_table
        vmovdqu xv1, [rcx + 32]
        cts_in_order 2f
        vmovdqu xv2, [rsi]
        vmovdqu xv3, [rsi + rax]
        vpshufb xv3, xv3, xv1
        jmp 3f
2:
        vmovdqu xv3, [rsi]
        vmovdqu xv2, [rsi + rax]
3:
        vmovdqu [r8], xv2
        vmovdqa xv0, xv2
        aes_block dec, xv0, rdi, r11, r10
        vpxor xv4, xv0, xv3
        vpshufb xv4, xv4, [rcx + 2 * rax]
        vpblendvb xv0, xv3, xv0, xv1
        aes_block dec, xv0, rdi, r11, r10
        vpxor xv0, xv0, xv5
        /* The partial block first: the whole one then covers what precedes it in its 16 bytes. */
        vmovdqu [rdx + rax], xv4
        vmovdqu [rdx], xv0
        pop rcx
        .cfi_adjust_cfa_offset -8
        sub rsi, rcx
        sub rdx, rcx
        call cbc_decrypt_blocks_\set
        leave_lanes
4:
        je .Lcbc_decrypt_\set
        ret
end_function cts_decrypt_\set
.endm

.macro decrypt set, vl, evex
        cbc cbc_decrypt_\set, dec, cbc_decrypt_blocks_\set, xv8, \vl, \evex
        cts_decrypt \set, \vl, \evex
        cbc_decrypt_blocks \set
.endm

cbc cbc_encrypt_aesni_avx, enc, cbc_encrypt_blocks, xmm0, 16, 0
cts_encrypt aesni_avx
cbc_encrypt_blocks

decrypt aesni_avx, 16, 0
decrypt vaes_avx2, 32, 0
decrypt vaes_avx512_256, 32, 1
decrypt vaes_avx512_512, 64, 1
