/* A stand-in for the kernel's file: only what assembly of AES modes asks for. */
#ifndef AESKIT_LINUX_LINKAGE_H
#define AESKIT_LINUX_LINKAGE_H

#define SYM_START_ALIGN .p2align 4, 0x90
#define SYM_FUNC_START(name) .globl name; SYM_START_ALIGN; .type name, @function; name:
#define SYM_FUNC_START_NOALIGN(name) .globl name; .type name, @function; name:
#define SYM_FUNC_START_LOCAL(name) SYM_START_ALIGN; .type name, @function; name:
#define SYM_FUNC_START_LOCAL_NOALIGN(name) .type name, @function; name:
#define SYM_FUNC_START_WEAK(name) .weak name; SYM_START_ALIGN; .type name, @function; name:
#define SYM_FUNC_END(name) .size name, . - name
#define SYM_TYPED_FUNC_START(name) SYM_FUNC_START(name)
#define SYM_INNER_LABEL(name, linkage) .type name, @notype; name:
#define SYM_FUNC_ALIAS(alias, name) .globl alias; .type alias, @function; .set alias, name
#define SYM_FUNC_ALIAS_LOCAL(alias, name) .type alias, @function; .set alias, name
#define SYM_FUNC_ALIAS_WEAK(alias, name) .weak alias; .type alias, @function; .set alias, name
#define SYM_CODE_START(name) SYM_FUNC_START(name)
#define SYM_CODE_START_LOCAL(name) SYM_FUNC_START_LOCAL(name)
#define SYM_CODE_END(name) SYM_FUNC_END(name)
#define SYM_DATA_START(name) .globl name; name:
#define SYM_DATA_START_LOCAL(name) name:
#define SYM_DATA_END(name) .size name, . - name
#define SYM_DATA(name, data...) SYM_DATA_START(name) data; SYM_DATA_END(name)
#define SYM_DATA_LOCAL(name, data...) SYM_DATA_START_LOCAL(name) data; SYM_DATA_END(name)
#define SYM_L_GLOBAL(name) .globl name
#define SYM_L_LOCAL(name)

/* Older spellings. */
#define ENTRY(name) SYM_FUNC_START(name)
#define ENDPROC(name) SYM_FUNC_END(name)
#define END(name) SYM_FUNC_END(name)
#define GLOBAL(name) .globl name; name:
#define ALIGN SYM_START_ALIGN
#define __ALIGN SYM_START_ALIGN
#define __ALIGN_STR ".p2align 4, 0x90"
#define RET ret
#define ENDBR endbr64

/* Words for objtool, which is not run here. */
#define ANNOTATE_NOENDBR
#define ANNOTATE_RETPOLINE_SAFE
#define ANNOTATE_INTRA_FUNCTION_CALL
#define ANNOTATE_UNRET_SAFE
#define STACK_FRAME_NON_STANDARD(name)
#define STACK_FRAME_NON_STANDARD_FP(name)

#endif
