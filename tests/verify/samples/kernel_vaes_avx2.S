/* The function as it should be. */
#define NAME kernel_vaes_avx2_xts_encrypt
#include "kernel_vaes_avx2.inc"
