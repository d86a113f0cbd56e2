/* Does not keep rbx. */
#define NAME clobbers_rbx_xts_encrypt
#define NAME_BLOCK clobbers_rbx_block
#define BUG_RBX
#include "library_sse.inc"
