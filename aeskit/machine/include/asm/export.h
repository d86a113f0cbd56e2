/* A stand-in. */
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
