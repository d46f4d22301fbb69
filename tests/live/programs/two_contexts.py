"""Two GL ES contexts that draw alternately, each into its own framebuffer: python two_contexts.py OUTPUT.

Uses EGL and GL ES through ctypes, without a window.  Each context has its own program, clear color and vertex buffer,
set up once, so that every batch depends on the state in its context.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_uint, c_void_p

SIZE, ROUNDS = 64, 4

egl = ctypes.CDLL("libEGL.so.1")
gl = ctypes.CDLL("libGLESv2.so.2")
for name in ("eglGetProcAddress", "eglCreateContext"):
    getattr(egl, name).restype = c_void_p
egl.eglCreateContext.argtypes = [c_void_p, c_void_p, c_void_p, POINTER(c_int)]
egl.eglInitialize.argtypes = [c_void_p, c_void_p, c_void_p]
egl.eglChooseConfig.argtypes = [c_void_p, POINTER(c_int), POINTER(c_void_p), c_int, POINTER(c_int)]
egl.eglMakeCurrent.argtypes = [c_void_p, c_void_p, c_void_p, c_void_p]
gl.glClearColor.argtypes = [c_float] * 4
gl.glShaderSource.argtypes = [c_uint, c_int, POINTER(c_char_p), c_void_p]
gl.glBufferData.argtypes = [c_uint, ctypes.c_ssize_t, c_void_p, c_uint]
gl.glVertexAttribPointer.argtypes = [c_uint, c_int, c_uint, ctypes.c_ubyte, c_int, c_void_p]
gl.glTexImage2D.argtypes = [c_uint, c_int, c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p]
gl.glUniform4f.argtypes = [c_int] + [c_float] * 4

FRAMEBUFFER, ARRAY_BUFFER, TEXTURE_2D, RGBA, BYTE, FLOAT = 0x8D40, 0x8892, 0x0DE1, 0x1908, 0x1401, 0x1406
VERTEX = b"attribute vec2 p; varying vec2 v; void main() { gl_Position = vec4(p, 0.0, 1.0); v = p; }"
FRAGMENTS = (b"precision highp float; varying vec2 v; uniform vec4 t;"
             b"void main() { gl_FragColor = vec4(v * 0.5 + 0.5, t.x, 1.0); }",
             b"precision highp float; varying vec2 v; uniform vec4 t;"
             b"void main() { gl_FragColor = vec4(t.x, dot(v, v), t.y, 1.0); }")


def generate(function: str) -> int:
    made = c_uint()
    getattr(gl, function)(1, byref(made))
    return made.value


def set_up(which: int) -> int:
    """Set up one context; return the location of its uniform."""
    program = gl.glCreateProgram()
    for kind, source in ((0x8B31, VERTEX), (0x8B30, FRAGMENTS[which])):
        shader = gl.glCreateShader(kind)
        gl.glShaderSource(shader, 1, byref(c_char_p(source)), None)
        gl.glCompileShader(shader)
        gl.glAttachShader(program, shader)
    gl.glBindAttribLocation(program, 0, b"p")
    gl.glLinkProgram(program)
    gl.glUseProgram(program)
    gl.glBindTexture(TEXTURE_2D, texture := generate("glGenTextures"))
    gl.glTexParameteri(TEXTURE_2D, 0x2801, 0x2600)
    gl.glTexImage2D(TEXTURE_2D, 0, RGBA, SIZE, SIZE, 0, RGBA, BYTE, None)
    gl.glBindFramebuffer(FRAMEBUFFER, generate("glGenFramebuffers"))
    gl.glFramebufferTexture2D(FRAMEBUFFER, 0x8CE0, TEXTURE_2D, texture, 0)
    corners = (c_float * 6)(*((-0.9, -0.8, 0.9, -0.5, 0.1, 0.9), (-0.5, -0.9, 0.8, 0.3, -0.9, 0.7))[which])
    gl.glBindBuffer(ARRAY_BUFFER, generate("glGenBuffers"))
    gl.glBufferData(ARRAY_BUFFER, ctypes.sizeof(corners), corners, 0x88E4)
    gl.glVertexAttribPointer(0, 2, FLOAT, 0, 0, None)
    gl.glEnableVertexAttribArray(0)
    gl.glViewport(0, 0, SIZE, SIZE)
    gl.glClearColor(*((0.25, 0.0, 0.5, 1.0), (0.0, 0.75, 0.25, 1.0))[which])
    return int(gl.glGetUniformLocation(program, b"t"))


def main() -> None:
    get_display = ctypes.CFUNCTYPE(c_void_p, c_uint, c_void_p, c_void_p)(
        egl.eglGetProcAddress(b"eglGetPlatformDisplayEXT"))
    display = get_display(0x31DD, None, None)
    assert egl.eglInitialize(display, None, None)
    egl.eglBindAPI(0x30A0)
    config, count = c_void_p(), c_int()
    egl.eglChooseConfig(display, (c_int * 5)(0x3033, 1, 0x3040, 4, 0x3038), byref(config), 1, byref(count))
    contexts = [egl.eglCreateContext(display, config, None, (c_int * 3)(0x3098, 2, 0x3038)) for _ in range(2)]
    locations = []
    for which, context in enumerate(contexts):
        assert egl.eglMakeCurrent(display, None, None, context)
        locations.append(set_up(which))
    with open(sys.argv[1], "wb") as output:
        for turn in range(ROUNDS):
            for which, context in enumerate(contexts):
                egl.eglMakeCurrent(display, None, None, context)
                gl.glClear(0x4000)
                gl.glUniform4f(locations[which], 0.2 * turn, 0.1 * turn, 0, 0)
                gl.glDrawArrays(4, 0, 3)
                pixels = ctypes.create_string_buffer(SIZE * SIZE * 4)
                gl.glReadPixels(0, 0, SIZE, SIZE, RGBA, BYTE, pixels)
                output.write(pixels.raw)
    assert gl.glGetError() == 0


if __name__ == "__main__":
    main()
