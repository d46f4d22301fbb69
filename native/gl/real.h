/* Symbols behind the library's own ones. */
#ifndef GL_REAL_H
#define GL_REAL_H

/* The dlsym() of libc. */
void *real_symbol(void *handle, const char *name);

#endif
