/* What shows pictures in place of an X server. */
#ifndef VIDEO_WINDOW_H
#define VIDEO_WINDOW_H

struct window {
    unsigned name; /* of its buffer, as flink gives it */
    unsigned pitch;
    int x, y; /* where it lies in the buffer */
    unsigned width, height;
    unsigned swaps; /* how often it was shown */
};

extern struct window the_window;

#endif
