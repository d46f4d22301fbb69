/* Last line of variants/<unit>_*.c. */
#if defined(__x86_64__) && defined(__clang__)
#pragma clang attribute pop
#endif
