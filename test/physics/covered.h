/* A scene that has a bit of everything that native physics covers: contacts, limits, equalities, mocap, activations. */
#ifndef TEST_PHYSICS_COVERED_H
#define TEST_PHYSICS_COVERED_H

#define COVERED_SCENE                                                                                                  \
    "<mujoco><option timestep='.005'/><default><geom contype='0' conaffinity='0'/></default><worldbody>"               \
    "<light pos='0 0 3'/><camera name='c' pos='1 -3 1' xyaxes='1 0 0 0 .3 1'/>"                                        \
    "<geom type='plane' size='5 5 1' contype='1' conaffinity='1'/>"                                                    \
    "<body pos='0 0 .3'><freejoint/><geom size='.1' contype='1' conaffinity='1'/></body>"                              \
    "<body pos='1 0 1'><joint name='s' axis='0 1 0' limited='true' range='-60 60' damping='.1'/>"                      \
    "<geom type='capsule' size='.04' fromto='0 0 0 .3 0 0'/><body pos='.3 0 0'>"                                       \
    "<joint name='e' axis='0 1 0' frictionloss='.05'/><geom type='capsule' size='.03' fromto='0 0 0 .3 0 0'/></body>"  \
    "</body><body name='held' pos='2 0 1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"                       \
    "<body name='hand' mocap='true' pos='2 0 1.2'><geom size='.05'/></body></worldbody>"                               \
    "<equality><weld body1='hand' body2='held'/><joint joint1='s' joint2='e' polycoef='0 1 0 0 0'/></equality>"        \
    "<actuator><position joint='s' kp='5'/><general joint='e' dyntype='filter' dynprm='.05' gainprm='2'/></actuator>"  \
    "<keyframe><key qpos='0 0 .12 1 0 0 0 .1 .1 2 0 1 1 0 0 0' ctrl='.2 .1' act='.3'/></keyframe></mujoco>"

#endif
