/*
 * ECB (SP 800-38A, 6.1): C_j = E(K, P_j) and P_j = D(K, C_j), each block by itself. One template for both directions.
 *
 *   rdi       first round key of the direction (on entry the aes_key)
 *   rsi, rdx  source and destination; may be equal, for every pass loads its blocks before it stores any
 *   rcx       bytes left
 *   r9        last round key
 *   r10       key length in bytes
 *   v0 - v7   blocks in flight
 *   key0 ...  round keys: held in v17 to v31 with EVEX, else spread from memory into v15
 *
 * Clobbers rax, rcx, rdx, rsi, rdi, r9, r10, k1, the registers above and the flags.
 */

#include "lanes.inc"

/* One pass over as many registers as are listed. */
.macro ecb_pass direction, registers:vararg
        first_key rdi
        .set .Lat, 0
        .irp r, \registers
        vxor \r, key0, [rsi + .Lat]
        .set .Lat, .Lat + VL
        .endr
        aes_rounds \direction, r9, r10, \registers
        .set .Lat, 0
        .irp r, \registers
        vstore [rdx + .Lat], \r
        .set .Lat, .Lat + VL
        .endr
        add rsi, .Lat
        add rdx, .Lat
.endm

/* The blocks that fill no register: one with ymm; up to three, under a mask, with zmm. */
.macro ecb_remainder direction
        .if EVEX
        mask_bytes k1, rcx, rax
        vmovdqu8 v0{k1}{z}, [rsi]
        vxor v0, v0, key0
        aes_rounds \direction, r9, r10, v0
        vmovdqu8 [rdx]{k1}, v0
        .else
        vmovdqu xv0, [rsi]
        aes_block \direction, xv0, rdi, r9, r10
        vmovdqu [rdx], xv0
        .endif
.endm

.macro ecb name, direction, vl, evex
        lanes \vl, \evex
        name_keys

function \name
        schedule \direction, rdi, rdi, r9, r10
        hold_keys rdi, r9, r10
        sub rcx, 8 * VL
        jb 2f
1:
        ecb_pass \direction, v0, v1, v2, v3, v4, v5, v6, v7
        sub rcx, 8 * VL
        jae 1b
2:      /* Fewer than 8 registers are left, and the low bits of rcx still say how many. */
        test ecx, 4 * VL
        jz 3f
        ecb_pass \direction, v0, v1, v2, v3
3:
        test ecx, 2 * VL
        jz 4f
        ecb_pass \direction, v0, v1
4:
        test ecx, VL
        jz 5f
        ecb_pass \direction, v0
5:
        .if VL > 16
        and ecx, VL - 16
        jz 6f
        ecb_remainder \direction
6:
        .endif
        leave_lanes
end_function \name
.endm

ecb ecb_encrypt_aesni_avx, enc, 16, 0
ecb ecb_decrypt_aesni_avx, dec, 16, 0
ecb ecb_encrypt_vaes_avx2, enc, 32, 0
ecb ecb_decrypt_vaes_avx2, dec, 32, 0
ecb ecb_encrypt_vaes_avx512_256, enc, 32, 1
ecb ecb_decrypt_vaes_avx512_256, dec, 32, 1
ecb ecb_encrypt_vaes_avx512_512, enc, 64, 1
ecb ecb_decrypt_vaes_avx512_512, dec, 64, 1
