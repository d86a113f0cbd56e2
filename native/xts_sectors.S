/*
 * AES-XTS of sectors in a row whose tweaks are ready: one template for both directions, with 32 registers (EVEX).
 *
 *   void xts_sectors_{encrypt,decrypt}_SET(const struct xts_key *key, const uint8_t *source, uint8_t *destination,
 *                                          size_t sector_size, uint8_t *tweaks, uint32_t count);
 *
 * `count` sectors of `sector_size` bytes each, a multiple of 512, in place or not overlapping. At `tweaks` lie their
 * first tweaks, `count` encrypted IVs, and behind them `count` IVs of sectors to come, which are encrypted where they
 * lie: the next call finds its tweaks ready. One sector in sequence and a batch of many are this same function.
 *
 * Shape. One message alone waits for the 14 dependent rounds of its IV. Here no pass waits for another: a sector begins
 * with T(0) from memory. A pass is eight registers of consecutive blocks, their tweaks beside them; the round keys stay in
 * registers from the first sector to the last. The IVs of LANES sectors, the last ones singly, are encrypted in front of
 * a pass: their rounds wait for each other, but the CPU runs on into the pass behind them, and they are done before it is.
 *
 * No shift by bits: with zmm it runs on the port that AES runs on, and four of them a sector cost 31 cycles, not 4.
 * Products with x^k for k below 8 are carry-less multiplies, the further ones byte shifts, which run on the other port.
 *
 *   rdi  the key; then the first round key of the data key      rsi  source, moves on
 *   rdx  destination, moves on                                  rcx  sector_size
 *   r8   the current sector's tweak, moves on                   r9d  sectors left
 *   r10  the last round key of the data key                     r11  bytes left of the sector; between sectors scratch
 *   rax  key length in bytes                                    rbx  16 * count: how far the IVs are behind the tweaks
 *
 *   data0 to data7   blocks in flight                           key0 to key13   the round keys but the last
 *   tweak0 to 7      their tweaks; first T(0) in tweak7         spare, work     scratch; IVs and their round keys
 *
 * Measured on Emerald Rapids (one zmm round a cycle, so 112 cycles for 512 bytes with AES-256 and 3.5 for a quarter of four
 * IVs; 126 with an IV of its own): 115.4 cycles a sector of many, 126.4 of one a call, while the CPU beside is idle; with
 * a busy one, which takes a part of what lies between two calls, 128 to 138. With ymm 125 of many: the two ports
 * of AES then leave one for all else, and XORs, shifts and multiplies of a pass need 52 to 57 of its 56 cycles there; so
 * xts.S is the faster one for sectors of 4 KiB, their IVs encrypted together (925 cycles, not 1,000; at 2 KiB 521, not 507).
 *
 * Tried and lost: the IVs' rounds in between those of the data, one or two beside each (no faster, and twice the code);
 * IVs by mask (a store by mask keeps the next load waiting, and so does a load of 64 bytes that were written as 16: 20
 * cycles in sequence).
 *
 * Clobbers these registers but rbx, and the flags. Branches and addresses depend on the key length, the sector size, the
 * count and the pointers alone.
 */

#include "lanes.inc"
#include "stack.inc"
#include "xts_tweak.inc"

.macro sectors_registers
        name_registers data, 0, 8
        name_registers tweak, 8, 8
        name_registers key, 16, 14
        .set spare, v30
        .set xspare, xmm30
        .set work, v31
        .set STRIDE, 8 * VL
.endm

        .section .rodata
        .p2align 6
/* x^0 to x^7. */
.Lpowers:
        .irp power, 1, 2, 4, 8, 16, 32, 64, 128
        .quad \power, 0
        .endr
        .text

/*
 * tweak\i from T in every lane of tweak7: as far as x^7 by the powers themselves, then whole bytes beyond the register
 * that stands at the same bits.
 */
.macro sectors_tweak i
        .if \i * LANES < 8
        vpclmulqdq spare, tweak7, [rip + .Lpowers + \i * VL], 0x01
        vpclmulqdq tweak\i, tweak7, [rip + .Lpowers + \i * VL], 0x00
        vpclmulqdq work, spare, [rip + .Lpoly], 0x01
        vpslldq spare, spare, 8
        vxor3 tweak\i, spare, work
        .else
        .altmacro
        sectors_further \i, %(\i % (8 / LANES))
        .noaltmacro
        .endif
.endm

.macro sectors_further i, nearer
        multiply_bytes tweak\i, tweak\nearer, \i*LANES/8
.endm

.macro sectors_whiten i
        vload data\i, [rsi + \i * VL]
        vxor3 data\i, tweak\i, key0
.endm

/* The last round, whose key is in work, and the store; spares tweak0. */
.macro sectors_finish i, direction
        .if \i
        vxor tweak\i, tweak\i, work
        aes_last \direction, tweak\i, data\i
        .else
        vxor spare, tweak0, work
        aes_last \direction, spare, data0
        .endif
        vstore [rdx + \i * VL], data\i
.endm

/* LANES IVs, encrypted where they lie: loaded one by one, as whoever wrote them will have done. */
.macro sectors_ivs
        vmovdqu64 xspare, [r8 + rbx]
        .irp lane, 1, 2, 3
        .if \lane < LANES
        vinserti32x4 spare, spare, [r8 + rbx + 16 * \lane], \lane
        .endif
        .endr
        vspread work, [rdi - TWEAK_KEYS]
        vxor spare, spare, work
        lea r11, [r10 - TWEAK_KEYS]
        aes_middle enc, r11, rax, work, spare
        vspread work, [r11]
        aes_last enc, work, spare
        vstore [r8 + rbx], spare
.endm

/* One IV, stored so that the next call can load it at once. */
.macro sectors_iv
        lea r11, [r10 - TWEAK_KEYS]
        vmovdqu xdata0, [r8 + rbx]
        aes_block enc, xdata0, rdi-TWEAK_KEYS, r11, rax
        vmovdqu [r8 + rbx], xdata0
.endm

/* A pass from T in every lane of tweak7, with or without IVs beside; then on to `end` where the sector is done. */
.macro sectors_pass direction
        each 0, 8, sectors_tweak
        each 0, 8, sectors_whiten
        with_data 8, aes_middle_cached \direction, rax
        vspread work, [r10]
        each 0, 8, sectors_finish, \direction
        add rsi, STRIDE
        add rdx, STRIDE
        sub r11, STRIDE
.endm

.macro sectors name, direction, vl
        lanes \vl, 1
        sectors_registers
        .ifc \direction, enc
        .set TWEAK_KEYS, 496
        .else
        .set TWEAK_KEYS, 496 + 240
        .endif

function \name
        and rcx, -STRIDE
        jz .L\name\()_return
        test r9d, r9d
        jz .L\name\()_return
        push_told rbx
        mov ebx, r9d
        shl rbx, 4
        schedule \direction, rdi + 496, rdi, r10, rax
        vspread key0, [rdi]
        aes_load_keys r10, rax

.L\name\()_sector:
        vspread tweak7, [r8]
        mov r11d, ebx
        shr r11d, 4
        and r11d, LANES - 1
        cmp r9d, r11d
        ja .L\name\()_several
        sectors_iv
.L\name\()_ready:
        mov r11, rcx
.L\name\()_pass:
        sectors_pass \direction
        jz .L\name\()_end
        vspread_low tweak7, tweak0
        multiply_bytes tweak7, tweak7, LANES
        jmp .L\name\()_pass
.L\name\()_end:
        add r8, 16
        dec r9d
        jnz .L\name\()_sector
        .cfi_remember_state
        pop_told rbx
        leave_lanes
        .cfi_restore_state

.L\name\()_several:
        xor r11d, r9d
        test r11d, LANES - 1
        jnz .L\name\()_ready
        sectors_ivs
        jmp .L\name\()_ready
.L\name\()_return:
        .cfi_def_cfa_offset 8
        .cfi_restore rbx
        leave_lanes
end_function \name
.endm

sectors xts_sectors_encrypt_vaes_avx512_256, enc, 32
sectors xts_sectors_decrypt_vaes_avx512_256, dec, 32
sectors xts_sectors_encrypt_vaes_avx512_512, enc, 64
sectors xts_sectors_decrypt_vaes_avx512_512, dec, 64
