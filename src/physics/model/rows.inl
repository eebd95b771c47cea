/*
 * The table of what native physics knows: a row for each number of a model (SIZE), table of ints (TABLE), parameter
 * (PARAMETER), quantity in a team's memory (MEMORY) and quantity there that only stage after makes (AFTER).
 *
 *   SIZE(number, name, value)                      value: of the model `m`, or of the tables so far, `t`
 *   TABLE(number, name, n)                         n ints of MuJoCo's array of that name
 *   PARAMETER(number, name, n, have, take)         the first `take` of `have` reals of each of n items of that array
 *   PARAMETER_OF(number, name, array, n, have, take)
 *   MEMORY(number, name, n), AFTER(number, name, n)    n reals, which callers know by that name
 *   MEMORY_OWN(number, name, n)                    n reals that nobody reads from outside
 *
 * Rows …_MADE(number, name) are filled by a function, in tables.c and what it calls. C names a row by its number
 * (numbers.h), kernels by its name: nv(w) is a size, body_parentid(w) a table, body_mass(w, i) a parameter, xpos(w) a
 * quantity (world.k.h; physics/access.k.h is made of this file when the build is configured, cmake/StetPhysics.cmake).
 * A new number is a row here, at the end of its group, and, if it is MADE, a function that fills it.
 *
 * Who includes this file defines the rows that it wants; the others are empty.
 */
#ifndef SIZE
#define SIZE(number, name, a)
#endif
#ifndef SIZE_MADE
#define SIZE_MADE(number, name)
#endif
#ifndef TABLE
#define TABLE(number, name, a)
#endif
#ifndef TABLE_MADE
#define TABLE_MADE(number, name)
#endif
#ifndef PARAMETER
#define PARAMETER(number, name, a, b, c)
#endif
#ifndef PARAMETER_OF
#define PARAMETER_OF(number, name, a, b, c, d)
#endif
#ifndef PARAMETER_MADE
#define PARAMETER_MADE(number, name)
#endif
#ifndef MEMORY
#define MEMORY(number, name, a)
#endif
#ifndef MEMORY_OWN
#define MEMORY_OWN(number, name, a)
#endif
#ifndef AFTER
#define AFTER(number, name, a)
#endif
#ifndef AFTER_MADE
#define AFTER_MADE(number, name)
#endif
#ifndef GROUP
#define GROUP(number)
#endif

/* clang-format off */

/* sizes and options */
GROUP(PH_SIZE_FIRST)
SIZE(M_NQ, nq, m->nq) /* reals of qpos */
SIZE(M_NV, nv, m->nv) /* dofs */
SIZE(M_NPLACE, nplace, sti_physics_place_dofs(m, NULL)) /* rows of H but the one that is solved with it, see places.h */
SIZE(M_NTILE, ntile, (t->m[M_NPLACE] + 4) / 4) /* rows of tiles of H, see pattern.k.h */
SIZE(M_NNODE, nnode, sti_physics_count_nodes(m)) /* of many trees: rows of tiles of 8 by 8, see islands.k.h; else 0 */
SIZE(M_NODE_TILE, nodetile, sti_physics_count_node_tiles(m)) /* such tiles that the factor has room for */
/* ints that have a bit for each row of tiles; 0: of many trees a step finds them */
SIZE(M_NWORD, nword, t->m[M_NNODE] > 0 ? 0 : (t->m[M_NTILE] + 31) / 32)
/* ints of the pattern of H, or of islands */
SIZE(M_NPATTERN, npattern, t->m[M_NNODE] > 0
    ? sti_physics_count_island_ints(m)
    : t->m[M_NTILE] * (2 * t->m[M_NWORD] + 4) + 2 + t->m[M_NTILE] * (t->m[M_NTILE] + 1) / 2)
SIZE(M_NU, nu, m->nu) /* controls */
SIZE(M_NA, na, m->na) /* activations */
SIZE(M_NBODY, nbody, m->nbody)
SIZE(M_NJNT, njnt, m->njnt)
SIZE(M_NGEOM, ngeom, m->ngeom)
SIZE(M_NSITE, nsite, m->nsite)
SIZE(M_NMOCAP, nmocap, m->nmocap)
SIZE(M_NTENDON, ntendon, m->ntendon)
SIZE(M_NACTUATOR, nactuator, m->nactuator)
SIZE(M_NOUT, nout, m->nout) /* outputs of actuators: one or, on a relative orientation, three each */
SIZE(M_NMOTOR, nmotor, sti_physics_count_motors(m)) /* DC motors and PID controllers */
SIZE(M_NSO3, nso3, sti_physics_count_orientations(m)) /* actuators on relative orientations */
SIZE(M_NPLUGINPID, npluginpid, sti_physics_count_plugin_pids(m)) /* actuators of the plugin mujoco.pid */
SIZE(M_NHISTORY, nhistory, m->nhistory) /* reals of history, see delay.k.h */
SIZE(M_NTIME, ntime, sti_physics_needs_time(m)) /* 1: something needs the time */
SIZE(M_NRAYSHAPE, nrayshape, sti_physics_count_ray_shapes(m)) /* meshes and height fields that rays may hit */
/* controls that are 1 after a reset: the first of those that are a quaternion */
SIZE(M_NQUATCTRL, nquatctrl, sti_physics_count_quat_controls(m))
SIZE(M_NC, nC, m->nC) /* entries of qM */
SIZE(M_NTENJ, ntenj, m->nJten) /* entries of ten_J */
SIZE(M_INTEGRATOR, integrator, m->opt.integrator) /* mjtIntegrator */
SIZE(M_NEQ, neq, m->neq) /* equalities */
SIZE(M_ITERATIONS, iterations, m->opt.iterations)
SIZE(M_LS_ITERATIONS, ls_iterations, m->opt.ls_iterations)
/* 0: none, also where nothing can slip */
SIZE(M_NOSLIP_ITERATIONS, noslip_iterations, sti_physics_slips(m) ? m->opt.noslip_iterations : 0)
SIZE(M_NMUSCLE, nmuscle, sti_physics_count_muscles(m)) /* actuators that have anything of a muscle */
SIZE(M_NSITEACTUATOR, nsiteactuator, sti_physics_count_site_actuators(m)) /* actuators on sites, slider-cranks */
SIZE(M_NADHESION, nadhesion, sti_physics_count_adhesion(m)) /* actuators that pull bodies to what they touch */
SIZE(M_CCD_ITERATIONS, ccd_iterations, m->opt.ccd_iterations) /* of convex pairs */
SIZE(M_NLINK, nlink, sti_physics_count_links(m)) /* links of spatial tendons, see tendon.k.h */
/* reals a dof of W_SLOPE_DOF: 0, 6 for fluid forces, 24 for all that velocities of bodies do */
SIZE(M_SLOPE, slope, sti_physics_slope_size(m))
/* the same for sites */
/* geoms whose poses a step needs, from the first on: 0 or ngeom */
SIZE(M_STEP_NGEOM, step_ngeom, sti_physics_has_pairs(m) || sti_physics_senses_geoms(m) || t->m[M_NLINK] > 0 ||
                                       sti_physics_count_ellipsoids(m) > 0
                                   ? m->ngeom
                                   : 0)
SIZE(M_STEP_NSITE, step_nsite, sti_physics_senses_sites(m) || t->m[M_NSITEACTUATOR] > 0 || t->m[M_NLINK] > 0
    ? m->nsite : 0)
/* 0: there are none, or they are disabled */
SIZE(M_NSENSORDATA, nsensordata, sti_physics_has_sensors(m) ? m->nsensordata : 0)
/* what the last time step of a call does beside: bits PH_EXTRA_… */
SIZE(M_STEP_EXTRA, step_extra, sti_physics_sensing(m))
SIZE(M_ADHESIVE, adhesive, sti_physics_is_adhesive(m)) /* 1: contacts of geoms pull */
SIZE(M_GAPS, gaps, sti_physics_sees_gaps(m)) /* 1: contacts within a gap count */
SIZE(M_SURFACES, surfaces, m->flg_surfacevel &&sti_physics_has_pairs(m)) /* 1: surfaces of geoms move against these */
SIZE_MADE(M_NLEVEL, nlevel) /* levels of the tree of bodies, without the world's */
SIZE_MADE(M_NDOFLEVEL, ndoflevel) /* levels of the tree of dofs */
SIZE_MADE(M_NFREE, nfree) /* of M_FREE_BODY */
SIZE_MADE(M_NMOMENT, nmoment) /* entries of actuator_moment */
SIZE_MADE(M_NMEMORY, nmemory) /* reals of team memory */
SIZE_MADE(M_FLAGS, model_flags) /* bits PH_… */
SIZE_MADE(M_NBLOCK, nblock) /* constraint blocks, see constraint.k.h */
SIZE_MADE(M_NSLOT, nslot) /* slots, at most */
SIZE_MADE(M_NROW, nrow) /* rows of them, at most */
SIZE_MADE(M_NEFCJ, nefcj) /* reals of their Jacobians, at most */
SIZE_MADE(M_NPAIR, npair) /* pairs of geoms that may touch */
SIZE_MADE(M_NINTS, nints) /* ints of plain team memory */
SIZE_MADE(M_NSENSOR, nsensor) /* sensors that need no rows of constraints: the first ones of M_SENSOR */
SIZE_MADE(M_NSENSORROW, nsensorrow) /* those behind them, that do: touch and forces of limits */
SIZE_MADE(M_NRAYGEOM, nraygeom)
SIZE_MADE(M_NMEMORY_ALL, nmemory_all) /* reals of team memory with what stage after makes */
SIZE_MADE(M_BLOCKDIM, blockdim) /* rows of a block, at most */
SIZE_MADE(M_NTOUCH, ntouch) /* geoms that may touch another */
SIZE_MADE(M_NGROUP, ngroup) /* groups of pairs of geoms, see groups.h */
SIZE_MADE(M_NNEAR, nnear) /* near pairs that a team lists, at most */
SIZE_MADE(M_NTREE, ntree) /* trees whose geoms a step pairs itself, see tree_pairs.h; 0: all pairs are in M_PAIR */
SIZE_MADE(M_NKIND, nkind) /* kinds of their geoms */
SIZE_MADE(M_NMADE, nmade) /* pairs of two kinds */
SIZE_MADE(M_NLISTED, nlisted) /* ints of the lists of dofs of such a pair, at most */
/* 1: worlds without room are held, because there can be more; 0: this is all the room */
SIZE_MADE(M_HOLDS, holds_worlds)
SIZE_MADE(M_NSENSORCONTACT, nsensorcontact) /* contact sensors: the last ones of M_SENSOR */
/* sensors of distances of geoms, and what goes with that: the last ones of M_SENSOR */
SIZE_MADE(M_NSENSORDISTANCE, nsensordistance)
SIZE_MADE(M_NSENSORCAMERA, nsensorcamera) /* rangefinders on cameras: the last ones of M_SENSOR */
SIZE_MADE(M_NPAST, npast) /* controls that are kept, and */
SIZE_MADE(M_NPASTSENSOR, npastsensor) /* sensors, behind them in M_PAST */
SIZE_MADE(M_MESHED, meshed) /* 1: a geom has other meshes in other worlds */

/* tables of the model */
GROUP(PH_TABLE_FIRST)
TABLE(M_BODY_PARENTID, body_parentid, m->nbody)
TABLE(M_BODY_ROOTID, body_rootid, m->nbody)
TABLE(M_BODY_MOCAPID, body_mocapid, m->nbody)
TABLE(M_BODY_JNTNUM, body_jntnum, m->nbody)
TABLE(M_BODY_JNTADR, body_jntadr, m->nbody)
TABLE(M_BODY_DOFNUM, body_dofnum, m->nbody)
TABLE(M_BODY_DOFADR, body_dofadr, m->nbody)
TABLE(M_BODY_SAMEFRAME, body_sameframe, m->nbody)
TABLE_MADE(M_BODY_FLAGS, body_flags) /* bits PH_BODY_… */
TABLE_MADE(M_LEVEL_ADR, level_adr) /* nlevel + 1 places in LEVEL_BODY */
TABLE_MADE(M_LEVEL_BODY, level_body) /* bodies but the world, parents first */
TABLE_MADE(M_CHILD_ADR, body_child_adr) /* nbody + 1 places in CHILD */
TABLE_MADE(M_CHILD, body_child) /* children of each body, ascending */
TABLE(M_JNT_TYPE, jnt_type, m->njnt)
TABLE(M_JNT_QPOSADR, jnt_qposadr, m->njnt)
TABLE(M_JNT_DOFADR, jnt_dofadr, m->njnt)
TABLE(M_JNT_BODYID, jnt_bodyid, m->njnt)
TABLE_MADE(M_JNT_FLAGS, jnt_flags) /* bits PH_JNT_… */
TABLE(M_DOF_BODYID, dof_bodyid, m->nv)
TABLE(M_DOF_JNTID, dof_jntid, m->nv)
TABLE_MADE(M_DOF_FLAGS, dof_flags) /* bits PH_DOF_… */
TABLE(M_M_ROWNNZ, M_rownnz, m->nv) /* entries of row i of qM: the dofs above i, ascending, and i itself */
TABLE(M_M_ROWADR, M_rowadr, m->nv)
TABLE(M_M_COLIND, M_colind, m->nC)
TABLE_MADE(M_DOFLEVEL_ADR, doflevel_adr) /* ndoflevel + 1 places in DOFLEVEL */
TABLE_MADE(M_DOFLEVEL, doflevel) /* dofs, those with nothing above them first */
TABLE_MADE(M_BELOW_ADR, below_adr) /* nv + 1 places in BELOW_ROW and BELOW_ENTRY */
TABLE_MADE(M_BELOW_ROW, below_row) /* dofs below each dof, descending */
TABLE_MADE(M_BELOW_ENTRY, below_entry) /* the entry of qM in the row of that dof and the column of this */
TABLE(M_GEOM_BODYID, geom_bodyid, m->ngeom)
TABLE(M_GEOM_SAMEFRAME, geom_sameframe, m->ngeom)
TABLE(M_SITE_BODYID, site_bodyid, m->nsite)
TABLE(M_SITE_SAMEFRAME, site_sameframe, m->nsite)
TABLE_MADE(M_TEN_J_ROWADR, ten_J_rowadr) /* ntendon + 1 places in TEN_J_COLIND */
TABLE(M_TEN_J_COLIND, ten_J_colind, m->nJten) /* dofs of each tendon, ascending */
TABLE_MADE(M_TEN_J_QPOS, ten_J_qpos) /* the place in qpos that belongs to an entry of ten_J */
TABLE_MADE(M_TEN_FLAGS, tendon_flags) /* bits PH_TEN_… */
TABLE_MADE(M_DOF_TEN_ADR, dof_ten_adr) /* nv + 1 places in DOF_TEN */
TABLE_MADE(M_DOF_TEN, dof_ten) /* pairs: tendon, entry of ten_J, by tendon */
TABLE(M_ACT_TRNTYPE, actuator_trntype, m->nactuator)
TABLE_MADE(M_ACT_TRNID, actuator_trnid)
TABLE(M_ACT_DYNTYPE, actuator_dyntype, m->nactuator)
TABLE(M_ACT_GAINTYPE, actuator_gaintype, m->nactuator)
TABLE(M_ACT_BIASTYPE, actuator_biastype, m->nactuator)
TABLE_MADE(M_ACT_ACTADR, actuator_actadr) /* the activation that the force reads; -1: none */
TABLE_MADE(M_ACT_FLAGS, actuator_flags) /* bits PH_ACT_… */
TABLE_MADE(M_MOMENT_ROWADR, moment_rowadr) /* nout + 1 places in MOMENT_COLIND */
TABLE_MADE(M_MOMENT_COLIND, moment_colind)
TABLE_MADE(M_DOF_ACT_ADR, dof_act_adr) /* nv + 1 places in DOF_ACT */
TABLE_MADE(M_DOF_ACT, dof_act) /* pairs: output, entry of actuator_moment, by output */
TABLE_MADE(M_TEN_ACT_ADR, tendon_act_adr) /* ntendon + 1 places in TEN_ACT */
TABLE_MADE(M_TEN_ACT, tendon_act) /* outputs that pull each tendon, ascending */
TABLE_MADE(M_ENTRY_ADR, entry_adr) /* nC + 1 places in ENTRY_PAIR: what of J' b J adds to an entry of qM */
TABLE_MADE(M_ENTRY_PAIR, entry_pair) /* four ints: 0 a tendon or 1 an output, its id, the two entries of its row */
TABLE_MADE(M_FREE_BODY, free_body) /* bodies whose accelerations the integrator solves for apart, see ph_free_step */
TABLE_MADE(M_BLOCK, block_first) /* descriptions of constraint blocks, B_SIZE ints each */
/* dofs of blocks: pairs of a dof and bits: 1 it moves the first body, 2 the second */
TABLE_MADE(M_BLOCK_DOFS, block_dofs)
TABLE_MADE(M_PAIR, pair_first) /* blocks of pairs: see contact.k.h */
TABLE(M_GEOM_TYPE, geom_type, m->ngeom)
TABLE_MADE(M_SENSOR, sensor_first) /* SN_SIZE ints a sensor, see sensor.k.h */
TABLE_MADE(M_RAY_GEOM, ray_geom) /* geoms that rays of sensors may hit: those that are not transparent */
TABLE(M_SITE_TYPE, site_type, m->nsite)
TABLE_MADE(M_GEOM_SHAPE, geom_shape) /* where in M_SHAPES the record of a geom's mesh or height field is */
TABLE_MADE(M_PAIR_GROUP, pair_group) /* of each pair of geoms: its group, or -1 */
/* pairs: a row of a triangle and the first of up to PH_CHUNK entries of it, see ph_item */
TABLE_MADE(M_TRIANGLE, triangle_chunk)
/* rows of tiles of H in which each column of tiles of M has entries: M_NWORD ints of bits */
TABLE_MADE(M_M_TILES, M_tiles)
TABLE_MADE(M_BLOCK_TILES, block_tiles) /* those in which each block has dofs */
TABLE_MADE(M_NODE_TREE, node_tree) /* of each row of tiles of islands: its tree */
TABLE_MADE(M_PLACE, dof_place) /* of each dof: its row of H */
TABLE_MADE(M_M_PLACE, M_place) /* of each entry of qM: its place in W_H */
TABLE_MADE(M_BLOCK_PLACES, block_places) /* rows of H of the dofs of blocks */
TABLE_MADE(M_GROUP, group_geom) /* of each group the two geoms whose places are those of its parts */
TABLE_MADE(M_TREE_ADR, tree_adr) /* ntree + 1 places in TREE_GEOM */
TABLE_MADE(M_TREE_GEOM, tree_geom) /* geoms of those trees, ascending */
TABLE_MADE(M_TREE_CENTRE, tree_centre) /* of each tree the geom in the middle of its sphere */
TABLE_MADE(M_GEOM_TREE, geom_tree) /* of each geom its tree, or -1 */
TABLE_MADE(M_GEOM_KIND, geom_kind) /* and its kind */
TABLE_MADE(M_KIND_PAIR, kind_pair) /* of two kinds: their description, behind those of pairs; -1: they do not touch */
TABLE_MADE(M_APART_ADR, geom_apart_adr) /* ngeom + 1 places in APART */
TABLE_MADE(M_APART, geom_apart) /* geoms of later trees that each geom does not touch in spite of its kind */
TABLE_MADE(M_ROW_ADR, geom_pair_adr) /* ngeom + 1 pairs of M_PAIR: from where on each geom is the first of the two */
TABLE_MADE(M_GEOM_CHAIN, geom_chain) /* of each geom in a tree: where in m the dofs that move it are, and how many */
TABLE_MADE(M_CHAIN, geom_chain_dof) /* those */
/* of each pair of geoms: how many come before it in MuJoCo's order, see pair_order.h */
TABLE_MADE(M_PAIR_ORDER, pair_order)
TABLE_MADE(M_ACT_REFID, actuator_refid) /* the reference site of an actuator, or the slider; -1: none */
TABLE_MADE(M_MOMENT_SIDE, moment_side) /* of entries of actuator_moment: 1, -1, see site_transmission.k.h */
TABLE_MADE(M_LINK, link_first) /* LK_SIZE ints a link */
TABLE_MADE(M_TEN_LINK_ADR, tendon_link_adr) /* ntendon + 1 places in LINK */
/* of entries of ten_J, if there are links: M_NTENJ + 1 places in TEN_PULL */
TABLE_MADE(M_TEN_PULL_ADR, tendon_pull_adr)
TABLE_MADE(M_TEN_PULL, tendon_pull) /* 3 * link + 0 its first site, 1 its geom, 2 its second site */
TABLE_MADE(M_CTRL_LIMITED, ctrl_limited) /* of controls: 1 where they are clamped, 2 where they would be */
TABLE(M_ACT_CTRLADR, actuator_ctrladr, m->nactuator)
TABLE(M_ACT_CTRLNUM, actuator_ctrlnum, m->nactuator)
TABLE(M_ACT_OUTADR, actuator_outadr, m->nactuator)
TABLE(M_ACT_ACTNUM, actuator_actnum, m->nactuator) /* activations, those up to M_ACT_ACTADR */
/* bits of mjtCtrlInput, where there are motors */
TABLE(M_ACT_INPUT, actuator_ctrlspec, t->m[M_NMOTOR] > 0 ? m->nactuator : 0)
TABLE_MADE(M_ACT_SLOT, actuator_slot) /* PH_MOTOR_SLOTS ints an actuator, where there are motors, see motor.k.h */
TABLE_MADE(M_QUATCTRL, quatctrl)
TABLE_MADE(M_RAY_SHAPE, ray_shape) /* of geoms, if rays may hit meshes or height fields: four ints, see ph_ray_shape */
TABLE_MADE(M_FLUID_ADR, fluid_adr) /* nbody + 1 places in FLUID_GEOM */
TABLE_MADE(M_FLUID_GEOM, fluid_geom) /* geoms on which the medium acts as on ellipsoids, by body */
TABLE(M_BODY_WELDID, body_weldid, sti_physics_count_grids(m) > 0 ? m->nbody : 0) /* if there are grids of touch */
TABLE_MADE(M_PAST, past_first) /* PA_SIZE ints of each control and sensor that is kept */
TABLE_MADE(M_MESH_SHAPE, mesh_shape) /* of meshes, if meshed(w): as geom_shape */

/* parameters */
GROUP(PH_PARAMETER_FIRST)
PARAMETER_MADE(M_TIMESTEP, timestep)
PARAMETER_MADE(M_GRAVITY, gravity)
PARAMETER(M_QPOS0, qpos0, m->nq, 1, 1)
PARAMETER(M_QPOS_SPRING, qpos_spring, m->nq, 1, 1)
PARAMETER(M_BODY_POS, body_pos, m->nbody, 3, 3)
PARAMETER(M_BODY_QUAT, body_quat, m->nbody, 4, 4)
PARAMETER(M_BODY_IPOS, body_ipos, m->nbody, 3, 3)
PARAMETER(M_BODY_IQUAT, body_iquat, m->nbody, 4, 4)
PARAMETER(M_BODY_MASS, body_mass, m->nbody, 1, 1)
PARAMETER(M_BODY_INERTIA, body_inertia, m->nbody, 3, 3)
PARAMETER(M_BODY_GRAVCOMP, body_gravcomp, m->nbody, 1, 1)
PARAMETER_MADE(M_BODY_INVSUBTREEMASS, body_invsubtreemass) /* 1 / body_subtreemass, 0 where that is 0 */
PARAMETER(M_JNT_POS, jnt_pos, m->njnt, 3, 3)
PARAMETER(M_JNT_AXIS, jnt_axis, m->njnt, 3, 3)
PARAMETER(M_JNT_STIFFNESS, jnt_stiffness, m->njnt, 1, 1)
PARAMETER(M_JNT_STIFFNESSPOLY, jnt_stiffnesspoly, m->njnt, mjNPOLY, 2)
PARAMETER(M_JNT_ACTFRCRANGE, jnt_actfrcrange, m->njnt, 2, 2)
PARAMETER_MADE(M_DOF_ARMATURE, dof_armature) /* with what actuators add */
PARAMETER_MADE(M_DOF_DAMPING, dof_damping)
PARAMETER_MADE(M_DOF_DAMPINGPOLY, dof_dampingpoly)
PARAMETER(M_DOF_M0, dof_M0, m->nv, 1, 1) /* used for simple dofs */
PARAMETER(M_GEOM_POS, geom_pos, m->ngeom, 3, 3)
PARAMETER(M_GEOM_QUAT, geom_quat, m->ngeom, 4, 4)
PARAMETER(M_SITE_POS, site_pos, m->nsite, 3, 3)
PARAMETER(M_SITE_QUAT, site_quat, m->nsite, 4, 4)
PARAMETER_MADE(M_TEN_COEF, tendon_coef) /* entries of ten_J of fixed tendons, 0 for others */
PARAMETER(M_TEN_STIFFNESS, tendon_stiffness, m->ntendon, 1, 1)
PARAMETER(M_TEN_STIFFNESSPOLY, tendon_stiffnesspoly, m->ntendon, mjNPOLY, 2)
PARAMETER_MADE(M_TEN_DAMPING, tendon_damping)
PARAMETER_MADE(M_TEN_DAMPINGPOLY, tendon_dampingpoly)
PARAMETER(M_TEN_LENGTHSPRING, tendon_lengthspring, m->ntendon, 2, 2)
PARAMETER_MADE(M_TEN_ARMATURE, tendon_armature)
PARAMETER(M_TEN_ACTFRCRANGE, tendon_actfrcrange, m->ntendon, 2, 2)
PARAMETER(M_ACT_DYNPRM, actuator_dynprm, m->nactuator, mjNDYN, 1) /* the first */
PARAMETER(M_ACT_GAINPRM, actuator_gainprm, m->nactuator, mjNGAIN, 3) /* three */
PARAMETER(M_ACT_BIASPRM, actuator_biasprm, m->nactuator, mjNBIAS, 3) /* three */
PARAMETER(M_ACT_GEAR, actuator_gear, m->nout, 6, 6)
PARAMETER(M_ACT_ACTRANGE, actuator_actrange, m->nactuator, 2, 2)
PARAMETER(M_ACT_CTRLRANGE, actuator_ctrlrange, m->nu, 2, 2)
PARAMETER(M_ACT_FORCERANGE, actuator_forcerange, m->nactuator, 2, 2)
PARAMETER_MADE(M_RESET_MOCAP_POS, reset_mocap_pos) /* mocap poses after a reset */
PARAMETER_MADE(M_RESET_MOCAP_QUAT, reset_mocap_quat)
PARAMETER_MADE(M_BLOCK_PRM, block_prm) /* P_SIZE reals a block */
PARAMETER(M_JNT_RANGE, jnt_range, m->njnt, 2, 2)
PARAMETER(M_TEN_RANGE, tendon_range, m->ntendon, 2, 2)
PARAMETER_MADE(M_EQ_DATA, eq_data) /* 15 reals an equality: see put_equality */
PARAMETER_MADE(M_TOLERANCE, solver_tolerance)
PARAMETER_MADE(M_LS_TOLERANCE, ls_tolerance)
PARAMETER_MADE(M_SOLVER_SCALE, solver_scale) /* 1 / (meaninertia * nv) */
PARAMETER(M_EQ_ACTIVE0, eq_active0, m->neq, 1, 1)
PARAMETER(M_GEOM_SIZE, geom_size, m->ngeom, 3, 3)
PARAMETER_MADE(M_SENSOR_CUTOFF, sensor_cutoff) /* in the order of M_SENSOR */
PARAMETER_MADE(M_MAGNETIC, magnetic)
PARAMETER(M_SITE_SIZE, site_size, m->nsite, 3, 3)
PARAMETER(M_CAM_POS, cam_pos, m->ncam, 3, 3)
PARAMETER(M_CAM_QUAT, cam_quat, m->ncam, 4, 4)
PARAMETER_MADE(M_CCD_TOLERANCE, ccd_tolerance)
PARAMETER_MADE(M_SHAPE_PRM, shape_prm) /* of hulls: vertices, normals; of height fields: four sizes, heights */
PARAMETER_MADE(M_FLUID, fluid) /* density, viscosity, wind */
PARAMETER(M_GEOM_AABB, geom_aabb, m->ngeom, 6, 6) /* boxes of geoms: centre and half sizes in the geom's frame */
/* of each group: its parts are apart where those geoms' places are farther apart */
PARAMETER_MADE(M_GROUP_REACH, group_reach)
/* behind all reals, ints: hulls (collide/hull.k.h), height fields (rows, columns, sizes) */
PARAMETER_MADE(M_SHAPES, shapes_first)
PARAMETER_MADE(M_GEOM_BOUND, geom_bound) /* of geoms in those trees: radius of the bounding sphere and margin */
PARAMETER_MADE(M_NOSLIP_TOLERANCE, noslip_tolerance)
/* of actuators, nine each, if there are muscles */
PARAMETER_OF(M_MUSCLE_GAIN, muscle_gainprm, actuator_gainprm, t->m[M_NMUSCLE] > 0 ? m->nactuator : 0, mjNGAIN, 9)
PARAMETER_OF(M_MUSCLE_BIAS, muscle_biasprm, actuator_biasprm, t->m[M_NMUSCLE] > 0 ? m->nactuator : 0, mjNBIAS, 9)
/* three */
PARAMETER_OF(M_MUSCLE_DYN, muscle_dynprm, actuator_dynprm, t->m[M_NMUSCLE] > 0 ? m->nactuator : 0, mjNDYN, 3)
PARAMETER_OF(M_MUSCLE_RANGE, muscle_lengthrange, actuator_lengthrange, t->m[M_NMUSCLE] > 0 ? m->nout : 0, 2, 2)
PARAMETER_OF(M_MUSCLE_ACC0, muscle_acc0, actuator_acc0, t->m[M_NMUSCLE] > 0 ? m->nout : 0, 1, 1)
PARAMETER(M_ACT_CRANKLENGTH, actuator_cranklength, t->m[M_NSITEACTUATOR] > 0 ? m->nactuator : 0, 1, 1)
PARAMETER_MADE(M_LINK_SCALE, link_scale) /* 1 / the divisor of the pulley before a link */
/* PH_MOTOR_DYN reals an actuator, where there are motors, … */
PARAMETER_OF(M_MOTOR_DYN, motor_dyn, actuator_dynprm, t->m[M_NMOTOR] > 0 ? m->nactuator : 0, mjNDYN, PH_MOTOR_DYN)
/* … PH_MOTOR_GAIN, … */
PARAMETER_OF(M_MOTOR_GAIN, motor_gain, actuator_gainprm, t->m[M_NMOTOR] > 0 ? m->nactuator : 0, mjNGAIN, PH_MOTOR_GAIN)
/* … PH_MOTOR_BIAS */
PARAMETER_OF(M_MOTOR_BIAS, motor_bias, actuator_biasprm, t->m[M_NMOTOR] > 0 ? m->nactuator : 0, mjNBIAS, PH_MOTOR_BIAS)
PARAMETER_MADE(M_RAY_PRM, ray_prm) /* trees of what M_RAY_SHAPE names */
PARAMETER_MADE(M_CAM_PRM, cam_prm) /* of cameras that sensors name: PH_CAM_PRM reals */
PARAMETER_MADE(M_FLUID_PRM, fluid_prm) /* of those geoms, FL_SIZE each */
/* six each, if some surface moves */
PARAMETER(M_GEOM_SURFACEVEL, geom_surfacevel, t->m[M_SURFACES] ? m->ngeom : 0, 6, 6)
PARAMETER_MADE(M_PLUGIN_PID, plugin_pid) /* of actuators, if there are such: five, see plugin_pid.k.h */
PARAMETER_MADE(M_GRID_EDGES, grid_edges) /* of grids of touch, see touch_grid.k.h */
PARAMETER_MADE(M_PAST_TIMES, past_times) /* of M_PAST, in time steps: the delay, and between two samples of a sensor */
PARAMETER_MADE(M_HISTORY0, history0) /* after a reset */
PARAMETER_MADE(M_GEOM_MESH, geom_mesh) /* of geoms, if meshed(w): the number of the mesh, -1: none */

/* team memory: the state and the inputs come first, in the order that ph_reset relies on */
GROUP(PH_MEMORY_FIRST)
MEMORY(W_QPOS, qpos, m->nq) /* the state and the inputs: copies, from here … */
MEMORY(W_QVEL, qvel, m->nv)
MEMORY(W_ACT, act, m->na)
MEMORY(W_CTRL, ctrl, m->nu)
MEMORY(W_QFRC_APPLIED, qfrc_applied, m->nv)
MEMORY(W_XFRC_APPLIED, xfrc_applied, 6 * m->nbody)
MEMORY(W_MOCAP_POS, mocap_pos, 3 * m->nmocap)
MEMORY(W_MOCAP_QUAT, mocap_quat, 4 * m->nmocap) /* … to here */
MEMORY(W_XPOS, xpos, 3 * m->nbody)
MEMORY(W_XQUAT, xquat, 4 * m->nbody)
MEMORY(W_XMAT, xmat, 9 * m->nbody)
MEMORY(W_XIPOS, xipos, 3 * m->nbody)
MEMORY(W_XIMAT, ximat, 9 * m->nbody)
MEMORY(W_XANCHOR, xanchor, 3 * m->njnt)
MEMORY(W_XAXIS, xaxis, 3 * m->njnt)
MEMORY(W_GEOM_XPOS, geom_xpos, 3 * m->ngeom)
MEMORY(W_GEOM_XMAT, geom_xmat, 9 * m->ngeom)
MEMORY(W_SITE_XPOS, site_xpos, 3 * m->nsite)
MEMORY(W_SITE_XMAT, site_xmat, 9 * m->nsite)
MEMORY(W_SUBTREE_COM, subtree_com, 3 * m->nbody)
MEMORY(W_CDOF, cdof, 6 * m->nv)
MEMORY(W_CINERT, cinert, 10 * m->nbody)
MEMORY(W_CRB, crb, 10 * m->nbody)
MEMORY(W_QM, qM, m->nC) /* sparse: M_ROWNNZ, M_ROWADR, M_COLIND */
MEMORY(W_QLD, qLD, m->nC)
MEMORY(W_QLDIAGINV, qLDiagInv, m->nv)
MEMORY(W_TEN_LENGTH, ten_length, m->ntendon)
MEMORY(W_TEN_VELOCITY, ten_velocity, m->ntendon)
MEMORY_OWN(W_TEN_FORCE, ten_force, 2 * m->ntendon) /* scratch: two sums a tendon */
MEMORY(W_ACTUATOR_LENGTH, actuator_length, m->nout)
MEMORY(W_ACTUATOR_VELOCITY, actuator_velocity, m->nout)
MEMORY(W_ACTUATOR_MOMENT, actuator_moment, t->m[M_NMOMENT])
MEMORY(W_CVEL, cvel, 6 * m->nbody)
MEMORY(W_CDOF_DOT, cdof_dot, 6 * m->nv)
MEMORY(W_CACC, cacc, 6 * m->nbody) /* of stage bias: without qacc; of stage after: with it */
MEMORY_OWN(W_CFRC, cfrc, 6 * m->nbody) /* of stage bias; scratch of others */
MEMORY(W_QFRC_SPRING, qfrc_spring, m->nv)
MEMORY(W_QFRC_DAMPER, qfrc_damper, m->nv)
MEMORY(W_QFRC_GRAVCOMP, qfrc_gravcomp, m->nv)
MEMORY(W_QFRC_PASSIVE, qfrc_passive, m->nv)
MEMORY(W_QFRC_BIAS, qfrc_bias, m->nv)
MEMORY(W_ACT_DOT, act_dot, m->na)
MEMORY(W_ACTUATOR_FORCE, actuator_force, m->nout)
MEMORY_OWN(W_ACTUATOR_DERIV, actuator_deriv, m->nout) /* derivative of actuator_force by actuator_velocity */
MEMORY(W_QFRC_ACTUATOR, qfrc_actuator, m->nv)
MEMORY(W_QFRC_SMOOTH, qfrc_smooth, m->nv)
MEMORY(W_QFRC_CONSTRAINT, qfrc_constraint, m->nv)
MEMORY(W_QACC_SMOOTH, qacc_smooth, m->nv)
MEMORY(W_QACC, qacc, m->nv)
MEMORY_OWN(W_QH, qH, m->nC) /* the integrator's matrix */
MEMORY_OWN(W_QACC_STEP, qacc_step, m->nv) /* what the integrator adds to qvel, divided by the time step */
MEMORY(W_QACC_WARMSTART, qacc_warmstart, m->nv)
MEMORY(W_EQ_ACTIVE, eq_active, m->neq) /* 1 or 0 */
MEMORY(W_EFC_POS, efc_pos, t->m[M_NROW]) /* of rows: … */
MEMORY(W_EFC_D, efc_D, t->m[M_NROW])
MEMORY(W_EFC_AREF, efc_aref, t->m[M_NROW])
MEMORY(W_EFC_FORCE, efc_force, t->m[M_NROW])
MEMORY_OWN(W_EFC_JAR, efc_jar, t->m[M_NROW]) /* J qacc - aref */
MEMORY_OWN(W_EFC_JV, efc_jv, t->m[M_NROW]) /* J times the search direction */
MEMORY(W_EFC_J, efc_J, t->m[M_NEFCJ]) /* of slots: rows times dofs of the block */
MEMORY(W_EFC_BLOCK, efc_block, t->m[M_NSLOT]) /* of slots: the number of the block, -1: none */
/* of slots: the negative derivative of their forces, for the Hessian */
MEMORY_OWN(W_EFC_C, efc_c, t->m[M_NROW] * t->m[M_BLOCKDIM])
/* lower triangle by rows: the Hessian, then its factor but for the diagonal */
MEMORY_OWN(W_H, hessian, t->m[M_NNODE] > 0 ? 64 * (int64_t)t->m[M_NODE_TILE]
    : 8 * (int64_t)t->m[M_NTILE] * (t->m[M_NTILE] + 1))
MEMORY_OWN(W_GRAD, solver_grad, m->nv)
MEMORY_OWN(W_SEARCH, solver_search, m->nv)
MEMORY_OWN(W_MA, Ma, m->nv) /* M (qacc - qacc_smooth) */
MEMORY_OWN(W_MV, Mv, m->nv) /* M times the search direction */
MEMORY(W_SOLVER_NITER, solver_niter, 1)
MEMORY_OWN(W_KEPT, solver_kept, 2 * m->nv + 1) /* qacc, qfrc_constraint, solver_niter of lanes that are done */
MEMORY(W_SENSORDATA, sensordata, t->m[M_NSENSORDATA])
/* Runge-Kutta: state before the step, sums of velocities, accelerations, act_dot, turns */
MEMORY_OWN(W_RK, runge_kutta, m->opt.integrator == mjINT_RK4 ? m->nq + 4 * m->nv + 2 * m->na + (m->na > 0
    ? 2 * m->nout : 0) : 0)
MEMORY(W_QFRC_FLUID, qfrc_fluid, m->nv)
MEMORY_OWN(W_SUMS, solver_sums, 4 * PH_SUMS) /* parts of up to four sums, PH_SUMS each */
/* factors of the tiles on H's diagonal, with the inverses of theirs */
MEMORY_OWN(W_H_TILES, hessian_tiles, 16 * t->m[M_NTILE])
/* low parts of numbers in W_H, see twofold.k.h */
MEMORY_OWN(W_H_LOW, hessian_low, t->m[M_NNODE] > 0 ? 64 * (int64_t)t->m[M_NODE_TILE]
    : 8 * (int64_t)t->m[M_NTILE] * (t->m[M_NTILE] + 1))
MEMORY_OWN(W_CRB_LOW, crb_low, 10 * m->nbody) /* low parts of crb */
MEMORY_OWN(W_THIN, qM_thin, 1) /* 1: a pivot of qM is thin; 0 */
MEMORY_OWN(W_TREE_SPHERES, tree_spheres, 4 * t->m[M_NTREE]) /* of trees: x, y, z, radius, one after the other */
/* M^-1 J' of rows, see noslip.k.h */
MEMORY_OWN(W_NOSLIP, noslip_rows, t->m[M_NOSLIP_ITERATIONS] > 0 ? (int64_t)t->m[M_NROW] * m->nv : 0)
MEMORY(W_TEN_J, ten_J, t->m[M_NLINK] > 0 ? m->nJten : 0) /* if there are links */
MEMORY_OWN(W_LINK_PULL, link_pull, 18 * t->m[M_NLINK]) /* of links: three spatial forces */
MEMORY_OWN(W_LINK_LENGTH, link_length, t->m[M_NLINK])
MEMORY_OWN(W_SLOPE_BODY, slope_body, t->m[M_SLOPE] > 0 ? 36 * m->nbody : 0) /* see slopes.k.h: 36 reals a body, … */
MEMORY_OWN(W_SLOPE_DOF, slope_dof, t->m[M_SLOPE] * m->nv) /* … M_SLOPE a dof */
/* of integrator implicit: its matrix above the diagonal, by columns */
MEMORY_OWN(W_QU, qu, m->opt.integrator == mjINT_IMPLICIT ? m->nC : 0)
/* of integrator discrete, see discrete.k.h: in qM's place, … */
MEMORY_OWN(W_METRIC, metric, m->opt.integrator == mjINT_DISCRETE ? m->nC : 0)
/* … what springs' forces change by in a time step at qvel, … */
MEMORY_OWN(W_SHIFT, shift, m->opt.integrator == mjINT_DISCRETE ? m->nv : 0)
/* … the derivative of actuator_force by actuator_length, … */
MEMORY_OWN(W_ACTUATOR_STIFF, actuator_stiff, m->opt.integrator == mjINT_DISCRETE ? m->nout : 0)
/* … of bodies of M_FREE_BODY: 1 where a row has their dofs, 0 */
MEMORY_OWN(W_FREE_HELD, free_held, m->opt.integrator == mjINT_DISCRETE ? t->m[M_NFREE] : 0)
MEMORY_OWN(W_TIME, time, t->m[M_NTIME]) /* if something needs it */
MEMORY_OWN(W_ISLES, isles, PH_ISLE_REALS * t->m[M_NNODE]) /* sums and line searches of islands, see island_solve.k.h */
MEMORY_OWN(W_HISTORY, history, m->nhistory)
MEMORY_OWN(W_LATE_CTRL, late_ctrl, t->m[M_NHISTORY] > 0 ? m->nu : 0) /* controls, those that are delayed from history */
/* sensors of the state as they are, where sensordata has delayed ones */
MEMORY_OWN(W_SENSED, sensed, t->m[M_NHISTORY] > 0 ? t->m[M_NSENSORDATA] : 0)

/* team memory of stage after (after.k.h), behind all else: a step does not have it */
GROUP(PH_AFTER_FIRST)
AFTER_MADE(W_SEEN, contact_seen) /* PH_SEEN reals a slot: a contact; over efc_jar, efc_Jv and efc_J, if it fits there */
AFTER(W_CFRC_EXT, cfrc_ext, 6 * m->nbody)
AFTER(W_CFRC_INT, cfrc_int, 6 * m->nbody)
AFTER(W_SUBTREE_LINVEL, subtree_linvel, 3 * m->nbody)
AFTER(W_SUBTREE_ANGMOM, subtree_angmom, 3 * m->nbody)
AFTER(W_ENERGY, energy, 2)

/* clang-format on */

#undef SIZE
#undef SIZE_MADE
#undef TABLE
#undef TABLE_MADE
#undef PARAMETER
#undef PARAMETER_OF
#undef PARAMETER_MADE
#undef MEMORY
#undef MEMORY_OWN
#undef AFTER
#undef AFTER_MADE
#undef GROUP
