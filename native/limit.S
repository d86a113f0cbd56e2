/*
 * The limits that a benchmark's figures are held against, measured in the same run.
 *
 *   limit_add(n)                    n × 64 dependent additions: one core cycle each on every CPU that we know,
 *                                   which makes it the clock (the time-stamp counter is no core clock)
 *   limit_latency_SET(n)            n × 64 AES rounds, each waiting for the one before
 *   limit_throughput_SET(n)         n × 64 AES rounds over independent registers
 *
 * n in rdi, at least 1. Clobbers rax, rdi, the flags, and vector registers 0 to 12.
 */
        .intel_syntax noprefix
        .section .note.GNU-stack, "", @progbits
        .text

.macro loop_of name, body:vararg
        .balign 64
        .globl \name
        .hidden \name
        .type \name, @function
\name:
        endbr64
        .balign 64
.L\name:
        \body
        dec rdi
        jnz .L\name
        .if VL > 16
        vzeroupper
        .endif
        ret
        .size \name, . - \name
.endm

.macro additions
        .rept 64
        add rax, rdi
        .endr
.endm

.macro rounds width, registers
        .set .Lround, 0
        .rept 64
        round_at \width, %(.Lround % \registers)
        .set .Lround, .Lround + 1
        .endr
.endm

.macro round_at width, number
        vaesenc \width\number, \width\number, \width\()12
.endm

        .set VL, 16
        .altmacro
        loop_of limit_add, additions
        loop_of limit_latency_xmm, rounds xmm, 1
        loop_of limit_throughput_xmm, rounds xmm, 12
        .set VL, 32
        loop_of limit_latency_ymm, rounds ymm, 1
        loop_of limit_throughput_ymm, rounds ymm, 12
        .set VL, 64
        loop_of limit_latency_zmm, rounds zmm, 1
        loop_of limit_throughput_zmm, rounds zmm, 12
        .noaltmacro
