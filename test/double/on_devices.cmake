# The test programs that are run again on each device (stet_test_on_devices, double.cmake): those about behaviour that a
# device must not change. Included last, when all of them are there.
stet_test_on_devices(
    kernel/checked kernel/random_list
    stage/decor stage/hierarchy stage/prim stage/tendon stage/tree
    render/clip render/detail render/fisheye render/fog render/looks render/mode render/points render/sample
    render/shade render/shadow render/shape render/site render/variety
    physics/life physics/model_code physics/native physics/read physics/stages
    sim/division sim/idle sim/known sim/long_native sim/long_run sim/native sim/phase sim/recorded sim/round_known
    sim/same sim/sim sim/subset
    OFTEN
    render/crowd render/same render/soft render/surface
    tiles/extract tiles/tiles
    physics/beside
    sim/round
    HIP
    kernel/args kernel/binding kernel/binding_use kernel/foreign kernel/fuse kernel/graph kernel/external_capture
    kernel/list kernel/record kernel/team_memory kernel/recording kernel/user_names kernel/launch_observer
    stage/stage
    render/renderer
    tiles/fault tiles/ring tiles/stage
    worlds/poses worlds/reset worlds/snapshot worlds/worlds worlds/quantities
    physics/reset physics/room physics/tree_pairs
    step/faults step/step
    sim/beside sim/control sim/frame sim/native_tape sim/program sim/tape sim/tensor
    DOUBLES
    physics/contact_sensor physics/same)
foreach(run IN ITEMS "long_native cuda 2000 1024" "long_run cuda 10000" "program double-cuda 10000"
        "program cuda 100000" "recorded cuda 2000")
    separate_arguments(run)
    list(GET run 0 noun)
    list(GET run 1 device)
    list(SUBLIST run 2 -1 amount)
    stet_test_on(${device} "sim/${noun}_long" COMMAND test_sim_${noun} ${amount} TIER whole TIMEOUT 1800)
endforeach()
# What a frame shows after resets, writes and reads, with native physics instead of MuJoCo's on the host.
foreach(run IN ITEMS frame idle same sim subset tensor "long_run 10000")
    separate_arguments(run)
    list(POP_FRONT run noun)
    set(tier)
    if(run)
        set(tier whole)
    endif()
    stet_test_on(cuda "sim/${noun}_native" COMMAND test_sim_${noun} ${run} TIER ${tier} TIMEOUT 1800
        ENVIRONMENT STET_TEST_PHYSICS=native)
endforeach()
# Native physics with each stage of a time step as a kernel of its own.
foreach(noun IN ITEMS native room same)
    foreach(device IN ITEMS cpu double-cuda cuda)
        if(NOT (noun STREQUAL "same" AND device STREQUAL "cuda"))
            stet_test_on(${device} "physics/${noun}_apart" COMMAND test_physics_${noun} ENVIRONMENT STET_STAGES=apart)
        endif()
    endforeach()
endforeach()
# Code for each model takes a GPU's compiler longer than one test may: side by side.
foreach(part IN ITEMS shipped_scenes heaps_of_trees worlds_that_break random_trees random_trees_that_touch)
    stet_test_on(cuda "physics/same_${part}" COMMAND test_physics_same ${part} TIMEOUT 1800)
endforeach()
foreach(part IN ITEMS shipped_scenes random_trees_that_touch)
    stet_test_on(cuda "physics/same_${part}_apart" COMMAND test_physics_same ${part} 4 TIMEOUT 1800
        ENVIRONMENT STET_STAGES=apart)
endforeach()
foreach(package IN ITEMS gymnasium dm_control mujoco_warp)
    stet_test_on(cuda "physics/same_${package}" COMMAND test_physics_same models_of_other_projects TIMEOUT 1800
        ENVIRONMENT CORPUS=/${package}/)
endforeach()
# Pictures with code for their scene, part by part, few patches at a time. Those on the double compile for long.
foreach(noun IN ITEMS looks mode sample shade shadow site stand surface variety)
    set(tier)
    if(STET_SANITIZE OR NOT noun MATCHES "^(mode|sample|site)$")
        set(tier whole)
    endif()
    stet_test_on(double-cuda "render/${noun}_parts" COMMAND test_render_${noun} TIER ${tier} ENVIRONMENT STET_PARTS=7)
    stet_test_on(cuda "render/${noun}_parts" COMMAND test_render_${noun} ENVIRONMENT STET_PARTS=7)
endforeach()
# A list of devices of its own.
stet_test_doubles(group/link tiles/foreign tiles/ids)
stet_test_sees_gpu(tiles/foreign)
