/* The function as it should be. */
#define NAME library_sse_xts_encrypt
#define NAME_BLOCK library_sse_block
#include "library_sse.inc"
