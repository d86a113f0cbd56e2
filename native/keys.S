/*
 * The AES key schedule (FIPS 197, 5.2) for 128, 192 and 256-bit keys, and the round keys of the equivalent inverse
 * cipher (FIPS 197, 5.3.5), by AESKEYGENASSIST and AESIMC.
 *
 *   rdi         the schedule: encryption at 0, decryption at 240, the key length in bytes at 480
 *   rsi         the key, of which exactly edx bytes are read
 *   edx         the key length in bytes: 16, 24 or 32, which the caller has checked
 *   rcx         offset of the last encryption round key: 160, 192 or 224
 *   xmm0        w[i] ... w[i+3], the words being extended
 *   xmm1        w[i+4] and on: two words of a 192-bit key, four of a 256-bit key
 *   xmm2, xmm3  scratch
 *
 * Legacy encodings: this part of the core needs AES-NI alone. Clobbers rax, rcx, r8, xmm0 to xmm3 and the flags; the
 * registers that held key material are zero on return. Branches and addresses depend on the key's length, not the key.
 */

#include "lanes.inc"

#define DECRYPT 240
#define LENGTH 480

/* words = the running XOR of its dwords from the low end, XOR the dword spread in xmm2: w[i] = w[i-Nk] ^ w[i-1] for a
   whole group at once. */
.macro extend words
        .irp bytes, 4, 8
        movdqa xmm3, \words
        pslldq xmm3, \bytes
        pxor \words, xmm3
        .endr
        pxor \words, xmm2
.endm

/* Extend words by dword `lane` of AESKEYGENASSIST of `last`, which gives SubWord(X1), RotWord(SubWord(X1)) ^ rcon,
   SubWord(X3), RotWord(SubWord(X3)) ^ rcon, low dword first. */
.macro generate words, last, lane, rcon
        aeskeygenassist xmm2, \last, \rcon
        pshufd xmm2, xmm2, 0x55 * \lane
        extend \words
.endm

.macro step_128 offset, rcon
        generate xmm0, xmm0, 3, \rcon
        movdqu [rdi + \offset], xmm0
.endm

/* Six words a step. w[i+4] and w[i+5] continue the group of w[i+3], with no SubWord between. */
.macro step_192 offset, rcon
        generate xmm0, xmm1, 1, \rcon
        movdqu [rdi + \offset], xmm0
        pshufd xmm2, xmm0, 0xff
        extend xmm1
        movq [rdi + \offset + 16], xmm1
.endm

/* Eight words a step; the second four begin with SubWord alone (Nk > 6 in FIPS 197). */
.macro step_256 offset, rcon
        generate xmm0, xmm1, 3, \rcon
        movdqu [rdi + \offset], xmm0
        generate xmm1, xmm0, 2, 0
        movdqu [rdi + \offset + 16], xmm1
.endm

function keys_expand_aesni
        movdqu xmm0, [rsi]
        movdqu [rdi], xmm0
        /* Round keys that a shorter key does not reach are zero, so equal keys give equal schedules. */
        pxor xmm2, xmm2
        .irp offset, 176, 192, 208, 224
        movdqu [rdi + \offset], xmm2
        movdqu [rdi + DECRYPT + \offset], xmm2
        .endr
        movd xmm2, edx
        movdqu [rdi + LENGTH], xmm2
        lea ecx, [4 * rdx + 96]
        cmp edx, 24
        je .Lkeys_192
        ja .Lkeys_256

        step_128 16, 0x01
        step_128 32, 0x02
        step_128 48, 0x04
        step_128 64, 0x08
        step_128 80, 0x10
        step_128 96, 0x20
        step_128 112, 0x40
        step_128 128, 0x80
        step_128 144, 0x1b
        step_128 160, 0x36
        jmp .Lkeys_inverse

.Lkeys_192:
        movq xmm1, [rsi + 16]
        movq [rdi + 16], xmm1
        step_192 24, 0x01
        step_192 48, 0x02
        step_192 72, 0x04
        step_192 96, 0x08
        step_192 120, 0x10
        step_192 144, 0x20
        step_192 168, 0x40
        generate xmm0, xmm1, 1, 0x80
        movdqu [rdi + 192], xmm0
        jmp .Lkeys_inverse

.Lkeys_256:
        movdqu xmm1, [rsi + 16]
        movdqu [rdi + 16], xmm1
        step_256 32, 0x01
        step_256 64, 0x02
        step_256 96, 0x04
        step_256 128, 0x08
        step_256 160, 0x10
        step_256 192, 0x20
        generate xmm0, xmm1, 3, 0x40
        movdqu [rdi + 224], xmm0

.Lkeys_inverse:
        /* The same keys in reverse order, InvMixColumns applied to all but the first and the last. */
        movdqu xmm0, [rdi]
        movdqu [rdi + rcx + DECRYPT], xmm0
        movdqu xmm0, [rdi + rcx]
        movdqu [rdi + DECRYPT], xmm0
        lea r8, [rdi + DECRYPT + 16]
        lea rax, [rdi + rcx - 16]
1:
        movdqu xmm0, [rax]
        aesimc xmm0, xmm0
        movdqu [r8], xmm0
        add r8, 16
        sub rax, 16
        cmp rax, rdi
        jne 1b

        .irp used, xmm0, xmm1, xmm2, xmm3
        pxor \used, \used
        .endr
        ret
end_function keys_expand_aesni
