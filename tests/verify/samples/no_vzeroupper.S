/* Leaves the upper halves dirty. */
#define NAME no_vzeroupper_xts_encrypt
#define BUG_VZEROUPPER
#include "kernel_vaes_avx2.inc"
