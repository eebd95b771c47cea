/*
 * MuJoCo's own plugins (pid, touch_grid, signed distance shapes, cable): libraries that MuJoCo ships beside its own.
 *
 * Invariants:
 *   PLUGINS-1  the libraries come from the folder of the MuJoCo library that this process has loaded, so they fit it
 *   PLUGINS-2  a library that cannot be loaded, or whose plugins are registered already, is skipped: MuJoCo refuses a
 *       model that needs it, and names the plugin
 */
#ifndef STI_MODEL_PLUGINS_H
#define STI_MODEL_PLUGINS_H

/* Loads the libraries, once per process. Thread-safe. */
void sti_load_plugins(void);

#endif
