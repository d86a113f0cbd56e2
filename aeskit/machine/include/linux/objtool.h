/* A stand-in: the same words. */
#include <linux/linkage.h>
