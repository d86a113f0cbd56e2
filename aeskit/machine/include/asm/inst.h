/* A stand-in: the assembler knows the instructions. */
