/* A stand-in: the words for 64 bits. */
#ifndef AESKIT_ASM_ASM_H
#define AESKIT_ASM_ASM_H

#define _ASM_PTR .quad
#define _ASM_ALIGN .balign 8
#define _ASM_AX %rax
#define _ASM_BX %rbx
#define _ASM_CX %rcx
#define _ASM_DX %rdx
#define _ASM_SP %rsp
#define _ASM_BP %rbp
#define _ASM_SI %rsi
#define _ASM_DI %rdi

#endif
