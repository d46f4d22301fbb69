/* A window that replaces an X server. */
#ifndef VIDEO_WINDOW_H
#define VIDEO_WINDOW_H

struct window {
    unsigned name; /* global name (flink) of the buffer */
    unsigned pitch;
    int x, y; /* position in the buffer */
    unsigned width, height;
    unsigned swaps; /* number of times it was shown */
};

extern struct window the_window;

#endif
