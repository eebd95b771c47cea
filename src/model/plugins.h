/*
 * MuJoCo's own plugins (pid, touch_grid, shapes by signed distance, cable): libraries that MuJoCo ships beside its own.
 *
 * Invariants:
 *   PLUGINS-1  the libraries come from the folder of the MuJoCo library that this process has loaded, so they fit it
 *   PLUGINS-2  a library that cannot be loaded, or whose plugins are there already, is passed over: a model that needs
 *              it is refused by MuJoCo, which names the plugin
 */
#ifndef STI_MODEL_PLUGINS_H
#define STI_MODEL_PLUGINS_H

/* Loads the libraries, once in a process. Thread safe. */
void sti_load_plugins(void);

#endif
