/* A stand-in: functions that are called through pointers carry no type word here. */
#include <linux/linkage.h>
