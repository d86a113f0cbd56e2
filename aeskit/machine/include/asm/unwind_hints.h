/* A stand-in: nothing of it is needed here. */
