/*
 * Threads of a kernel's team and teams of a block, as measured to be fastest.
 *
 *   TEAM(kernel, family, team, teams)    family: the device's arch begins with it; "": any
 *
 * The first row that fits is used. A kernel without a row gets the default of its kind (sti_team_choose). No result
 * depends on the team. Include this file with TEAM defined; it undefines it.
 */
/* A warp a world: 13.5 ns a world and iteration at 8192 worlds on an H200 (64 threads: 17.2; 16: 16.7). */
TEAM(k_newton, "", 32, 1)
/* 0.016 ns a ray at 4096 x 4096 on an H200 (64 threads: 0.019 at 1000 x 1000). */
TEAM(k_pilot_rays, "", 256, 1)
/* 9.0 ns a world of 64 prims at 8192 worlds on an H200 (32 threads, 4 teams: 9.3). */
TEAM(k_pilot_level, "", 64, 1)
/*
 * 39 us for 1225 tiles of 120 x 120, 84 us with a conversion to floats, on an H200 (64 threads: 49 and 86; 256: 42 and
 * 100).
 */
TEAM(k_extract, "", 128, 1)
/* 50 us for 8192 worlds of 128 prims on an H200 (32 threads, 4 teams: 51; 256: 59). */
TEAM(k_forward, "", 64, 1)
/*
 * 923 us for colours and depths of 1024 hands, 64 x 64, on an H200 (32 threads: 1089; 64: 965; 256: 1036).
 * Code for a scene has its own (render/parts.c).
 */
TEAM(k_render, "", 128, 1)
/*
 * The code for all models. Native physics has others for its numbers of worlds, and gives them to copies of the kernel
 * (physics/native.c); with a row the kernel is not in one module with those that read quantities.
 */
TEAM(k_native_step, "", 32, 8)

#undef TEAM
