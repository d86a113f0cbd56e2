/*
 * CBC encryption (SP 800-38A, 6.2) of many messages at once. One chain is serial and leaves most of the AES units idle;
 * independent chains fill them: one lane each, GROUP chains in flight.
 *
 *   void cbc_streams_encrypt_SET(const struct aes_key *key, const uint8_t *source, uint8_t *destination,
 *                                size_t length, uint8_t *ivs, uint32_t count);
 *
 * `count` messages of `length` bytes lie one after the other, their IVs at ivs; each IV becomes its message's last
 * ciphertext block. Where fewer than GROUP messages are left, the last one runs in the spare lanes too: they compute the
 * same bytes and store them at the same place.
 *
 *   rdi       destination of the first message, as far as it is written     r11  last round key
 *   rsi, rdx  the current block of the first message: where it comes from and where its ciphertext goes; the source
 *             and the destination may be equal
 *   r10       how far from rdx each lane's ciphertext goes: a table of GROUP quadwords
 *   rcx       bytes left of each message
 *   r8, r9d   IVs of the messages left; their number, then less 1
 *   rax       scratch
 *   rsp       how far each lane's message is from the first, GROUP quadwords; GROUP blocks for the IVs; the length; the
 *             caller's rsp; the key length in bytes; the stage. Nothing of it depends on the key
 *   state0 ...  the chains, REGISTERS registers in use      next   the next blocks of a register ^ round key 0
 *   first       round key 0                                 key    the round key in use, from memory
 *   copy        scratch
 *
 * The stage. Messages whose length is a multiple of 4096 put the current lines of all messages into one set of the L1
 * cache, which has 8 or 12 ways, and each line is stored to four times: with 16 messages all stores miss, one after the
 * other (Emerald Rapids: 31 % of the limit). Loads may miss, many of them are in flight. So the ciphertext of such
 * messages goes to the stack, a line of 64 bytes a message, and from there a whole line at once, while the next rounds
 * run (zmm 95 %, ymm 88 %; right behind the stores 95 % and 84 %; 71 % and 68 % where the destination's lines are not the
 * cache's). Other lengths store where they belong: where the messages' lines fall into two sets or more, the stage costs
 * 1 to 4 %.
 *
 * Tried and lost: folding the next block into the last round key, as cbc.S does for one chain (the XOR that it adds costs
 * more than the cycle of latency that it saves, with chains to spare); loading the next blocks beside the rounds (2 %
 * better with ymm, as much worse with xmm).
 *
 * Clobbers rax, rcx, rdx, rsi, rdi, r8 to r11, the registers above and the flags.
 */

#include "lanes.inc"
#include "stack.inc"

        .section .rodata
        .p2align 4
/* How far apart the stage has the lanes' ciphertext. */
.Lstreams_lines:
        .set .Lat, 0
        .rept 16
        .quad .Lat
        .set .Lat, .Lat + 64
        .endr
        .text

/* d = the blocks of the lanes of register i at rsi + at, ^ round key 0. */
.macro streams_load d, i, at
        mov rax, [rsp + 8 * LANES * \i]
        vmovdqu x\d, [rsi + rax + \at]
        .irp lane, 1, 2, 3
        .if \lane < LANES
        mov rax, [rsp + 8 * (LANES * \i + \lane)]
        .if EVEX
        vinserti32x4 \d, \d, [rsi + rax + \at], \lane
        .else
        vinserti128 \d, \d, [rsi + rax + \at], \lane
        .endif
        .endif
        .endr
        vxor \d, \d, first
.endm

.macro streams_store i
        mov rax, [r10 + 8 * LANES * \i]
        vmovdqu [rdx + rax], xstate\i
        .irp lane, 1, 2, 3
        .if \lane < LANES
        mov rax, [r10 + 8 * (LANES * \i + \lane)]
        .if EVEX
        vextracti32x4 [rdx + rax], state\i, \lane
        .else
        vextracti128 [rdx + rax], state\i, \lane
        .endif
        .endif
        .endr
.endm

.macro streams_first i
        streams_load state\i, \i, 0
        vxor state\i, state\i, [rsp + IVS + \i * VL]
.endm

.macro streams_next i
        streams_load next, \i, 16
        aes_last enc, key, state\i
        streams_store \i
        vxor state\i, state\i, next
.endm

.macro streams_last i
        aes_last enc, key, state\i
        streams_store \i
        vstore [rsp + IVS + \i * VL], state\i
.endm

/* r10 = 8 * lane, rax = 8 * the message in that lane. */
.macro streams_each_lane body:vararg
        xor r10d, r10d
.Llane_\@:
        lea rax, [8 * r9]
        cmp rax, r10
        cmova rax, r10
        \body
        add r10d, 8
        cmp r10d, 8 * GROUP
        jb .Llane_\@
.endm

.macro streams_begin
        vmovdqu xv0, [r8 + 2 * rax]
        vmovdqa [rsp + IVS + 2 * r10], xv0
        shr rax, 3
        imul rax, rcx
        mov [rsp + r10], rax
.endm

.macro streams_write_back
        vmovdqa xv0, [rsp + IVS + 2 * r10]
        vmovdqu [r8 + 2 * rax], xv0
.endm

/* The lines of register i's lanes from the stage to their messages. */
.macro streams_lines i
        .irp lane, 0, 1, 2, 3
        .if \lane < LANES
        mov rax, [rsp + 8 * (LANES * \i + \lane)]
        .irp at, 0, 16, 32, 48
        .if \at % VL == 0
        vload copy, [rsp + STAGE + 64 * (LANES * \i + \lane) + \at]
        vstore [rdi + rax + \at], copy
        .endif
        .endr
        .endif
        .endr
.endm

/* Where messages go by the stage, rdx and r10 point there, else to the destination at rdi. */
.macro streams_aim
        mov rdx, rdi
        mov r10, rsp
        .if STAGED
        unless_staged .Laimed_\@
        lea rdx, [rsp + STAGE]
        lea r10, [rip + .Lstreams_lines]
.Laimed_\@:
        .endif
.endm

.macro unless_staged label
        test dword ptr [rsp + LENGTH], 4095
        jnz \label
.endm

.macro streams_middle
        mov rax, [rsp + LENGTH + 16]
        .if REGISTERS == 4
        aes_middle enc, r11, rax, key, state0, state1, state2, state3
        .else
        aes_middle enc, r11, rax, key, state0, state1, state2, state3, state4, state5, state6, state7
        .endif
.endm

.macro streams set, vl, evex
        lanes \vl, \evex
        name_registers state, 0, 8
        .set next, v8
        .set xnext, xmm8
        .set first, v9
        .set key, v10
        .set copy, v11
        .set REGISTERS, 8
        .if VL == 64
        .set REGISTERS, 4
        .endif
        .set GROUP, REGISTERS * LANES
        .set STAGED, GROUP > 8
        .set IVS, 8 * GROUP
        .set LENGTH, IVS + 16 * GROUP
        .set STAGE, LENGTH + 64
        .set FRAME, STAGE + STAGED * -64 * GROUP + 64

function cbc_streams_encrypt_\set
        and rcx, -16
        jz 6f
        sub r9d, 1
        jb 6f
        open_stack FRAME, LENGTH + 8, rax
        mov [rsp + LENGTH], rcx
        schedule enc, rdi, rdi, r11, r10
        mov [rsp + LENGTH + 16], r10
        vspread first, [rdi]
        mov rdi, rdx
1:
        streams_each_lane streams_begin
        streams_aim
        each 0, REGISTERS, streams_first
2:
        streams_middle
        vspread key, [r11]
        .if STAGED
        unless_staged .Lnot_full_\set
        test cl, 48
        jnz .Lnot_full_\set
        cmp rcx, [rsp + LENGTH]
        jne .Lfull_\set
.Lnot_full_\set:
        .endif
        sub rcx, 16
        jz 3f
        each 0, REGISTERS, streams_next
        add rsi, 16
        add rdx, 16
        jmp 2b
3:
        each 0, REGISTERS, streams_last
        streams_each_lane streams_write_back
        add rdx, 16
        .if STAGED
        unless_staged .Lstraight_\set
        jmp .Lfull_\set
.Lstraight_\set:
        .endif
        mov rdi, rdx
4:
        sub r9d, GROUP
        jb 5f
        mov rcx, [rsp + LENGTH]
        imul rax, rcx, GROUP - 1
        lea rsi, [rsi + rax + 16]
        add rdi, rax
        add r8, 16 * GROUP
        jmp 1b
5:
        .cfi_remember_state
        close_stack LENGTH + 8
6:
        leave_lanes
        .cfi_restore_state

        .if STAGED
.Lfull_\set:
        each 0, REGISTERS, streams_lines
        sub rdx, 64
        add rdi, 64
        test rcx, rcx
        jz 4b
        jmp .Lnot_full_\set
        .endif
end_function cbc_streams_encrypt_\set
.endm

streams aesni_avx, 16, 0
streams vaes_avx2, 32, 0
streams vaes_avx512_256, 32, 1
streams vaes_avx512_512, 64, 1
