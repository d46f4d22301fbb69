/* The functions of OpenGL, EGL and GLX that programs reach instead of the real ones: by linking, by dlsym(), and by
 * eglGetProcAddress() and glXGetProcAddress().  Each calls the real function and adds notes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gl/notes.h"
#include "gl/real.h"

#define HOOK __attribute__((visibility("default")))

typedef unsigned GLenum, GLuint;
typedef int GLint, GLsizei;
typedef void (*procedure)(void);

enum {
    SHADER_TYPE = 0x8B4F /* GL_SHADER_TYPE */
};

#define UNKNOWN UINT32_MAX /* a count that only the driver knows */

/* --- the real functions --- */

#define DRAWS(X)                                                                                                       \
    X(glDrawArrays, (GLenum mode, GLint first, GLsizei count), (mode, first, count), count, 1)                         \
    X(glDrawElements, (GLenum mode, GLsizei count, GLenum type, const void *at), (mode, count, type, at), count, 1)    \
    X(glDrawRangeElements, (GLenum mode, GLuint start, GLuint end, GLsizei count, GLenum type, const void *at),        \
      (mode, start, end, count, type, at), count, 1)                                                                   \
    X(glDrawRangeElementsEXT, (GLenum mode, GLuint start, GLuint end, GLsizei count, GLenum type, const void *at),     \
      (mode, start, end, count, type, at), count, 1)                                                                   \
    X(glDrawElementsBaseVertex, (GLenum mode, GLsizei count, GLenum type, const void *at, GLint base),                 \
      (mode, count, type, at, base), count, 1)                                                                         \
    X(glDrawRangeElementsBaseVertex,                                                                                   \
      (GLenum mode, GLuint start, GLuint end, GLsizei count, GLenum type, const void *at, GLint base),                 \
      (mode, start, end, count, type, at, base), count, 1)                                                             \
    X(glDrawArraysInstanced, (GLenum mode, GLint first, GLsizei count, GLsizei instances),                             \
      (mode, first, count, instances), count, instances)                                                               \
    X(glDrawArraysInstancedARB, (GLenum mode, GLint first, GLsizei count, GLsizei instances),                          \
      (mode, first, count, instances), count, instances)                                                               \
    X(glDrawArraysInstancedEXT, (GLenum mode, GLint first, GLsizei count, GLsizei instances),                          \
      (mode, first, count, instances), count, instances)                                                               \
    X(glDrawArraysInstancedBaseInstance, (GLenum mode, GLint first, GLsizei count, GLsizei instances, GLuint base),    \
      (mode, first, count, instances, base), count, instances)                                                         \
    X(glDrawElementsInstanced, (GLenum mode, GLsizei count, GLenum type, const void *at, GLsizei instances),           \
      (mode, count, type, at, instances), count, instances)                                                            \
    X(glDrawElementsInstancedARB, (GLenum mode, GLsizei count, GLenum type, const void *at, GLsizei instances),        \
      (mode, count, type, at, instances), count, instances)                                                            \
    X(glDrawElementsInstancedEXT, (GLenum mode, GLsizei count, GLenum type, const void *at, GLsizei instances),        \
      (mode, count, type, at, instances), count, instances)                                                            \
    X(glDrawElementsInstancedBaseVertex,                                                                               \
      (GLenum mode, GLsizei count, GLenum type, const void *at, GLsizei instances, GLint vertex),                      \
      (mode, count, type, at, instances, vertex), count, instances)                                                    \
    X(glDrawElementsInstancedBaseInstance,                                                                             \
      (GLenum mode, GLsizei count, GLenum type, const void *at, GLsizei instances, GLuint base),                       \
      (mode, count, type, at, instances, base), count, instances)                                                      \
    X(glDrawElementsInstancedBaseVertexBaseInstance,                                                                   \
      (GLenum mode, GLsizei count, GLenum type, const void *at, GLsizei instances, GLint vertex, GLuint base),         \
      (mode, count, type, at, instances, vertex, base), count, instances)                                              \
    X(glDrawArraysIndirect, (GLenum mode, const void *at), (mode, at), UNKNOWN, UNKNOWN)                               \
    X(glDrawElementsIndirect, (GLenum mode, GLenum type, const void *at), (mode, type, at), UNKNOWN, UNKNOWN)          \
    X(glDrawTransformFeedback, (GLenum mode, GLuint id), (mode, id), UNKNOWN, 1)                                       \
    X(glDrawTransformFeedbackStream, (GLenum mode, GLuint id, GLuint stream), (mode, id, stream), UNKNOWN, 1)          \
    X(glDrawTransformFeedbackInstanced, (GLenum mode, GLuint id, GLsizei instances), (mode, id, instances), UNKNOWN,   \
      instances)                                                                                                       \
    X(glDrawTransformFeedbackStreamInstanced, (GLenum mode, GLuint id, GLuint stream, GLsizei instances),              \
      (mode, id, stream, instances), UNKNOWN, instances)

/* Functions that stand for an unknown number of draws, or for draws of unknown counts. */
#define LISTS(X)                                                                                                       \
    X(glCallList, (GLuint list), (list))                                                                               \
    X(glCallLists, (GLsizei count, GLenum type, const void *lists), (count, type, lists))                              \
    X(glEnd, (void), ())                                                                                               \
    X(glMultiDrawArraysIndirect, (GLenum mode, const void *at, GLsizei draws, GLsizei stride),                         \
      (mode, at, draws, stride))                                                                                       \
    X(glMultiDrawElementsIndirect, (GLenum mode, GLenum type, const void *at, GLsizei draws, GLsizei stride),          \
      (mode, type, at, draws, stride))                                                                                 \
    X(glDrawPixels, (GLsizei width, GLsizei height, GLenum format, GLenum type, const void *pixels),                   \
      (width, height, format, type, pixels))                                                                           \
    X(glBitmap, (GLsizei width, GLsizei height, float x, float y, float right, float up, const uint8_t *bits),         \
      (width, height, x, y, right, up, bits))                                                                          \
    X(glCopyPixels, (GLint x, GLint y, GLsizei width, GLsizei height, GLenum type), (x, y, width, height, type))

#define PAIRS(X)                                                                                                       \
    X(glAttachShader, GL_NOTE_ATTACH)                                                                                  \
    X(glAttachObjectARB, GL_NOTE_ATTACH)                                                                               \
    X(glDetachShader, GL_NOTE_DETACH)                                                                                  \
    X(glDetachObjectARB, GL_NOTE_DETACH)

#define SINGLES(X)                                                                                                     \
    X(glCompileShader, GL_NOTE_COMPILE)                                                                                \
    X(glCompileShaderARB, GL_NOTE_COMPILE)                                                                             \
    X(glLinkProgram, GL_NOTE_LINK)                                                                                     \
    X(glLinkProgramARB, GL_NOTE_LINK)                                                                                  \
    X(glUseProgram, GL_NOTE_USE)                                                                                       \
    X(glUseProgramObjectARB, GL_NOTE_USE)

#define SOURCES(X)                                                                                                     \
    X(glShaderSource)                                                                                                  \
    X(glShaderSourceARB)

#define GROUPS(X)                                                                                                      \
    X(glPushDebugGroup)                                                                                                \
    X(glPushDebugGroupKHR)

#define POPS(X)                                                                                                        \
    X(glPopDebugGroup)                                                                                                 \
    X(glPopDebugGroupKHR)                                                                                              \
    X(glPopGroupMarkerEXT)

#define LABELS(X)                                                                                                      \
    X(glObjectLabel)                                                                                                   \
    X(glObjectLabelKHR)

#define MULTIPLE(X)                                                                                                    \
    X(glMultiDrawArrays, (GLenum mode, const GLint *first, const GLsizei *counts, GLsizei draws),                      \
      (mode, first, counts, draws))                                                                                    \
    X(glMultiDrawArraysEXT, (GLenum mode, const GLint *first, const GLsizei *counts, GLsizei draws),                   \
      (mode, first, counts, draws))                                                                                    \
    X(glMultiDrawElements, (GLenum mode, const GLsizei *counts, GLenum type, const void *const *at, GLsizei draws),    \
      (mode, counts, type, at, draws))                                                                                 \
    X(glMultiDrawElementsEXT, (GLenum mode, const GLsizei *counts, GLenum type, const void *const *at, GLsizei draws), \
      (mode, counts, type, at, draws))                                                                                 \
    X(glMultiDrawElementsBaseVertex,                                                                                   \
      (GLenum mode, const GLsizei *counts, GLenum type, const void *const *at, GLsizei draws, const GLint *base),      \
      (mode, counts, type, at, draws, base))

#define OTHERS(X)                                                                                                      \
    X(glCreateShaderProgramv)                                                                                          \
    X(glLabelObjectEXT)                                                                                                \
    X(glPushGroupMarkerEXT)                                                                                            \
    X(glInsertEventMarkerEXT)                                                                                          \
    X(eglGetProcAddress)                                                                                               \
    X(glXGetProcAddress)                                                                                               \
    X(glXGetProcAddressARB)

#define DECLARE_DRAW(name, parameters, ...) HOOK void name parameters;
#define DECLARE_PAIR(name, kind)            HOOK void name(GLuint first, GLuint second);
#define DECLARE_SINGLE(name, kind)          HOOK void name(GLuint object);
#define DECLARE_SOURCE(name)                                                                                           \
    HOOK void name(GLuint shader, GLsizei count, const char *const *texts, const GLint *lengths);
#define DECLARE_GROUP(name) HOOK void name(GLenum source, GLuint id, GLsizei length, const char *text);
#define DECLARE_POP(name)   HOOK void name(void);
#define DECLARE_LABEL(name) HOOK void name(GLenum kind, GLuint object, GLsizei length, const char *text);
DRAWS(DECLARE_DRAW)
LISTS(DECLARE_DRAW)
MULTIPLE(DECLARE_DRAW)
PAIRS(DECLARE_PAIR)
SINGLES(DECLARE_SINGLE)
SOURCES(DECLARE_SOURCE)
GROUPS(DECLARE_GROUP)
POPS(DECLARE_POP)
LABELS(DECLARE_LABEL)
HOOK GLuint glCreateShaderProgramv(GLenum stage, GLsizei count, const char *const *texts);
HOOK void glLabelObjectEXT(GLenum kind, GLuint object, GLsizei length, const char *text);
HOOK void glPushGroupMarkerEXT(GLsizei length, const char *text);
HOOK void glInsertEventMarkerEXT(GLsizei length, const char *text);
HOOK procedure eglGetProcAddress(const char *name);
HOOK procedure glXGetProcAddress(const uint8_t *name);
HOOK procedure glXGetProcAddressARB(const uint8_t *name);

#define ALL(X)            DRAWS(X) LISTS(X) MULTIPLE(X) PAIRS(X) SINGLES(X) SOURCES(X) GROUPS(X) POPS(X) LABELS(X) OTHERS(X)
#define NUMBER(name, ...) NUMBER_##name,
#define ENTRY(name, ...)  {#name, (procedure)(name), NULL},

enum hook_number {
    ALL(NUMBER) HOOKS
};

static struct hook {
    const char *name;
    procedure own;
    procedure real;
} hooks[HOOKS] = {ALL(ENTRY)};

static struct hook *hook_of(const char *name) {
    if (name[0] == 'g' ? name[1] == 'l' : strncmp(name, "egl", 3) == 0) {
        for (size_t i = 0; i < HOOKS; i++) {
            if (strcmp(hooks[i].name, name) == 0) {
                return &hooks[i];
            }
        }
    }
    return NULL;
}

static procedure known(struct hook *hook) {
    return __atomic_load_n(&hook->real, __ATOMIC_RELAXED);
}

static procedure learn(struct hook *hook, procedure real) {
    if (real && real != hook->own && !known(hook)) {
        __atomic_store_n(&hook->real, real, __ATOMIC_RELAXED);
    }
    return known(hook);
}

static procedure symbol(void *handle, const char *name) {
    procedure found = NULL;
    *(void **)&found = real_symbol(handle, name);
    return found;
}

/* A function, wherever the program has loaded it from; NULL if it has not. */
static procedure find(const char *name) {
    static const char *const libraries[] = {"libGL.so.1",  "libOpenGL.so.0", "libGLESv2.so.2",
                                            "libEGL.so.1", "libGLX.so.0",    "libGLESv1_CM.so.1"};
    procedure found = symbol(RTLD_NEXT, name);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && !found; i++) {
        void *const library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) {
            found = symbol(library, name);
            (void)dlclose(library);
        }
    }
    return found;
}

static procedure real(enum hook_number number) {
    struct hook *const hook = &hooks[number];
    return known(hook) ? known(hook) : learn(hook, find(hook->name));
}

#define REAL(name) ((__typeof__(&(name)))real(NUMBER_##name))

/* --- how programs find functions --- */

static void *(*libc_dlsym)(void *, const char *);

void *real_symbol(void *handle, const char *name) {
    if (!libc_dlsym) {
        static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5", "GLIBC_2.0"};
        for (size_t i = 0; i < sizeof versions / sizeof versions[0] && !libc_dlsym; i++) {
            *(void **)&libc_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        }
    }
    return libc_dlsym ? libc_dlsym(handle, name) : NULL;
}

HOOK void *dlsym(void *handle, const char *name) {
    struct hook *const hook = hook_of(name);
    if (!hook) {
        /* As the last call, it leaves the caller's return address, which RTLD_NEXT depends on. */
        return libc_dlsym ? libc_dlsym(handle, name) : real_symbol(handle, name);
    }
    procedure found = symbol(handle, name);
    if (found == hook->own) {
        found = symbol(RTLD_NEXT, name);
    }
    void *result = NULL;
    if (found) {
        (void)learn(hook, found);
        *(procedure *)&result = hook->own;
    }
    return result;
}

static procedure own_or(const char *name, procedure found) {
    struct hook *const hook = found && name ? hook_of(name) : NULL;
    if (!hook) {
        return found;
    }
    (void)learn(hook, found);
    return hook->own;
}

procedure eglGetProcAddress(const char *name) {
    return REAL(eglGetProcAddress) ? own_or(name, REAL(eglGetProcAddress)(name)) : NULL;
}

procedure glXGetProcAddress(const uint8_t *name) {
    return REAL(glXGetProcAddress) ? own_or((const char *)name, REAL(glXGetProcAddress)(name)) : NULL;
}

procedure glXGetProcAddressARB(const uint8_t *name) {
    return REAL(glXGetProcAddressARB) ? own_or((const char *)name, REAL(glXGetProcAddressARB)(name)) : NULL;
}

/* --- shaders and programs --- */

static void note_words(enum gl_note_kind kind, size_t count, uint32_t first, uint32_t second) {
    const uint32_t words[] = {first, second};
    note(kind, words, count, NULL, 0);
}

static GLenum stage_of(GLuint shader) {
    static void (*get)(GLuint, GLenum, GLint *);
    static const char *const name = "glGetShaderiv";
    GLint stage = 0;
    if (!get) {
        procedure found = find(name);
        if (!found && REAL(eglGetProcAddress)) {
            found = REAL(eglGetProcAddress)(name);
        }
        *(procedure *)&get = found;
    }
    if (get) {
        get(shader, SHADER_TYPE, &stage);
    }
    return (GLenum)stage;
}

#define DEFINE_SOURCE(function)                                                                                        \
    void function(GLuint shader, GLsizei count, const char *const *texts, const GLint *lengths) {                      \
        if (REAL(function)) {                                                                                          \
            REAL(function)(shader, count, texts, lengths);                                                             \
            const uint32_t words[] = {shader, stage_of(shader)};                                                       \
            if (words[1] && count > 0 && texts) {                                                                      \
                note_pieces(GL_NOTE_SOURCE, words, 2, count, texts, lengths);                                          \
            }                                                                                                          \
        }                                                                                                              \
    }
SOURCES(DEFINE_SOURCE)

/* The program's one shader has no name: 0. */
GLuint glCreateShaderProgramv(GLenum stage, GLsizei count, const char *const *texts) {
    const GLuint program = REAL(glCreateShaderProgramv) ? REAL(glCreateShaderProgramv)(stage, count, texts) : 0;
    if (program && count > 0 && texts) {
        const uint32_t words[] = {0, stage};
        note_pieces(GL_NOTE_SOURCE, words, 2, count, texts, NULL);
        note_words(GL_NOTE_COMPILE, 1, 0, 0);
        note_words(GL_NOTE_ATTACH, 2, program, 0);
        note_words(GL_NOTE_LINK, 1, program, 0);
    }
    return program;
}

#define DEFINE_PAIR(function, kind)                                                                                    \
    void function(GLuint first, GLuint second) {                                                                       \
        if (REAL(function)) {                                                                                          \
            REAL(function)(first, second);                                                                             \
            note_words(kind, 2, first, second);                                                                        \
        }                                                                                                              \
    }
PAIRS(DEFINE_PAIR)

#define DEFINE_SINGLE(function, kind)                                                                                  \
    void function(GLuint object) {                                                                                     \
        if (REAL(function)) {                                                                                          \
            REAL(function)(object);                                                                                    \
            note_words(kind, 1, object, 0);                                                                            \
        }                                                                                                              \
    }
SINGLES(DEFINE_SINGLE)

/* --- names and groups --- */

#define DEFINE_LABEL(function)                                                                                         \
    void function(GLenum kind, GLuint object, GLsizei length, const char *text) {                                      \
        if (REAL(function)) {                                                                                          \
            REAL(function)(kind, object, length, text);                                                                \
        }                                                                                                              \
        const uint32_t words[] = {kind, object};                                                                       \
        note_pieces(GL_NOTE_LABEL, words, 2, 1, &text, &length);                                                       \
    }
LABELS(DEFINE_LABEL)

/* A length of 0 means up to the zero byte in EXT functions. */
void glLabelObjectEXT(GLenum kind, GLuint object, GLsizei length, const char *text) {
    if (REAL(glLabelObjectEXT)) {
        REAL(glLabelObjectEXT)(kind, object, length, text);
    }
    const uint32_t words[] = {kind, object};
    note_pieces(GL_NOTE_LABEL, words, 2, 1, &text, length > 0 ? &length : NULL);
}

#define DEFINE_GROUP(function)                                                                                         \
    void function(GLenum source, GLuint id, GLsizei length, const char *text) {                                        \
        if (REAL(function)) {                                                                                          \
            REAL(function)(source, id, length, text);                                                                  \
        }                                                                                                              \
        const uint32_t words[] = {source, id};                                                                         \
        note_pieces(GL_NOTE_PUSH, words, 2, 1, &text, &length);                                                        \
    }
GROUPS(DEFINE_GROUP)

void glPushGroupMarkerEXT(GLsizei length, const char *text) {
    if (REAL(glPushGroupMarkerEXT)) {
        REAL(glPushGroupMarkerEXT)(length, text);
    }
    const uint32_t words[] = {0, 0};
    note_pieces(GL_NOTE_PUSH, words, 2, 1, &text, length > 0 ? &length : NULL);
}

#define DEFINE_POP(function)                                                                                           \
    void function(void) {                                                                                              \
        if (REAL(function)) {                                                                                          \
            REAL(function)();                                                                                          \
        }                                                                                                              \
        note(GL_NOTE_POP, NULL, 0, NULL, 0);                                                                           \
    }
POPS(DEFINE_POP)

void glInsertEventMarkerEXT(GLsizei length, const char *text) {
    if (REAL(glInsertEventMarkerEXT)) {
        REAL(glInsertEventMarkerEXT)(length, text);
    }
    note_pieces(GL_NOTE_MARKER, NULL, 0, 1, &text, length > 0 ? &length : NULL);
}

/* --- draws --- */

/* Noted when the driver has put the draw into its batch: one that is sent during the call belongs to those before. */
static void note_draw(uint32_t mode, uint32_t vertices, uint32_t instances, uint32_t draws) {
    const uint32_t words[] = {mode, vertices, instances, draws};
    note(GL_NOTE_DRAW, words, 4, NULL, 0);
}

#define DEFINE_DRAW(function, parameters, arguments, vertices, instances)                                              \
    void function parameters {                                                                                         \
        if (REAL(function)) {                                                                                          \
            REAL(function) arguments;                                                                                  \
            note_draw(mode, (uint32_t)(vertices), (uint32_t)(instances), 1);                                           \
        }                                                                                                              \
    }
DRAWS(DEFINE_DRAW)

#define DEFINE_LIST(function, parameters, arguments)                                                                   \
    void function parameters {                                                                                         \
        if (REAL(function)) {                                                                                          \
            REAL(function) arguments;                                                                                  \
            note_draw(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);                                                             \
        }                                                                                                              \
    }
LISTS(DEFINE_LIST)

#define DEFINE_MULTIPLE(function, parameters, arguments)                                                               \
    void function parameters {                                                                                         \
        if (REAL(function)) {                                                                                          \
            REAL(function) arguments;                                                                                  \
            for (GLsizei i = 0; i < draws && counts; i++) {                                                            \
                note_draw(mode, (uint32_t)counts[i], 1, 1);                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
MULTIPLE(DEFINE_MULTIPLE)
