/* A stand-in: jumps and calls through registers without a thunk. */
#include <linux/linkage.h>
#define JMP_NOSPEC jmp *
#define CALL_NOSPEC call *
