/*
 * calls_enter(function, arguments): one call of code that may do anything, out of calls.c.
 *
 *   rdi, rsi    the function, and the six integer arguments that it is given
 *
 * The place of the state is a constant, because nothing but memory can be relied on when the function comes back. What
 * a caller may have left in other registers is the same at every call. Behind it the state holds the callee-saved
 * registers, rsp, the flags, and zmm0 to zmm15 as the function left them. CALLS_WIDTH is 64 with AVX-512, 32 with AVX,
 * else 16. Clobbers what the ABI allows.
 */
#include "calls.h"
        .intel_syntax noprefix
        .section .note.GNU-stack, "", @progbits
        .text

.macro dump move, register
        .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        \move [rdx + CALLS_VECTORS + 64 * \number], \register\number
        .endr
.endm

.macro leave_one number
        movq xmm\number, rcx
        inc rcx
.endm

.macro leave_high number
        vpbroadcastq zmm\number, rcx
        inc rcx
.endm

        .balign 64
        .globl calls_enter
        .hidden calls_enter
        .type calls_enter, @function
calls_enter:
        endbr64
        .irp name, rbx, rbp, r12, r13, r14, r15
        push \name
        .endr
        movabs rdx, CALLS_PLACE
        mov [rdx + CALLS_OUR_STACK], rsp
        movabs rcx, 0x5AA55AA500000000
        .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        leave_one \number
        .endr
        cmp qword ptr [rdx + CALLS_WIDTH], 64
        jb .Lset
        .irp number, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        leave_high \number
        .endr
.Lset:
        mov rsp, [rdx + CALLS_ITS_STACK]
        mov r11, rdi
        mov r10, rsi
        mov rdi, [r10]
        mov rsi, [r10 + 8]
        mov rdx, [r10 + 16]
        mov rcx, [r10 + 24]
        mov r8, [r10 + 32]
        mov r9, [r10 + 40]
        movabs rbx, CALLS_KEPT
        lea rbp, [rbx + 1]
        lea r12, [rbx + 2]
        lea r13, [rbx + 3]
        lea r14, [rbx + 4]
        lea r15, [rbx + 5]
        movabs rax, 0xA5A50000000000
        mov r10, rax
        call r11
        movabs rdx, CALLS_PLACE
        .set slot, CALLS_SAVED
        .irp name, rbx, rbp, r12, r13, r14, r15
        mov [rdx + slot], \name
        .set slot, slot + 8
        .endr
        mov [rdx + CALLS_RSP], rsp
        mov rsp, [rdx + CALLS_OUR_STACK]
        pushfq
        pop qword ptr [rdx + CALLS_FLAGS]
        cld
        cmp qword ptr [rdx + CALLS_WIDTH], 32
        jb .Lxmm
        ja .Lzmm
        dump vmovups, ymm
        vzeroupper
        jmp .Ldone
.Lzmm:
        dump vmovups, zmm
        vzeroupper
        jmp .Ldone
.Lxmm:
        dump movups, xmm
.Ldone:
        .irp name, r15, r14, r13, r12, rbp, rbx
        pop \name
        .endr
        ret
        .size calls_enter, . - calls_enter
