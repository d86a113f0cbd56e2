/* Reads 16 bytes where the tail has fewer. */
#define NAME past_tail_xts_encrypt
#define NAME_BLOCK past_tail_block
#define BUG_PAST_TAIL
#include "library_sse.inc"
