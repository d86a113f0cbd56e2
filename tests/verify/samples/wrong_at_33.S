/* Wrong at 33 bytes only. */
#define NAME wrong_at_33_xts_encrypt
#define NAME_BLOCK wrong_at_33_block
#define BUG_33
#include "library_sse.inc"
