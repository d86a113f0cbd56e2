/*
 * AES-XTS (IEEE 1619-2018, clause 5): one template for both directions and every register width.
 *
 *   void xts_{encrypt,decrypt}_SET(const struct xts_key *key, const uint8_t *source, uint8_t *destination,
 *                                  size_t length, uint8_t tweak[16], uint32_t flags);
 *
 * Any length from 16 bytes (a shorter one returns at once); in place or not overlapping. Flags: 1, the tweak argument
 * is the IV, to be encrypted under the tweak key first; 2, the tweak after the last whole block is written back.
 *
 * Shape. The main loop takes IN_FLIGHT registers a pass; tweak(i) holds the tweaks of the blocks in data(i). The
 * remainder takes as many registers as it needs, once; the last of them may be part full. With a tail, the last whole
 * block is held back from both and done with the tail at the end, by ciphertext stealing.
 *
 * Tweaks. Byte 0 holds the low coefficients, so multiplying by x^k is a shift left by k of a 128-bit integer, and the
 * bits that leave the top come back times x^7 + x^2 + x + 1 = 0x87. The tweak and the last round key are both XORed to
 * the result of the last SubBytes, so the last round takes their XOR as its key, off the critical path.
 *
 *   rdi  the key; then the first round key of the data key      rsi  source, moves on
 *   rdx  destination, moves on                                  rcx  bytes still to do, without the held-back block
 *   r8   the tweak argument; 0 where it is not to be written    r9   flags; then scratch
 *   r10  the last round key                                     r11  scratch
 *   rax  key length in bytes
 *
 *   data0 ...   blocks in flight                                key0 ...    all round keys but the last (EVEX only)
 *   tweak0 ...  their tweaks                                    spare0, 1   scratch
 *   work        the round key in use where none is cached (with EVEX the same register as spare1)
 *
 * Clobbers the registers above, the flags and, with EVEX, k1. Uses neither the stack nor a callee-saved register.
 */

#include "lanes.inc"

        .section .rodata
        .p2align 6
.Lpoly:
        .rept 4
        .quad 0x87, 1
        .endr
/* How far each lane's tweak is from the first lane's, and how many bits of a quadword do not leave it. */
.Ldistance:
        .quad 0, 0, 1, 1, 2, 2, 3, 3
.Lstaying:
        .quad 64, 64, 63, 63, 62, 62, 61, 61
/* The 16 shuffle indices from 16 + k on shift k bytes down, those from 16 - k on k bytes up; 0x80 gives zeros. */
.Lpermute:
        .fill 16, 1, 0x80
        .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .fill 16, 1, 0x80
        .text

.macro xts_registers
        .if EVEX
        .set IN_FLIGHT, 8
        name_registers data, 0, 8
        name_registers tweak, 8, 8
        name_registers key, 16, 14
        name_registers spare, 30, 2
        .set work, spare1
        .else
        .set IN_FLIGHT, 6
        name_registers data, 0, 6
        name_registers tweak, 6, 6
        name_registers spare, 12, 2
        .set work, v14
        .endif
        .set STRIDE, IN_FLIGHT * VL
.endm

/* operation i, arguments, for every i from first to below end. */
.macro each first, end, operation, arguments:vararg
        .irp i, 0, 1, 2, 3, 4, 5, 6, 7
        .if \i >= \first && \i < \end
        .ifb \arguments
        \operation \i
        .else
        \operation \i, \arguments
        .endif
        .endif
        .endr
.endm

/* operation, data0, ..., data(count - 1). */
.macro with_data count, operation:vararg
        .if \count == 1
        \operation, data0
        .elseif \count == 2
        \operation, data0, data1
        .elseif \count == 3
        \operation, data0, data1, data2
        .elseif \count == 4
        \operation, data0, data1, data2, data3
        .elseif \count == 5
        \operation, data0, data1, data2, data3, data4
        .elseif \count == 6
        \operation, data0, data1, data2, data3, data4, data5
        .elseif \count == 7
        \operation, data0, data1, data2, data3, data4, data5, data6
        .else
        \operation, data0, data1, data2, data3, data4, data5, data6, data7
        .endif
.endm

/* Tweaks. */

/*
 * d = s * x in xmm registers. Dwords 3 and 1 hold the two bits that leave a quadword; their signs, spread over the low
 * and the high quadword, choose 0x87 and 1. Clobbers the xmm register `sign`.
 */
.macro double d, s, sign
        vpshufd \sign, \s, 0x13
        vpsrad \sign, \sign, 31
        vand \sign, \sign, [rip + .Lpoly]
        vpaddq \d, \s, \s
        vxor \d, \d, \sign
.endm

/*
 * d = s * x^k in every lane, k < 64; d may be s. Clobbers spare0, and spare1 where k is no multiple of 8. Whole bytes
 * leave the 128-bit lane at once; other bits leave each quadword, the low one's into the high one.
 */
.macro multiply d, s, k
        .if \k % 8 == 0
        vpsrldq spare0, \s, 16 - \k / 8
        vpclmulqdq spare0, spare0, [rip + .Lpoly], 0x00
        vpslldq \d, \s, \k / 8
        vxor \d, \d, spare0
        .else
        vpsrlq spare0, \s, 64 - \k
        vpsllq \d, \s, \k
        carry_over \d, spare0, spare1
        .endif
.endm

/* Adds the bits `left` that left the quadwords of d where they belong; clobbers left and scratch. */
.macro carry_over d, left, scratch
        vpclmulqdq \scratch, \left, [rip + .Lpoly], 0x01
        vpslldq \left, \left, 8
        vxor3 \d, \left, \scratch
.endm

/* tweak0 from T(j) in its low lane. */
.macro first_tweaks
        .if VL > 16
        vspread_low tweak0, tweak0
        vload spare1, [rip + .Lstaying]
        vpsrlvq spare0, tweak0, spare1
        vload spare1, [rip + .Ldistance]
        vpsllvq tweak0, tweak0, spare1
        carry_over tweak0, spare0, spare1
        .endif
.endm

/* tweak(i) from tweak0, or from its predecessor where there is no carry-less multiply. */
.macro further_tweaks i
        .if VL > 16
        multiply tweak\i, tweak0, \i*LANES
        .else
        follow \i
        .endif
.endm

/* tweak(i) = the tweak after that of tweak(i - 1), cyclically: what comes after a pass, register by register. */
.macro follow i
        .altmacro
        follow_previous \i, %((\i + IN_FLIGHT - 1) % IN_FLIGHT)
        .noaltmacro
.endm

.macro follow_previous i, previous
        double tweak\i, tweak\previous, spare0
.endm

.macro advance i
        .if VL > 16
        multiply tweak\i, tweak\i, IN_FLIGHT*LANES
        .else
        follow \i
        .endif
.endm

/* xtweak0 = xtweak0 * x^(blocks), for a count of blocks below 64 in a general register, which is clobbered. */
.macro advance_by blocks
        vmovd xdata0, \blocks
        vpsllq xdata1, xtweak0, xdata0
        neg \blocks
        add \blocks, 64
        vmovd xdata0, \blocks
        vpsrlq xdata0, xtweak0, xdata0
        carry_over xdata1, xdata0, xdata2
        vcopy xtweak0, xdata1
.endm

/* Blocks. */

.macro whiten i, key
        vxor data\i, tweak\i, \key
        vxor data\i, data\i, [rsi + \i * VL]
.endm

/* The last round of register i and its store; the last round key is in work. Clobbers spare0. */
.macro finish i, direction
        vxor spare0, tweak\i, work
        aes_last \direction, spare0, data\i
        vstore [rdx + \i * VL], data\i
.endm

.macro finish_and_advance i, direction
        finish \i, \direction
        advance \i
.endm

.macro main_loop direction
        .if EVEX
        vspread key0, [rdi]
        aes_load_keys r10, rax
        .endif
        .p2align 5
.Lmain_\@:
        .if EVEX
        each 0, IN_FLIGHT, whiten, key0
        with_data IN_FLIGHT, aes_middle_cached \direction, rax
        .else
        vspread work, [rdi]
        each 0, IN_FLIGHT, whiten, work
        with_data IN_FLIGHT, aes_middle \direction, r10, rax, work
        .endif
        vspread work, [r10]
        each 0, IN_FLIGHT, finish_and_advance, \direction
        add rsi, STRIDE
        add rdx, STRIDE
        sub rcx, STRIDE
        cmp rcx, STRIDE
        jae .Lmain_\@
.endm

/* The remainder's last register may be part full: with EVEX k1 selects the quadwords, with VEX bit 4 of ecx a lane. */

.macro select_blocks
        .if EVEX
        lea r11d, [rcx - 16]
        and r11d, VL - 16
        shr r11d, 3
        add r11d, 2
        mov r9d, -1
        bzhi r9d, r9d, r11d
        kmovd k1, r9d
        .endif
.endm

.macro whiten_part i, key
        vxor data\i, tweak\i, \key
        .if EVEX
        vmovdqu64 spare0{k1}{z}, [rsi + \i * VL]
        .elseif VL == 32
        vmovdqu xspare0, [rsi + \i * VL]
        test ecx, 16
        jnz .Llow_\@
        vmovdqu spare0, [rsi + \i * VL]
.Llow_\@:
        .else
        vmovdqu spare0, [rsi + \i * VL]
        .endif
        vxor data\i, data\i, spare0
.endm

.macro finish_part i, direction
        vxor spare0, tweak\i, work
        aes_last \direction, spare0, data\i
        .if EVEX
        vmovdqu64 [rdx + \i * VL]{k1}, data\i
        .elseif VL == 32
        vmovdqu [rdx + \i * VL], xdata\i
        test ecx, 16
        jnz .Llow_\@
        vmovdqu [rdx + \i * VL], data\i
.Llow_\@:
        .else
        vmovdqu [rdx + \i * VL], data\i
        .endif
.endm

/* The remainder in the registers up to `last`, then on to `done`. */
.macro remainder_in last, direction, name, done
.L\name\()_\last:
        vspread work, [rdi]
        each 0, \last, whiten, work
        whiten_part \last, work
        with_data \last+1, aes_middle_loop \direction, rdi, r10, r9, work
        vspread work, [r10]
        each 0, \last, finish, \direction
        finish_part \last, \direction
        .if VL == 16
        follow_to_front \last
        .endif
        jmp \done
.endm

.macro follow_to_front last
        double xtweak0, xtweak\last, xspare0
.endm

.macro choose_remainder last, name
        cmp ecx, (\last + 1) * VL + 16
        jb .L\name\()_\last
.endm

/* xdata1 = the tail, filled up from xdata0, whose stolen bytes go behind the block at [rdx]; rcx = bytes of the tail. */
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

.macro held_back_block direction, x, tweak
        vpxor \x, \x, \tweak
        aes_block \direction, \x, rdi, r10, rax
        vpxor \x, \x, \tweak
.endm

/* The held-back block and the tail, with the tweaks in the order in which the direction takes them. */
.macro last_two direction, first, second
        vmovdqu xdata0, [rsi]
        held_back_block \direction, xdata0, \first
        steal
        held_back_block \direction, xdata1, \second
        vmovdqu [rdx], xdata1
.endm

.macro xts name, direction, vl, evex
        lanes \vl, \evex
        xts_registers

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

        first_tweaks
        cmp rcx, VL + 16
        jb .L\name\()_remainder
        each 1, 4, further_tweaks
        cmp rcx, 4 * VL + 16
        jb .L\name\()_remainder
        each 4, IN_FLIGHT, further_tweaks
        cmp rcx, STRIDE
        jb .L\name\()_remainder
        main_loop \direction

.L\name\()_remainder:
        cmp ecx, 16
        jb .L\name\()_tail
        select_blocks
        each 0, IN_FLIGHT, choose_remainder, \name
        each 0, IN_FLIGHT, remainder_in, \direction, \name, .L\name\()_advance

.L\name\()_advance:
        mov r11d, ecx
        and r11d, -16
        add rsi, r11
        add rdx, r11
        .if VL > 16
        shr r11d, 4
        advance_by r11d
        .endif

.L\name\()_tail:
        and ecx, 15
        jz .L\name\()_write_back
        double xtweak1, xtweak0, xspare0
        .ifc \direction, enc
        last_two enc, xtweak0, xtweak1
        .else
        last_two dec, xtweak1, xtweak0
        .endif
        vmovdqa xtweak0, xtweak1
.L\name\()_write_back:
        test r8, r8
        jz .L\name\()_return
        vmovdqu [r8], xtweak0
.L\name\()_return:
        leave_lanes
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
