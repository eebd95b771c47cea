# The test programs that are run again on each device (stet_test_on_devices, double.cmake): those about behaviour that a device must not
# change. Included last, when all of them are there.
stet_test_on_devices(
    stage/hierarchy stage/stage stage/tree
    render/renderer render/same render/shade
    tiles/extract tiles/fault tiles/ring tiles/stage tiles/tiles
    worlds/poses worlds/reset worlds/snapshot worlds/worlds
    step/step
    sim/control sim/frame sim/same sim/sim)
