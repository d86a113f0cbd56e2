/* A stand-in: a frame pointer, as the kernel keeps one for its unwinder. */
#ifndef AESKIT_ASM_FRAME_H
#define AESKIT_ASM_FRAME_H

#ifdef CONFIG_FRAME_POINTER
#define FRAME_BEGIN push %rbp; mov %rsp, %rbp
#define FRAME_END pop %rbp
#else
#define FRAME_BEGIN
#define FRAME_END
#endif
#define FRAME_OFFSET 0

#endif
