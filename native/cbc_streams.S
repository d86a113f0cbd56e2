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
 *   rdi       first round key (on entry the key)
 *   rsi, rdx  source and destination of the current block of the first message; may be equal
 *   rcx       bytes left of each message
 *   r8, r9d   IVs of the messages left; their number, then less 1
 *   r10, r11  key length in bytes, or 8 times a lane's number; last round key
 *   rax       scratch
 *   rsp       how far each lane's message is from the first, GROUP quadwords; GROUP blocks for the IVs; the length; the
 *             caller's rsp. Nothing of it depends on the key
 *   state0 ...  the chains, REGISTERS registers in use      next   the next blocks of a register ^ round key 0
 *   first       round key 0                                 key    the round key in use, from memory
 *
 * Tried and lost: folding the next block into the last round key, as cbc.S does for one chain (the XOR that it adds costs
 * more than the cycle of latency that it saves, with chains to spare); loading the next blocks beside the rounds (2 %
 * better with ymm, as much worse with xmm). Messages whose length is a multiple of 4096 put the current lines of all
 * messages into one set of the L1 cache and run at half the speed with 16 of them.
 *
 * Clobbers rax, rcx, rdx, rsi, rdi, r8 to r11, the registers above and the flags.
 */

#include "lanes.inc"

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
        mov rax, [rsp + 8 * LANES * \i]
        vmovdqu [rdx + rax], xstate\i
        .irp lane, 1, 2, 3
        .if \lane < LANES
        mov rax, [rsp + 8 * (LANES * \i + \lane)]
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

.macro streams set, vl, evex
        lanes \vl, \evex
        name_registers state, 0, 8
        .set next, v8
        .set xnext, xmm8
        .set first, v9
        .set key, v10
        .set REGISTERS, 8
        .if VL == 64
        .set REGISTERS, 4
        .endif
        .set GROUP, REGISTERS * LANES
        .set IVS, 8 * GROUP
        .set LENGTH, IVS + 16 * GROUP

function cbc_streams_encrypt_\set
        and rcx, -16
        jz 5f
        sub r9d, 1
        jb 5f
        mov rax, rsp
        sub rsp, LENGTH + 16 + 64
        and rsp, -64
        mov [rsp + LENGTH], rcx
        mov [rsp + LENGTH + 8], rax
        schedule enc, rdi, rdi, r11, r10
        vspread first, [rdi]
1:
        streams_each_lane streams_begin
        movzx r10d, byte ptr [rdi + 480]
        each 0, REGISTERS, streams_first
2:
        .if REGISTERS == 4
        aes_middle enc, r11, r10, key, state0, state1, state2, state3
        .else
        aes_middle enc, r11, r10, key, state0, state1, state2, state3, state4, state5, state6, state7
        .endif
        vspread key, [r11]
        sub rcx, 16
        jz 3f
        each 0, REGISTERS, streams_next
        add rsi, 16
        add rdx, 16
        jmp 2b
3:
        each 0, REGISTERS, streams_last
        streams_each_lane streams_write_back
        sub r9d, GROUP
        jb 4f
        mov rcx, [rsp + LENGTH]
        imul rax, rcx, GROUP - 1
        lea rsi, [rsi + rax + 16]
        lea rdx, [rdx + rax + 16]
        add r8, 16 * GROUP
        jmp 1b
4:
        mov rsp, [rsp + LENGTH + 8]
5:
        leave_lanes
end_function cbc_streams_encrypt_\set
.endm

streams aesni_avx, 16, 0
streams vaes_avx2, 32, 0
streams vaes_avx512_256, 32, 1
streams vaes_avx512_512, 64, 1
