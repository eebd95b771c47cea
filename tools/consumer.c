/*
 * A program of somebody else's that uses the installed library (tools/check_install.sh): enough calls to need
 * everything that libstet is linked with.
 */
#include <stet/base.h>
#include <stet/device.h>
#include <stdio.h>

int main(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device = NULL;
    stet_result result = stet_device_create(&def, &device);
    if (result != STET_OK) {
        fprintf(stderr, "%s: %s\n", stet_result_sentence(result), stet_get_last_error());
        return 1;
    }
    printf("device: %s\n", stet_device_get_name(device));
    stet_device_destroy(device);
    return 0;
}
