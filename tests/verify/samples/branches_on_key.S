/* Branches on a bit of the data key. */
#define NAME branches_on_key_xts_encrypt
#define NAME_BLOCK branches_on_key_block
#define BUG_SECRET
#include "library_sse.inc"
