/*
 * AES-XTS (IEEE 1619-2018, clause 5): one template for both directions and every register width.
 *
 *   void xts_{encrypt,decrypt}_SET(const struct xts_key *key, const uint8_t *source, uint8_t *destination,
 *                                  size_t length, uint8_t tweak[16], uint32_t flags);
 *
 * Any length from 16 bytes (a shorter one returns at once); in place or not overlapping. Flags: 1, the tweak argument
 * is the IV, to be encrypted under the tweak key first; 2, the tweak after the last whole block is written back.
 *
 * Shape. A main loop; a remainder, once, with as many registers as it needs, the last of them perhaps part full; then
 * the tail, by ciphertext stealing. Where there is a tail, the main loop leaves a whole block for the remainder at
 * least: the last one, to which decryption gives the tweak after its own. The tweak and the last
 * round key are both XORed to the result of the last SubBytes, so the last round takes their XOR as its key, off the
 * critical path. xts_vex.inc and xts_evex.inc have what differs with 16 and 32 registers: where tweaks are kept and how
 * a pass comes by the next ones.
 *
 *   rdi  the key; then the first round key of the data key      rsi  source, moves on
 *   rdx  destination, moves on                                  rcx  bytes left; with a tail 16 less, up to the remainder
 *   r8   the tweak argument; 0 where it is not to be written    r9   flags; then scratch, or a set of tweaks
 *   r10  the last round key of the data key                     r11  scratch, or a set of tweaks
 *   rax  key length in bytes
 *
 *   data0 ...   blocks in flight                                work     the round key in use where none is held
 *   tweak0 ...  tweaks; the next one between passes in xtweak0  spare    scratch
 *
 * Clobbers these registers, the flags and, with EVEX, k1 and k2; EVEX needs no stack, VEX keeps rbx, rbp and r12 there.
 * Branches and addresses depend on the key length, the length, the pointers and the flags alone.
 */

#include "lanes.inc"
#include "stack.inc"
#include "xts_tweak.inc"

/* The middle rounds of a remainder: straight for few registers, as a loop for many, which clobbers `offset`. */
.macro remainder_rounds count, direction, offset
        .if \count <= 4
        with_data \count, aes_middle \direction, r10, rax, work
        .else
        with_data \count, aes_middle_loop \direction, rdi, r10, \offset, work
        .endif
.endm

#include "xts_vex.inc"
#include "xts_evex.inc"

        .section .rodata
/* The 16 shuffle indices from 16 + k on shift k bytes down, those from 16 - k on k bytes up; 0x80 gives zeros. */
.Lpermute:
        .fill 16, 1, 0x80
        .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .fill 16, 1, 0x80
        .text

/*
 * xdata0 is the last whole block's result. The first rcx bytes of it go behind the block at [rdx]; the tail behind
 * [rsi], filled up with its other bytes, becomes xdata1.
 */
.macro steal
        .if EVEX
        mov r11d, -1
        bzhi r11d, r11d, ecx
        kmovd k1, r11d
        vmovdqa xdata1, xdata0
        vmovdqu8 xdata1{k1}, [rsi + 16]
        vmovdqu8 [rdx + 16]{k1}, xdata0
        .else
        lea r11, [rip + .Lpermute]
        vmovdqu xdata1, [rsi + rcx]
        vpshufb xdata2, xdata0, [r11 + rcx]
        vmovdqu [rdx + rcx], xdata2
        neg rcx
        vmovdqu xdata2, [r11 + rcx + 32]
        vpshufb xdata1, xdata1, xdata2
        vpblendvb xdata1, xdata1, xdata0, xdata2
        .endif
.endm

.macro block direction, x, tweak
        vxor \x, \x, [rdi]
        vxor \x, \x, \tweak
        aes_block_middle \direction, \x, r10, rax
        vxor xspare, \tweak, [r10]
        aes_last \direction, xspare, \x
.endm

.macro xts name, direction, vl, evex
        lanes \vl, \evex
        .if EVEX
        registers_evex
        .else
        registers_vex
        .endif

function \name
        cmp rcx, 16
        jb .L\name\()_return

        vmovdqu xtweak0, [r8]
        test r9d, 1
        jz .L\name\()_encrypted
        schedule enc, rdi, r10, r11, rax
        aes_block enc, xtweak0, r10, r11, rax
.L\name\()_encrypted:
        test r9d, 2
        jnz .L\name\()_update
        xor r8d, r8d
.L\name\()_update:
        schedule \direction, rdi + 496, rdi, r10, rax
        test ecx, 15
        jz .L\name\()_no_tail
        sub rcx, 16
.L\name\()_no_tail:

        cmp rcx, 16
        jb .L\name\()_one_and_tail
        je .L\name\()_one
        .if EVEX
        blocks_evex \direction, \name
        .else
        blocks_vex \direction, \name
        .endif

.L\name\()_steal:
        and ecx, 15
        jz .L\name\()_write_back
        steal
        block \direction, xdata1, xtweak0
        vmovdqu [rdx], xdata1
        .ifc \direction, dec
        double xtweak0, xtweak0, xspare
        .endif
.L\name\()_write_back:
        test r8, r8
        jz .L\name\()_return
        vmovdqu [r8], xtweak0
.L\name\()_return:
        leave_lanes

.L\name\()_one:
        vmovdqu xdata0, [rsi]
        block \direction, xdata0, xtweak0
        vmovdqu [rdx], xdata0
        test r8, r8
        jz .L\name\()_return
        double xtweak0, xtweak0, xspare
        jmp .L\name\()_write_back

.L\name\()_one_and_tail:
        vmovdqu xdata0, [rsi]
        double xtweak1, xtweak0, xspare
        .ifc \direction, enc
        block enc, xdata0, xtweak0
        vmovdqa xtweak0, xtweak1
        .else
        block dec, xdata0, xtweak1
        .endif
        jmp .L\name\()_steal
end_function \name
.endm

xts xts_encrypt_aesni_avx, enc, 16, 0
xts xts_decrypt_aesni_avx, dec, 16, 0
xts xts_encrypt_vaes_avx2, enc, 32, 0
xts xts_decrypt_vaes_avx2, dec, 32, 0
xts xts_encrypt_vaes_avx512_256, enc, 32, 1
xts xts_decrypt_vaes_avx512_256, dec, 32, 1
xts xts_encrypt_vaes_avx512_512, enc, 64, 1
xts xts_decrypt_vaes_avx512_512, dec, 64, 1
