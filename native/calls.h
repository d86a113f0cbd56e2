/* Where calls.c and calls.S meet: numbers alone, for the C compiler and the assembler. */
#pragma once

#define CALLS_PLACE 0x6E0000000000 /* of struct calls_state, in the process that makes the calls */

/* Offsets in it. */
#define CALLS_OUR_STACK 0
#define CALLS_ITS_STACK 8
#define CALLS_WIDTH 16
#define CALLS_SAVED 24
#define CALLS_RSP 72
#define CALLS_FLAGS 80
#define CALLS_VECTORS 128

/* What its callee-saved registers hold at a call, counted up in the order rbx, rbp, r12 to r15. */
#define CALLS_KEPT 0x5A5A000000000000
