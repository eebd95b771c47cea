/*
 * A humanoid of capsules and spheres on a floor: a floating base, 21 hinges with limits, and contacts of its limbs with
 * the floor and with each other. height: of the pelvis above the floor, as text. HUMANOIDS has text before and after
 * the humanoid, such as the two ends of <replicate>.
 */
#ifndef BENCH_PILOT_HUMANOID_H
#define BENCH_PILOT_HUMANOID_H

#define HUMANOIDS(height, options, before, after)                                                                      \
    "<mujoco><compiler angle='degree'/><option timestep='.005' " options                                               \
    "/><default><geom type='capsule' condim='1' friction='.7'/><joint "                                                \
    "limited='true'/></default><worldbody><geom type='plane' size='9 9 1' condim='3'/>" before                         \
    "<body pos='0 0 " height                                                                                           \
    "'><freejoint/><geom fromto='0 -.07 0 0 .07 0' size='.07'/><geom type='sphere' pos='0 0 .19' "                     \
    "size='.09'/><geom fromto='-.01 -.06 -.12 -.01 .06 -.12' size='.06'/><body pos='-.01 0 -.26'><joint "              \
    "name='z' axis='0 0 1' range='-45 45' damping='5' stiffness='20' armature='.01'/><joint name='y' axis='0 "         \
    "1 0' range='-75 30' damping='5' stiffness='20' armature='.01'/><geom fromto='0 -.06 0 0 .06 0' "                  \
    "size='.06'/><body pos='0 0 -.165'><joint name='x' axis='1 0 0' range='-35 35' damping='5' "                       \
    "stiffness='10' armature='.01'/><geom fromto='-.02 -.07 0 -.02 .07 0' size='.09'/><body pos='0 -0.1 "              \
    "-.04'><joint name='rh1' axis='-1 0 0' range='-30 10' damping='5' stiffness='10' armature='.01'/><joint "          \
    "name='rh2' axis='0 0 -1' range='-60 35' damping='5' stiffness='10' armature='.01'/><joint name='rh3' "            \
    "axis='0 1 0' range='-150 20' damping='5' stiffness='20' armature='.01'/><geom fromto='0 0 0 0 0.01 "              \
    "-.34' size='.06'/><body pos='0 0.01 -.4'><joint name='rk' axis='0 -1 0' range='-160 2' damping='1' "              \
    "stiffness='1' armature='.01'/><geom fromto='0 0 0 0 0 -.3' size='.049'/><body pos='0 0 -.39'><joint "             \
    "name='ra1' axis='0 1 0' range='-50 50' damping='1' stiffness='6' armature='.01'/><joint name='ra2' "              \
    "axis='1 0 .5' range='-50 50' damping='1' stiffness='3' armature='.01'/><geom fromto='-.07 0.01 0 .14 "            \
    "0.03 0' size='.027'/><geom fromto='-.07 -0.01 0 .14 -0.03 0' size='.027'/></body></body></body><body "            \
    "pos='0 0.1 -.04'><joint name='lh1' axis='1 0 0' range='-30 10' damping='5' stiffness='10' "                       \
    "armature='.01'/><joint name='lh2' axis='0 0 1' range='-60 35' damping='5' stiffness='10' "                        \
    "armature='.01'/><joint name='lh3' axis='0 1 0' range='-150 20' damping='5' stiffness='20' "                       \
    "armature='.01'/><geom fromto='0 0 0 0 -0.01 -.34' size='.06'/><body pos='0 -0.01 -.4'><joint name='lk' "          \
    "axis='0 -1 0' range='-160 2' damping='1' stiffness='1' armature='.01'/><geom fromto='0 0 0 0 0 -.3' "             \
    "size='.049'/><body pos='0 0 -.39'><joint name='la1' axis='0 1 0' range='-50 50' damping='1' "                     \
    "stiffness='6' armature='.01'/><joint name='la2' axis='1 0 .5' range='-50 50' damping='1' stiffness='3' "          \
    "armature='.01'/><geom fromto='-.07 -0.01 0 .14 -0.03 0' size='.027'/><geom fromto='-.07 0.01 0 .14 0.03 "         \
    "0' size='.027'/></body></body></body></body></body><body pos='0 -0.17 .06'><joint name='Rs1' axis='2 -1 "         \
    "1' range='-85 60' damping='1' stiffness='1' armature='.01'/><joint name='Rs2' axis='0 -1 -1' range='-85 "         \
    "60' damping='1' stiffness='1' armature='.01'/><geom fromto='0 0 0 .16 -0.16 -.16' size='.04'/><body "             \
    "pos='.18 -0.18 -.18'><joint name='Re' axis='0 -1 -1' range='-90 50' damping='1' stiffness='1' "                   \
    "armature='.01'/><geom fromto='.01 0.01 .01 .17 0.17 .17' size='.031'/><body pos='.18 0.18 .18'><geom "            \
    "type='sphere' size='.04'/></body></body></body><body pos='0 0.17 .06'><joint name='Ls1' axis='2 1 1' "            \
    "range='-85 60' damping='1' stiffness='1' armature='.01'/><joint name='Ls2' axis='0 -1 1' range='-85 60' "         \
    "damping='1' stiffness='1' armature='.01'/><geom fromto='0 0 0 .16 0.16 -.16' size='.04'/><body pos='.18 "         \
    "0.18 -.18'><joint name='Le' axis='0 -1 1' range='-90 50' damping='1' stiffness='1' "                              \
    "armature='.01'/><geom fromto='.01 -0.01 .01 .17 -0.17 .17' size='.031'/><body pos='.18 -0.18 .18'><geom "         \
    "type='sphere' size='.04'/></body></body></body></body>" after "</worldbody></mujoco>"
#define HUMANOID(height, options) HUMANOIDS(height, options, "", "")

#endif
