/* Reads its 32-bit flags as 64 bits. */
#define NAME wide_flags_xts_encrypt
#define BUG_FLAGS64
#include "kernel_vaes_avx2.inc"
