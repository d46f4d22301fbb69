/* Last line of a generated variant (native/build.py). */
#if defined(__x86_64__) && defined(__clang__)
#pragma clang attribute pop
#endif
