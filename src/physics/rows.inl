/*
 * Rows of the layout's numbers: what each is copied from, or how large it is. `m` is the mjModel, `t` the tables so
 * far. What tables.c computes has no row here. Names, macros of X: SIZES, INTS, REALS, MEMORY,
 * AFTER.
 */

/* Number, value. */
#define SIZES(X)                                                                                                       \
    X(M_NQ, m->nq)                                                                                                     \
    X(M_NV, m->nv)                                                                                                     \
    X(M_NPLACE, sti_physics_place_dofs(m, NULL))                                                                       \
    X(M_NTILE, (t->m[M_NPLACE] + 4) / 4)                                                                               \
    X(M_NWORD, (t->m[M_NTILE] + 31) / 32)                                                                              \
    X(M_NPATTERN, t->m[M_NTILE] * (2 * t->m[M_NWORD] + 4) + 2 + t->m[M_NTILE] * (t->m[M_NTILE] + 1) / 2)               \
    X(M_NU, m->nu)                                                                                                     \
    X(M_NA, m->na)                                                                                                     \
    X(M_NBODY, m->nbody)                                                                                               \
    X(M_NJNT, m->njnt)                                                                                                 \
    X(M_NGEOM, m->ngeom)                                                                                               \
    X(M_NSITE, m->nsite)                                                                                               \
    X(M_NMOCAP, m->nmocap)                                                                                             \
    X(M_NTENDON, m->ntendon)                                                                                           \
    X(M_NACTUATOR, m->nactuator)                                                                                       \
    X(M_NOUT, m->nout)                                                                                                 \
    X(M_NMOTOR, sti_physics_count_motors(m))                                                                           \
    X(M_NSO3, sti_physics_count_orientations(m))                                                                       \
    X(M_NPLUGINPID, sti_physics_count_plugin_pids(m))                                                                  \
    X(M_NTIME, sti_physics_needs_time(m))                                                                              \
    X(M_NRAYSHAPE, sti_physics_count_ray_shapes(m))                                                                    \
    X(M_NQUATCTRL, sti_physics_count_quat_controls(m))                                                                 \
    X(M_NC, m->nC)                                                                                                     \
    X(M_NTENJ, m->nJten)                                                                                               \
    X(M_INTEGRATOR, m->opt.integrator)                                                                                 \
    X(M_NEQ, m->neq)                                                                                                   \
    X(M_ITERATIONS, m->opt.iterations)                                                                                 \
    X(M_LS_ITERATIONS, m->opt.ls_iterations)                                                                           \
    X(M_NOSLIP_ITERATIONS, sti_physics_slips(m) ? m->opt.noslip_iterations : 0)                                        \
    X(M_NMUSCLE, sti_physics_count_muscles(m))                                                                         \
    X(M_NSITEACTUATOR, sti_physics_count_site_actuators(m))                                                            \
    X(M_NADHESION, sti_physics_count_adhesion(m))                                                                      \
    X(M_CCD_ITERATIONS, m->opt.ccd_iterations)                                                                         \
    X(M_NLINK, sti_physics_count_links(m))                                                                             \
    X(M_SLOPE, sti_physics_slope_size(m))                                                                              \
    X(M_STEP_NGEOM, sti_physics_has_pairs(m) || sti_physics_senses_geoms(m) || t->m[M_NLINK] > 0 ||                    \
                            sti_physics_count_ellipsoids(m) > 0                                                        \
                        ? m->ngeom                                                                                     \
                        : 0)                                                                                           \
    X(M_STEP_NSITE, sti_physics_senses_sites(m) || t->m[M_NSITEACTUATOR] > 0 || t->m[M_NLINK] > 0 ? m->nsite : 0)      \
    X(M_NSENSORDATA, sti_physics_has_sensors(m) ? m->nsensordata : 0)                                                  \
    X(M_STEP_EXTRA, sti_physics_sensing(m))                                                                            \
    X(M_SURFACES, m->flg_surfacevel &&sti_physics_has_pairs(m))

/* Number, array of the model, how many. */
#define INTS(X)                                                                                                        \
    X(M_BODY_PARENTID, body_parentid, m->nbody)                                                                        \
    X(M_BODY_ROOTID, body_rootid, m->nbody)                                                                            \
    X(M_BODY_MOCAPID, body_mocapid, m->nbody)                                                                          \
    X(M_BODY_JNTNUM, body_jntnum, m->nbody)                                                                            \
    X(M_BODY_JNTADR, body_jntadr, m->nbody)                                                                            \
    X(M_BODY_DOFNUM, body_dofnum, m->nbody)                                                                            \
    X(M_BODY_DOFADR, body_dofadr, m->nbody)                                                                            \
    X(M_BODY_SAMEFRAME, body_sameframe, m->nbody)                                                                      \
    X(M_JNT_TYPE, jnt_type, m->njnt)                                                                                   \
    X(M_JNT_QPOSADR, jnt_qposadr, m->njnt)                                                                             \
    X(M_JNT_DOFADR, jnt_dofadr, m->njnt)                                                                               \
    X(M_JNT_BODYID, jnt_bodyid, m->njnt)                                                                               \
    X(M_DOF_BODYID, dof_bodyid, m->nv)                                                                                 \
    X(M_DOF_JNTID, dof_jntid, m->nv)                                                                                   \
    X(M_M_ROWNNZ, M_rownnz, m->nv)                                                                                     \
    X(M_M_ROWADR, M_rowadr, m->nv)                                                                                     \
    X(M_M_COLIND, M_colind, m->nC)                                                                                     \
    X(M_GEOM_BODYID, geom_bodyid, m->ngeom)                                                                            \
    X(M_GEOM_SAMEFRAME, geom_sameframe, m->ngeom)                                                                      \
    X(M_GEOM_TYPE, geom_type, m->ngeom)                                                                                \
    X(M_SITE_BODYID, site_bodyid, m->nsite)                                                                            \
    X(M_SITE_SAMEFRAME, site_sameframe, m->nsite)                                                                      \
    X(M_SITE_TYPE, site_type, m->nsite)                                                                                \
    X(M_TEN_J_COLIND, ten_J_colind, m->nJten)                                                                          \
    X(M_BODY_WELDID, body_weldid, sti_physics_count_grids(m) > 0 ? m->nbody : 0)                                       \
    X(M_ACT_TRNTYPE, actuator_trntype, m->nactuator)                                                                   \
    X(M_ACT_DYNTYPE, actuator_dyntype, m->nactuator)                                                                   \
    X(M_ACT_GAINTYPE, actuator_gaintype, m->nactuator)                                                                 \
    X(M_ACT_BIASTYPE, actuator_biastype, m->nactuator)                                                                 \
    X(M_ACT_CTRLADR, actuator_ctrladr, m->nactuator)                                                                   \
    X(M_ACT_CTRLNUM, actuator_ctrlnum, m->nactuator)                                                                   \
    X(M_ACT_OUTADR, actuator_outadr, m->nactuator)                                                                     \
    X(M_ACT_ACTNUM, actuator_actnum, m->nactuator)                                                                     \
    X(M_ACT_INPUT, actuator_ctrlspec, t->m[M_NMOTOR] > 0 ? m->nactuator : 0)

/* Number, array of the model, items, how many reals an item has there, how many of them are taken. */
#define REALS(X)                                                                                                       \
    X(M_QPOS0, qpos0, m->nq, 1, 1)                                                                                     \
    X(M_QPOS_SPRING, qpos_spring, m->nq, 1, 1)                                                                         \
    X(M_BODY_POS, body_pos, m->nbody, 3, 3)                                                                            \
    X(M_BODY_QUAT, body_quat, m->nbody, 4, 4)                                                                          \
    X(M_BODY_IPOS, body_ipos, m->nbody, 3, 3)                                                                          \
    X(M_BODY_IQUAT, body_iquat, m->nbody, 4, 4)                                                                        \
    X(M_BODY_MASS, body_mass, m->nbody, 1, 1)                                                                          \
    X(M_BODY_INERTIA, body_inertia, m->nbody, 3, 3)                                                                    \
    X(M_BODY_GRAVCOMP, body_gravcomp, m->nbody, 1, 1)                                                                  \
    X(M_JNT_POS, jnt_pos, m->njnt, 3, 3)                                                                               \
    X(M_JNT_AXIS, jnt_axis, m->njnt, 3, 3)                                                                             \
    X(M_JNT_STIFFNESS, jnt_stiffness, m->njnt, 1, 1)                                                                   \
    X(M_JNT_STIFFNESSPOLY, jnt_stiffnesspoly, m->njnt, mjNPOLY, 2)                                                     \
    X(M_JNT_ACTFRCRANGE, jnt_actfrcrange, m->njnt, 2, 2)                                                               \
    X(M_DOF_M0, dof_M0, m->nv, 1, 1)                                                                                   \
    X(M_GEOM_POS, geom_pos, m->ngeom, 3, 3)                                                                            \
    X(M_GEOM_QUAT, geom_quat, m->ngeom, 4, 4)                                                                          \
    X(M_GEOM_SIZE, geom_size, m->ngeom, 3, 3)                                                                          \
    X(M_GEOM_AABB, geom_aabb, m->ngeom, 6, 6)                                                                          \
    X(M_GEOM_SURFACEVEL, geom_surfacevel, t->m[M_SURFACES] ? m->ngeom : 0, 6, 6)                                       \
    X(M_SITE_POS, site_pos, m->nsite, 3, 3)                                                                            \
    X(M_SITE_QUAT, site_quat, m->nsite, 4, 4)                                                                          \
    X(M_SITE_SIZE, site_size, m->nsite, 3, 3)                                                                          \
    X(M_CAM_POS, cam_pos, m->ncam, 3, 3)                                                                               \
    X(M_CAM_QUAT, cam_quat, m->ncam, 4, 4)                                                                             \
    X(M_TEN_STIFFNESS, tendon_stiffness, m->ntendon, 1, 1)                                                             \
    X(M_TEN_STIFFNESSPOLY, tendon_stiffnesspoly, m->ntendon, mjNPOLY, 2)                                               \
    X(M_TEN_LENGTHSPRING, tendon_lengthspring, m->ntendon, 2, 2)                                                       \
    X(M_TEN_ACTFRCRANGE, tendon_actfrcrange, m->ntendon, 2, 2)                                                         \
    X(M_JNT_RANGE, jnt_range, m->njnt, 2, 2)                                                                           \
    X(M_TEN_RANGE, tendon_range, m->ntendon, 2, 2)                                                                     \
    X(M_EQ_ACTIVE0, eq_active0, m->neq, 1, 1)                                                                          \
    X(M_ACT_DYNPRM, actuator_dynprm, m->nactuator, mjNDYN, 1)                                                          \
    X(M_ACT_GAINPRM, actuator_gainprm, m->nactuator, mjNGAIN, 3)                                                       \
    X(M_ACT_BIASPRM, actuator_biasprm, m->nactuator, mjNBIAS, 3)                                                       \
    X(M_ACT_GEAR, actuator_gear, m->nout, 6, 6)                                                                        \
    X(M_MUSCLE_GAIN, actuator_gainprm, t->m[M_NMUSCLE] > 0 ? m->nactuator : 0, mjNGAIN, 9)                             \
    X(M_MUSCLE_BIAS, actuator_biasprm, t->m[M_NMUSCLE] > 0 ? m->nactuator : 0, mjNBIAS, 9)                             \
    X(M_MUSCLE_DYN, actuator_dynprm, t->m[M_NMUSCLE] > 0 ? m->nactuator : 0, mjNDYN, 3)                                \
    X(M_MUSCLE_RANGE, actuator_lengthrange, t->m[M_NMUSCLE] > 0 ? m->nout : 0, 2, 2)                                   \
    X(M_MUSCLE_ACC0, actuator_acc0, t->m[M_NMUSCLE] > 0 ? m->nout : 0, 1, 1)                                           \
    X(M_MOTOR_DYN, actuator_dynprm, t->m[M_NMOTOR] > 0 ? m->nactuator : 0, mjNDYN, PH_MOTOR_DYN)                       \
    X(M_MOTOR_GAIN, actuator_gainprm, t->m[M_NMOTOR] > 0 ? m->nactuator : 0, mjNGAIN, PH_MOTOR_GAIN)                   \
    X(M_MOTOR_BIAS, actuator_biasprm, t->m[M_NMOTOR] > 0 ? m->nactuator : 0, mjNBIAS, PH_MOTOR_BIAS)                   \
    X(M_ACT_CRANKLENGTH, actuator_cranklength, t->m[M_NSITEACTUATOR] > 0 ? m->nactuator : 0, 1, 1)                     \
    X(M_ACT_ACTRANGE, actuator_actrange, m->nactuator, 2, 2)                                                           \
    X(M_ACT_CTRLRANGE, actuator_ctrlrange, m->nu, 2, 2)                                                                \
    X(M_ACT_FORCERANGE, actuator_forcerange, m->nactuator, 2, 2)

/* Number, MuJoCo's name, reals. The state and the inputs come first, in the order that ph_reset relies on. */
#define MEMORY(X)                                                                                                      \
    X(W_QPOS, "qpos", m->nq)                                                                                           \
    X(W_QVEL, "qvel", m->nv)                                                                                           \
    X(W_ACT, "act", m->na)                                                                                             \
    X(W_CTRL, "ctrl", m->nu)                                                                                           \
    X(W_QFRC_APPLIED, "qfrc_applied", m->nv)                                                                           \
    X(W_XFRC_APPLIED, "xfrc_applied", 6 * m->nbody)                                                                    \
    X(W_MOCAP_POS, "mocap_pos", 3 * m->nmocap)                                                                         \
    X(W_MOCAP_QUAT, "mocap_quat", 4 * m->nmocap)                                                                       \
    X(W_XPOS, "xpos", 3 * m->nbody)                                                                                    \
    X(W_XQUAT, "xquat", 4 * m->nbody)                                                                                  \
    X(W_XMAT, "xmat", 9 * m->nbody)                                                                                    \
    X(W_XIPOS, "xipos", 3 * m->nbody)                                                                                  \
    X(W_XIMAT, "ximat", 9 * m->nbody)                                                                                  \
    X(W_XANCHOR, "xanchor", 3 * m->njnt)                                                                               \
    X(W_XAXIS, "xaxis", 3 * m->njnt)                                                                                   \
    X(W_GEOM_XPOS, "geom_xpos", 3 * m->ngeom)                                                                          \
    X(W_GEOM_XMAT, "geom_xmat", 9 * m->ngeom)                                                                          \
    X(W_SITE_XPOS, "site_xpos", 3 * m->nsite)                                                                          \
    X(W_SITE_XMAT, "site_xmat", 9 * m->nsite)                                                                          \
    X(W_SUBTREE_COM, "subtree_com", 3 * m->nbody)                                                                      \
    X(W_CDOF, "cdof", 6 * m->nv)                                                                                       \
    X(W_CINERT, "cinert", 10 * m->nbody)                                                                               \
    X(W_CRB, "crb", 10 * m->nbody)                                                                                     \
    X(W_QM, "qM", m->nC)                                                                                               \
    X(W_QLD, "qLD", m->nC)                                                                                             \
    X(W_QLDIAGINV, "qLDiagInv", m->nv)                                                                                 \
    X(W_TEN_LENGTH, "ten_length", m->ntendon)                                                                          \
    X(W_TEN_VELOCITY, "ten_velocity", m->ntendon)                                                                      \
    X(W_TEN_FORCE, NULL, 2 * m->ntendon)                                                                               \
    X(W_ACTUATOR_LENGTH, "actuator_length", m->nout)                                                                   \
    X(W_ACTUATOR_VELOCITY, "actuator_velocity", m->nout)                                                               \
    X(W_ACTUATOR_MOMENT, "actuator_moment", t->m[M_NMOMENT])                                                           \
    X(W_CVEL, "cvel", 6 * m->nbody)                                                                                    \
    X(W_CDOF_DOT, "cdof_dot", 6 * m->nv)                                                                               \
    X(W_CACC, "cacc", 6 * m->nbody)                                                                                    \
    X(W_CFRC, NULL, 6 * m->nbody)                                                                                      \
    X(W_QFRC_SPRING, "qfrc_spring", m->nv)                                                                             \
    X(W_QFRC_DAMPER, "qfrc_damper", m->nv)                                                                             \
    X(W_QFRC_GRAVCOMP, "qfrc_gravcomp", m->nv)                                                                         \
    X(W_QFRC_PASSIVE, "qfrc_passive", m->nv)                                                                           \
    X(W_QFRC_BIAS, "qfrc_bias", m->nv)                                                                                 \
    X(W_ACT_DOT, "act_dot", m->na)                                                                                     \
    X(W_ACTUATOR_FORCE, "actuator_force", m->nout)                                                                     \
    X(W_ACTUATOR_DERIV, NULL, m->nout)                                                                                 \
    X(W_QFRC_ACTUATOR, "qfrc_actuator", m->nv)                                                                         \
    X(W_QFRC_SMOOTH, "qfrc_smooth", m->nv)                                                                             \
    X(W_QFRC_CONSTRAINT, "qfrc_constraint", m->nv)                                                                     \
    X(W_QACC_SMOOTH, "qacc_smooth", m->nv)                                                                             \
    X(W_QACC, "qacc", m->nv)                                                                                           \
    X(W_QH, NULL, m->nC)                                                                                               \
    X(W_QACC_STEP, NULL, m->nv)                                                                                        \
    X(W_QACC_WARMSTART, "qacc_warmstart", m->nv)                                                                       \
    X(W_EQ_ACTIVE, "eq_active", m->neq)                                                                                \
    X(W_EFC_POS, "efc_pos", t->m[M_NROW])                                                                              \
    X(W_EFC_D, "efc_D", t->m[M_NROW])                                                                                  \
    X(W_EFC_AREF, "efc_aref", t->m[M_NROW])                                                                            \
    X(W_EFC_FORCE, "efc_force", t->m[M_NROW])                                                                          \
    X(W_EFC_JAR, NULL, t->m[M_NROW])                                                                                   \
    X(W_EFC_JV, NULL, t->m[M_NROW])                                                                                    \
    X(W_EFC_J, "efc_J", t->m[M_NEFCJ])                                                                                 \
    X(W_EFC_BLOCK, "efc_block", t->m[M_NSLOT])                                                                         \
    X(W_EFC_C, NULL, t->m[M_NROW] * t->m[M_BLOCKDIM])                                                                  \
    X(W_H, NULL, 8 * t->m[M_NTILE] * (t->m[M_NTILE] + 1))                                                              \
    X(W_GRAD, NULL, m->nv)                                                                                             \
    X(W_SEARCH, NULL, m->nv)                                                                                           \
    X(W_MA, NULL, m->nv)                                                                                               \
    X(W_MV, NULL, m->nv)                                                                                               \
    X(W_SOLVER_NITER, "solver_niter", 1)                                                                               \
    X(W_KEPT, NULL, 2 * m->nv + 1)                                                                                     \
    X(W_SENSORDATA, "sensordata", t->m[M_NSENSORDATA])                                                                 \
    X(W_RK, NULL, m->opt.integrator == mjINT_RK4 ? m->nq + 4 * m->nv + 2 * m->na + (m->na > 0 ? 2 * m->nout : 0) : 0)  \
    X(W_QFRC_FLUID, "qfrc_fluid", m->nv)                                                                               \
    X(W_SUMS, NULL, 4 * PH_SUMS)                                                                                       \
    X(W_H_TILES, NULL, 16 * t->m[M_NTILE])                                                                             \
    X(W_H_LOW, NULL, 8 * t->m[M_NTILE] * (t->m[M_NTILE] + 1))                                                          \
    X(W_CRB_LOW, NULL, 10 * m->nbody)                                                                                  \
    X(W_THIN, NULL, 1)                                                                                                 \
    X(W_TREE_REACH, NULL, t->m[M_NTREE])                                                                               \
    X(W_NOSLIP, NULL, t->m[M_NOSLIP_ITERATIONS] > 0 ? (int64_t)t->m[M_NROW] * m->nv : 0)                               \
    X(W_TEN_J, "ten_J", t->m[M_NLINK] > 0 ? m->nJten : 0)                                                              \
    X(W_LINK_PULL, NULL, 18 * t->m[M_NLINK])                                                                           \
    X(W_LINK_LENGTH, NULL, t->m[M_NLINK])                                                                              \
    X(W_SLOPE_BODY, NULL, t->m[M_SLOPE] > 0 ? 36 * m->nbody : 0)                                                       \
    X(W_SLOPE_DOF, NULL, t->m[M_SLOPE] * m->nv)                                                                        \
    X(W_QU, NULL, m->opt.integrator == mjINT_IMPLICIT ? m->nC : 0)                                                     \
    X(W_METRIC, NULL, m->opt.integrator == mjINT_DISCRETE ? m->nC : 0)                                                 \
    X(W_SHIFT, NULL, m->opt.integrator == mjINT_DISCRETE ? m->nv : 0)                                                  \
    X(W_ACTUATOR_STIFF, NULL, m->opt.integrator == mjINT_DISCRETE ? m->nout : 0)                                       \
    X(W_FREE_HELD, NULL, m->opt.integrator == mjINT_DISCRETE ? t->m[M_NFREE] : 0)                                      \
    X(W_TIME, NULL, t->m[M_NTIME])

/* The same of what stage after makes. */
#define AFTER(X)                                                                                                       \
    X(W_CFRC_EXT, "cfrc_ext", 6 * m->nbody)                                                                            \
    X(W_CFRC_INT, "cfrc_int", 6 * m->nbody)                                                                            \
    X(W_SUBTREE_LINVEL, "subtree_linvel", 3 * m->nbody)                                                                \
    X(W_SUBTREE_ANGMOM, "subtree_angmom", 3 * m->nbody)                                                                \
    X(W_ENERGY, "energy", 2)
