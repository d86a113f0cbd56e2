/* ECB encryption under AES-256, wrong on purpose: see test_step_faults.py. */
        .intel_syntax noprefix
        .text
        .globl faulty_ecb
        .type faulty_ecb, @function
faulty_ecb:
        movdqu xmm15, [rdi]
.Lnext:
        movdqu xmm0, [rsi]
        pxor xmm0, xmm15
        mov ebx, 16
.Lround:
        movdqu xmm1, [rdi + rbx]
        cmp ebx, 144
        je .Lskip
        aesenc xmm0, xmm1
.Lskip:
        add ebx, 16
        cmp ebx, 224
        jb .Lround
        movdqu xmm1, [rdi + rbx]
        aesenclast xmm0, xmm1
        movdqu xmm2, [rsi + 16]
        movdqu [rdx], xmm0
        movd eax, xmm0
        test al, 1
        jz .Leven
        nop
.Leven:
        add rsi, 16
        add rdx, 16
        sub rcx, 16
        jnz .Lnext
        ret
        .size faulty_ecb, . - faulty_ecb
