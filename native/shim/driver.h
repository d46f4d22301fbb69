/* The struct drm_driver: what gem/, submit/ and kms/ do when a device file is opened, connected and closed. */
#ifndef SHIM_DRIVER_H
#define SHIM_DRIVER_H

/* Called once, before the first file is opened. */
void driver_start(void);
/* In the child of a fork. */
void driver_after_fork(void);

#endif
