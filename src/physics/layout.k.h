/*
 * The numbers that name a table of the physics: sizes, tables of the model, parameters, team memory. C and kernels
 * include this header; it has no text of its own beyond them.
 *
 * A stage of the physics is a function `(const int *m, const ureal *f, const real *v, real *w)`:
 *
 *   m  one int array. m[M_NBODY] is a size; m[M_BODY_PARENTID] is where that table begins in m
 *   f  reals of the model that all worlds share; m[M_BODY_MASS] is where that parameter begins in f …
 *   v  … or, if m[M_BODY_MASS] is negative, ~m[M_BODY_MASS] is where it begins in the array of worlds v
 *   w  the team's memory; PH_AT(W_XPOS) is where that quantity is, in w from m[W_XPOS] on
 *
 * Names are MuJoCo's. Each number has one row in src/physics/tables.c, which says how large it is and what fills it;
 * a new one goes to the end of its group. Groups have room between them, so that they grow apart.
 */
#ifndef STI_PHYSICS_LAYOUT_K_H
#define STI_PHYSICS_LAYOUT_K_H

/*
 * On a GPU a step may be compiled for its model (model_code.c). Then PH_MODEL are the ints of m, and PH_NEAR says, from
 * W_QPOS on, where each quantity is among the PH_NEAR_REALS that a team has in shared memory; -1: it is in w.
 * PH_KINDS says which kinds of blocks have how many rows (bits of the kinds, from 0 rows on), PH_PARTNERS which types
 * of geoms may touch (bits of the second types, from the first type 0 on): what a model has none of is not in its code.
 * PH_HAS_SEARCHED is 0 if all contacts have a closed form.
 */
#ifdef PH_MODEL
static const int ph_model[] = {PH_MODEL}, ph_near_at[] = {PH_NEAR};
static const int ph_kinds[] = {PH_KINDS}, ph_partners[] = {PH_PARTNERS};
#define PH_TABLES(m) ph_model
#define PH_AT(name)                                                                                                    \
    (ph_near_at[(name)-W_QPOS] >= 0                                                                                    \
         ? (real *)STI_DYNAMIC_SHARED + threadIdx.y * PH_NEAR_REALS + ph_near_at[(name)-W_QPOS]                        \
         : w + m[name])
#define PH_HAS_ROWS(dim) (ph_kinds[dim] != 0)
#define PH_HAS_KIND(dim, kind) (ph_kinds[dim] >> (kind)&1)
#define PH_HAS_PAIRS (ph_model[M_NPAIR] + ph_model[M_NTREE] > 0)
#define PH_HAS_TREES (ph_model[M_NTREE] > 0)
#define PH_HAS_FIRST(first) (ph_partners[first] != 0)
#define PH_HAS_PAIR(first, second) (ph_partners[first] >> (second)&1)
#else
#define PH_TABLES(m) (m)
#define PH_AT(name) (w + m[name])
#define PH_HAS_ROWS(dim) 1
#define PH_HAS_KIND(dim, kind) 1
#define PH_HAS_FIRST(first) 1
#define PH_HAS_PAIR(first, second) 1
#define PH_HAS_PAIRS 1
#define PH_HAS_TREES 1
#define PH_HAS_SEARCHED 1
#endif

/* sizes and options */
#define M_NQ 0 /* reals of qpos */
#define M_NV 1 /* dofs */
#define M_NU 2 /* controls */
#define M_NA 3 /* activations */
#define M_NBODY 4
#define M_NJNT 5
#define M_NGEOM 6
#define M_NSITE 7
#define M_NMOCAP 8
#define M_NTENDON 9
#define M_NACTUATOR 10
#define M_NC 11         /* entries of qM */
#define M_NLEVEL 12     /* levels of the tree of bodies, without the world's */
#define M_NDOFLEVEL 13  /* levels of the tree of dofs */
#define M_NFREE 14      /* of M_FREE_BODY */
#define M_NTENJ 15      /* entries of ten_J */
#define M_NMOMENT 16    /* entries of actuator_moment */
#define M_NMEMORY 17    /* reals of team memory */
#define M_FLAGS 18      /* bits PH_… */
#define M_INTEGRATOR 19 /* mjtIntegrator */
#define M_STEP_NGEOM 20 /* geoms whose poses a step needs, from the first on: 0 or ngeom */
#define M_STEP_NSITE 21 /* the same for sites */
#define M_NEQ 22        /* equalities */
#define M_NBLOCK 23     /* constraint blocks, see constraint.k.h */
#define M_NSLOT 24      /* slots, at most */
#define M_NROW 25       /* rows of them, at most */
#define M_NEFCJ 26      /* reals of their Jacobians, at most */
#define M_ITERATIONS 27
#define M_LS_ITERATIONS 28
#define M_NPAIR 29       /* pairs of geoms that may touch */
#define M_NINTS 30       /* ints of plain team memory */
#define M_NSENSOR 31     /* sensors that need no rows of constraints: the first ones of M_SENSOR */
#define M_NSENSORROW 32  /* those behind them, that do: touch and forces of limits */
#define M_NSENSORDATA 33 /* 0: there are none, or they are disabled */
#define M_NRAYGEOM 34
#define M_NMEMORY_ALL 35       /* reals of team memory with what stage after makes */
#define M_STEP_EXTRA 36        /* what the last time step of a call does beside: bits PH_EXTRA_… */
#define M_CCD_ITERATIONS 37    /* of convex pairs */
#define M_BLOCKDIM 38          /* rows of a block, at most */
#define M_NTILE 39             /* rows of tiles of H, see pattern.k.h */
#define M_NWORD 40             /* ints that have a bit for each of them */
#define M_NPATTERN 41          /* ints of the pattern of H */
#define M_NPLACE 42            /* rows of H but the one that is solved with it, see places.h */
#define M_NTOUCH 43            /* geoms that may touch another */
#define M_NGROUP 44            /* groups of pairs of geoms, see groups.h */
#define M_NNEAR 45             /* near pairs that a team lists, at most */
#define M_NTREE 46             /* trees whose geoms a step pairs itself, see tree_pairs.h; 0: all pairs are in M_PAIR */
#define M_NKIND 47             /* kinds of their geoms */
#define M_NMADE 48             /* pairs of two kinds */
#define M_NLISTED 49           /* ints of the lists of dofs of such a pair, at most */
#define M_HOLDS 50             /* 1: worlds without room are held, because there can be more; 0: this is all the room */
#define M_NSENSORCONTACT 51    /* contact sensors: the last ones of M_SENSOR */
#define M_NOSLIP_ITERATIONS 52 /* 0: none, also where nothing can slip */
#define M_NSENSORDISTANCE 53   /* sensors of distances of geoms, and what goes with that: the last ones of M_SENSOR */
#define M_NMUSCLE 54           /* actuators that have anything of a muscle */
#define M_NSITEACTUATOR 55     /* actuators on sites, slider-cranks */
#define M_NADHESION 56         /* actuators that pull bodies to what they touch */
#define M_NLINK 57             /* links of spatial tendons, see tendon.k.h */
#define M_NOUT 58              /* outputs of actuators: one or, on a relative orientation, three each */
#define M_NMOTOR 59            /* DC motors and PID controllers */
#define M_NSO3 60              /* actuators on relative orientations */
#define M_NQUATCTRL 61         /* controls that are 1 after a reset: the first of those that are a quaternion */
#define M_NRAYSHAPE 62         /* meshes and height fields that rays may hit */
#define M_NSENSORCAMERA 63     /* rangefinders on cameras: the last ones of M_SENSOR */
#define M_SLOPE 64      /* reals a dof of W_SLOPE_DOF: 0, 6 for fluid forces, 24 for all that velocities of bodies do */
#define M_SURFACES 65   /* 1: surfaces of geoms move against these */
#define M_NTIME 66      /* 1: something needs the time */
#define M_NPLUGINPID 67 /* actuators of the plugin mujoco.pid */
#define M_SIZES_END 68

/* tables of the model */
#define M_BODY_PARENTID 100
#define M_BODY_ROOTID 101
#define M_BODY_MOCAPID 102
#define M_BODY_JNTNUM 103
#define M_BODY_JNTADR 104
#define M_BODY_DOFNUM 105
#define M_BODY_DOFADR 106
#define M_BODY_SAMEFRAME 107
#define M_BODY_FLAGS 108 /* bits PH_BODY_… */
#define M_LEVEL_ADR 109  /* nlevel + 1 places in LEVEL_BODY */
#define M_LEVEL_BODY 110 /* bodies but the world, parents first */
#define M_CHILD_ADR 111  /* nbody + 1 places in CHILD */
#define M_CHILD 112      /* children of each body, ascending */
#define M_JNT_TYPE 113
#define M_JNT_QPOSADR 114
#define M_JNT_DOFADR 115
#define M_JNT_BODYID 116
#define M_JNT_FLAGS 117 /* bits PH_JNT_… */
#define M_DOF_BODYID 118
#define M_DOF_JNTID 119
#define M_DOF_FLAGS 120 /* bits PH_DOF_… */
#define M_M_ROWNNZ 121  /* entries of row i of qM: the dofs above i, ascending, and i itself */
#define M_M_ROWADR 122
#define M_M_COLIND 123
#define M_DOFLEVEL_ADR 124 /* ndoflevel + 1 places in DOFLEVEL */
#define M_DOFLEVEL 125     /* dofs, those with nothing above them first */
#define M_BELOW_ADR 126    /* nv + 1 places in BELOW_ROW and BELOW_ENTRY */
#define M_BELOW_ROW 127    /* dofs below each dof, descending */
#define M_BELOW_ENTRY 128  /* the entry of qM in the row of that dof and the column of this */
#define M_GEOM_BODYID 129
#define M_GEOM_SAMEFRAME 130
#define M_SITE_BODYID 131
#define M_SITE_SAMEFRAME 132
#define M_TEN_J_ROWADR 133 /* ntendon + 1 places in TEN_J_COLIND */
#define M_TEN_J_COLIND 134 /* dofs of each tendon, ascending */
#define M_TEN_J_QPOS 135   /* the place in qpos that belongs to an entry of ten_J */
#define M_TEN_FLAGS 136    /* bits PH_TEN_… */
#define M_DOF_TEN_ADR 137  /* nv + 1 places in DOF_TEN */
#define M_DOF_TEN 138      /* pairs: tendon, entry of ten_J, by tendon */
#define M_ACT_TRNTYPE 139
#define M_ACT_TRNID 140
#define M_ACT_DYNTYPE 141
#define M_ACT_GAINTYPE 142
#define M_ACT_BIASTYPE 143
#define M_ACT_ACTADR 144    /* the activation that the force reads; -1: none */
#define M_ACT_FLAGS 145     /* bits PH_ACT_… */
#define M_MOMENT_ROWADR 146 /* nout + 1 places in MOMENT_COLIND */
#define M_MOMENT_COLIND 147
#define M_DOF_ACT_ADR 148 /* nv + 1 places in DOF_ACT */
#define M_DOF_ACT 149     /* pairs: output, entry of actuator_moment, by output */
#define M_TEN_ACT_ADR 150 /* ntendon + 1 places in TEN_ACT */
#define M_TEN_ACT 151     /* outputs that pull each tendon, ascending */
#define M_ENTRY_ADR 152   /* nC + 1 places in ENTRY_PAIR: what of J' b J adds to an entry of qM */
#define M_ENTRY_PAIR 153  /* four ints: 0 a tendon or 1 an output, its id, the two entries of its row */
#define M_FREE_BODY 154   /* bodies whose accelerations the integrator solves for apart, see ph_free_step */
#define M_BLOCK 155       /* descriptions of constraint blocks, B_SIZE ints each */
#define M_BLOCK_DOFS 156  /* dofs of blocks: pairs of a dof and bits: 1 it moves the first body, 2 the second */
#define M_PAIR 157        /* blocks of pairs: see contact.k.h */
#define M_GEOM_TYPE 158
#define M_SENSOR 159   /* SN_SIZE ints a sensor, see sensor.k.h */
#define M_RAY_GEOM 160 /* geoms that rays of sensors may hit: those that are not transparent */
#define M_SITE_TYPE 161
#define M_GEOM_SHAPE 162   /* where in M_SHAPES the record of a geom's mesh or height field is */
#define M_PAIR_GROUP 163   /* of each pair of geoms: its group, or -1 */
#define M_TRIANGLE 164     /* pairs: a row of a triangle and the first of up to PH_CHUNK entries of it, see ph_item */
#define M_M_TILES 165      /* rows of tiles of H in which each column of tiles of M has entries: M_NWORD ints of bits */
#define M_BLOCK_TILES 166  /* those in which each block has dofs */
#define M_PLACE 167        /* of each dof: its row of H */
#define M_M_PLACE 168      /* of each entry of qM: its place in W_H */
#define M_BLOCK_PLACES 169 /* rows of H of the dofs of blocks */
#define M_GROUP 170        /* of each group the two geoms whose places are those of its parts */
#define M_TREE_ADR 171     /* ntree + 1 places in TREE_GEOM */
#define M_TREE_GEOM 172    /* geoms of those trees, ascending */
#define M_TREE_CENTRE 173  /* of each tree the geom in the middle of its sphere */
#define M_GEOM_TREE 174    /* of each geom its tree, or -1 */
#define M_GEOM_KIND 175    /* and its kind */
#define M_KIND_PAIR 176    /* of two kinds: their description, behind those of pairs; -1: they do not touch */
#define M_APART_ADR 177    /* ngeom + 1 places in APART */
#define M_APART 178        /* geoms of later trees that each geom does not touch in spite of its kind */
#define M_ROW_ADR 179      /* ngeom + 1 pairs of M_PAIR: from where on each geom is the first of the two */
#define M_GEOM_CHAIN 180   /* of each geom in a tree: where in m the dofs that move it are, and how many */
#define M_CHAIN 181        /* those */
#define M_PAIR_ORDER 182   /* of each pair of geoms: how many come before it in MuJoCo's order, see pair_order.h */
#define M_ACT_REFID 183    /* the reference site of an actuator, or the slider; -1: none */
#define M_MOMENT_SIDE 184  /* of entries of actuator_moment: 1, -1, see site_transmission.k.h */
#define M_LINK 185         /* LK_SIZE ints a link */
#define M_TEN_LINK_ADR 186 /* ntendon + 1 places in LINK */
#define M_TEN_PULL_ADR 187 /* of entries of ten_J, if there are links: M_NTENJ + 1 places in TEN_PULL */
#define M_TEN_PULL 188     /* 3 * link + 0 its first site, 1 its geom, 2 its second site */
#define M_CTRL_LIMITED 189 /* of controls: 1 where they are clamped, 2 where they would be */
#define M_ACT_CTRLADR 190
#define M_ACT_CTRLNUM 191
#define M_ACT_OUTADR 192
#define M_ACT_ACTNUM 193 /* activations, those up to M_ACT_ACTADR */
#define M_ACT_INPUT 194  /* bits of mjtCtrlInput, where there are motors */
#define M_ACT_SLOT 195   /* PH_MOTOR_SLOTS ints an actuator, where there are motors, see motor.k.h */
#define M_QUATCTRL 196
#define M_RAY_SHAPE 197   /* of geoms, if rays may hit meshes or height fields: four ints, see ph_ray_shape */
#define M_FLUID_ADR 198   /* nbody + 1 places in FLUID_GEOM */
#define M_FLUID_GEOM 199  /* geoms on which the medium acts as on ellipsoids, by body */
#define M_BODY_WELDID 200 /* if there are grids of touch */
#define M_TABLES_END 201

/* parameters */
#define M_TIMESTEP 300
#define M_GRAVITY 301
#define M_QPOS0 302
#define M_QPOS_SPRING 303
#define M_BODY_POS 304
#define M_BODY_QUAT 305
#define M_BODY_IPOS 306
#define M_BODY_IQUAT 307
#define M_BODY_MASS 308
#define M_BODY_INERTIA 309
#define M_BODY_GRAVCOMP 310
#define M_BODY_INVSUBTREEMASS 311 /* 1 / body_subtreemass, 0 where that is 0 */
#define M_JNT_POS 312
#define M_JNT_AXIS 313
#define M_JNT_STIFFNESS 314
#define M_JNT_STIFFNESSPOLY 315
#define M_JNT_ACTFRCRANGE 316
#define M_DOF_ARMATURE 317 /* with what actuators add */
#define M_DOF_DAMPING 318
#define M_DOF_DAMPINGPOLY 319
#define M_DOF_M0 320 /* used for simple dofs */
#define M_GEOM_POS 321
#define M_GEOM_QUAT 322
#define M_SITE_POS 323
#define M_SITE_QUAT 324
#define M_TEN_COEF 325 /* entries of ten_J of fixed tendons, 0 for others */
#define M_TEN_STIFFNESS 326
#define M_TEN_STIFFNESSPOLY 327
#define M_TEN_DAMPING 328
#define M_TEN_DAMPINGPOLY 329
#define M_TEN_LENGTHSPRING 330
#define M_TEN_ARMATURE 331
#define M_TEN_ACTFRCRANGE 332
#define M_ACT_DYNPRM 333  /* the first */
#define M_ACT_GAINPRM 334 /* three */
#define M_ACT_BIASPRM 335 /* three */
#define M_ACT_GEAR 336
#define M_ACT_ACTRANGE 337
#define M_ACT_CTRLRANGE 338
#define M_ACT_FORCERANGE 339
#define M_RESET_MOCAP_POS 340 /* mocap poses after a reset */
#define M_RESET_MOCAP_QUAT 341
#define M_BLOCK_PRM 342 /* P_SIZE reals a block */
#define M_JNT_RANGE 343
#define M_TEN_RANGE 344
#define M_EQ_DATA 345 /* 15 reals an equality: see put_equality */
#define M_TOLERANCE 346
#define M_LS_TOLERANCE 347
#define M_SOLVER_SCALE 348 /* 1 / (meaninertia * nv) */
#define M_EQ_ACTIVE0 349
#define M_GEOM_SIZE 350
#define M_SENSOR_CUTOFF 351 /* in the order of M_SENSOR */
#define M_MAGNETIC 352
#define M_SITE_SIZE 353
#define M_CAM_POS 354
#define M_CAM_QUAT 355
#define M_CCD_TOLERANCE 356
#define M_SHAPE_PRM 357   /* of hulls: vertices, normals; of height fields: four sizes, heights */
#define M_FLUID 358       /* density, viscosity, wind */
#define M_GEOM_AABB 359   /* boxes of geoms: centre and half sizes in the geom's frame */
#define M_GROUP_REACH 360 /* of each group: its parts are apart where those geoms' places are farther apart */
#define M_SHAPES 361      /* behind all reals, ints: hulls (collide/hull.k.h), height fields (rows, columns, sizes) */
#define M_GEOM_BOUND 362  /* of geoms in those trees: radius of the bounding sphere and margin */
#define M_NOSLIP_TOLERANCE 363
#define M_MUSCLE_GAIN 364 /* of actuators, nine each, if there are muscles */
#define M_MUSCLE_BIAS 365
#define M_MUSCLE_DYN 366 /* three */
#define M_MUSCLE_RANGE 367
#define M_MUSCLE_ACC0 368
#define M_ACT_CRANKLENGTH 369
#define M_LINK_SCALE 370      /* 1 / the divisor of the pulley before a link */
#define M_MOTOR_DYN 371       /* PH_MOTOR_DYN reals an actuator, where there are motors, … */
#define M_MOTOR_GAIN 372      /* … PH_MOTOR_GAIN, … */
#define M_MOTOR_BIAS 373      /* … PH_MOTOR_BIAS */
#define M_RAY_PRM 374         /* trees of what M_RAY_SHAPE names */
#define M_CAM_PRM 375         /* of cameras that sensors name: PH_CAM_PRM reals */
#define M_FLUID_PRM 376       /* of those geoms, FL_SIZE each */
#define M_GEOM_SURFACEVEL 377 /* six each, if some surface moves */
#define M_PLUGIN_PID 378      /* of actuators, if there are such: five, see plugin_pid.k.h */
#define M_GRID_EDGES 379      /* of grids of touch, see touch_grid.k.h */
#define M_PARAMETERS_END 380

/* team memory */
#define W_QPOS 500 /* the state and the inputs: copies, from here … */
#define W_QVEL 501
#define W_ACT 502
#define W_CTRL 503
#define W_QFRC_APPLIED 504
#define W_XFRC_APPLIED 505
#define W_MOCAP_POS 506
#define W_MOCAP_QUAT 507 /* … to here */
#define W_XPOS 508
#define W_XQUAT 509
#define W_XMAT 510
#define W_XIPOS 511
#define W_XIMAT 512
#define W_XANCHOR 513
#define W_XAXIS 514
#define W_GEOM_XPOS 515
#define W_GEOM_XMAT 516
#define W_SITE_XPOS 517
#define W_SITE_XMAT 518
#define W_SUBTREE_COM 519
#define W_CDOF 520
#define W_CINERT 521
#define W_CRB 522
#define W_QM 523 /* sparse: M_ROWNNZ, M_ROWADR, M_COLIND */
#define W_QLD 524
#define W_QLDIAGINV 525
#define W_TEN_LENGTH 526
#define W_TEN_VELOCITY 527
#define W_TEN_FORCE 528 /* scratch: two sums a tendon */
#define W_ACTUATOR_LENGTH 529
#define W_ACTUATOR_VELOCITY 530
#define W_ACTUATOR_MOMENT 531
#define W_CVEL 532
#define W_CDOF_DOT 533
#define W_CACC 534 /* of stage bias: without qacc; of stage after: with it */
#define W_CFRC 535 /* of stage bias; scratch of others */
#define W_QFRC_SPRING 536
#define W_QFRC_DAMPER 537
#define W_QFRC_GRAVCOMP 538
#define W_QFRC_PASSIVE 539
#define W_QFRC_BIAS 540
#define W_ACT_DOT 541
#define W_ACTUATOR_FORCE 542
#define W_ACTUATOR_DERIV 543 /* derivative of actuator_force by actuator_velocity */
#define W_QFRC_ACTUATOR 544
#define W_QFRC_SMOOTH 545
#define W_QFRC_CONSTRAINT 546
#define W_QACC_SMOOTH 547
#define W_QACC 548
#define W_QH 549        /* the integrator's matrix */
#define W_QACC_STEP 550 /* what the integrator adds to qvel, divided by the time step */
#define W_QACC_WARMSTART 551
#define W_EQ_ACTIVE 552 /* 1 or 0 */
#define W_EFC_POS 553   /* of rows: … */
#define W_EFC_D 554
#define W_EFC_AREF 555
#define W_EFC_FORCE 556
#define W_EFC_JAR 557   /* J qacc - aref */
#define W_EFC_JV 558    /* J times the search direction */
#define W_EFC_J 559     /* of slots: rows times dofs of the block */
#define W_EFC_BLOCK 560 /* of slots: the number of the block, -1: none */
#define W_EFC_C 561     /* of slots: the negative derivative of their forces, for the Hessian */
#define W_H 562         /* lower triangle by rows: the Hessian, then its factor but for the diagonal */
#define W_GRAD 563
#define W_SEARCH 564
#define W_MA 565 /* M (qacc - qacc_smooth) */
#define W_MV 566 /* M times the search direction */
#define W_SOLVER_NITER 567
#define W_KEPT 568 /* qacc, qfrc_constraint, solver_niter of lanes that are done */
#define W_SENSORDATA 569
#define W_RK 570 /* Runge-Kutta: state before the step, sums of velocities, accelerations, act_dot, turns */
#define W_QFRC_FLUID 571
#define W_SUMS 572       /* parts of up to four sums, PH_SUMS each */
#define W_H_TILES 573    /* factors of the tiles on H's diagonal, with the inverses of theirs */
#define W_H_LOW 574      /* low parts of numbers in W_H, see twofold.k.h */
#define W_CRB_LOW 575    /* low parts of crb */
#define W_THIN 576       /* 1: a pivot of qM is thin; 0 */
#define W_TREE_REACH 577 /* radius of each tree's sphere */
#define W_NOSLIP 578     /* M^-1 J' of rows, see noslip.k.h */
#define W_TEN_J 579      /* if there are links */
#define W_LINK_PULL 580  /* of links: three spatial forces */
#define W_LINK_LENGTH 581
#define W_SLOPE_BODY 582     /* see slopes.k.h: 36 reals a body, … */
#define W_SLOPE_DOF 583      /* … M_SLOPE a dof */
#define W_QU 584             /* of integrator implicit: its matrix above the diagonal, by columns */
#define W_METRIC 585         /* of integrator discrete, see discrete.k.h: in qM's place, … */
#define W_SHIFT 586          /* … what springs' forces change by in a time step at qvel, … */
#define W_ACTUATOR_STIFF 587 /* … the derivative of actuator_force by actuator_length, … */
#define W_FREE_HELD 588      /* … of bodies of M_FREE_BODY: 1 where a row has their dofs, 0 */
#define W_TIME 589           /* if something needs it */
#define W_END 590

/* team memory of stage after (after.k.h), behind all else: a step does not have it */
#define W_SEEN 600 /* PH_SEEN reals a slot: a contact; over efc_jar, efc_Jv and efc_J, if it fits there */
#define W_CFRC_EXT 601
#define W_CFRC_INT 602
#define W_SUBTREE_LINVEL 603
#define W_SUBTREE_ANGMOM 604
#define W_ENERGY 605
#define W_AFTER_END 606
#define M_HEADER 640 /* ints before the first table */

#define PH_CHUNK 4 /* entries that a thread makes at a time */

/* bits of m[M_FLAGS] */
#define PH_NO_PASSIVE 1 /* springs and dampers are both disabled */
#define PH_NO_SPRING 2
#define PH_NO_DAMPER 4
#define PH_NO_ACTUATION 8
#define PH_NO_AUTORESET 16
#define PH_RK4 1 /* a value of M_INTEGRATOR, … */
#define PH_IMPLICIT 2
#define PH_DISCRETE 4
#define PH_EULERDAMP 32 /* the integrator is Euler, and takes damping of dofs implicitly */
#define PH_GRAVCOMP 64
#define PH_TEN_ARMATURE 128
#define PH_TEN_LIMITS 512 /* some tendon limits the forces of its actuators */
#define PH_NO_WARMSTART 1024
#define PH_JNT_LIMITS 256   /* some joint limits the forces of its actuators */
#define PH_NO_MULTICCD 2048 /* convex pairs have one contact */
#define PH_FLUID 4096       /* there is a medium */

/* bits of tables */
#define PH_BODY_FREE 1     /* its one joint is free */
#define PH_BODY_ROOT 2     /* its parent is the world, and it is no mocap body */
#define PH_BODY_STRAIGHT 4 /* body_quat is 1 0 0 0 */
#define PH_BODY_ALONE 8    /* moves with a body of M_FREE_BODY */
#define PH_JNT_POS 1       /* jnt_pos is not 0 */
#define PH_JNT_STIFF 2     /* has a spring */
#define PH_JNT_POLY 4      /* … that is not linear */
#define PH_JNT_FORCERANGE 8
#define PH_JNT_ACTGRAVCOMP 16
#define PH_DOF_SIMPLE 1 /* its entry of qM is dof_M0 */
#define PH_DOF_DAMPED 2
#define PH_DOF_POLY 4
#define PH_TEN_STIFF 1
#define PH_TEN_STIFF_POLY 2
#define PH_TEN_DAMPED 4
#define PH_TEN_DAMPED_POLY 8
#define PH_TEN_FORCERANGE 16
#define PH_ACT_FORCERANGE 2
#define PH_ACT_ACTRANGE 4
#define PH_ACT_EARLY 8
#define PH_ACT_DISABLED 16
#define PH_ACT_CIRCLE 32 /* it turns a ball or a site; of a position servo, the setpoint nearest to the angle counts */

#define PH_ACT_PLUGIN 64

/* mjtGain */
#define PH_GAIN_DCMOTOR 3
#define PH_GAIN_SO3 4
#define PH_GAIN_PID 5

/* activations of DC motors and PID controllers, in MuJoCo's order; how many of their parameters are taken */
#define PH_SLEW 0
#define PH_INTEGRAL 1
#define PH_TEMPERATURE 2
#define PH_BRISTLE 3
#define PH_CURRENT 4
#define PH_MOTOR_SLOTS 5
#define PH_MOTOR_DYN 9
#define PH_MOTOR_GAIN 8
#define PH_MOTOR_BIAS 6

/* what a geom has in M_FLUID_PRM, see fluid.k.h */
#define FL_AXES 0  /* half axes of the ellipsoid */
#define FL_BLUNT 3 /* coefficients of drag, … */
#define FL_SLENDER 4
#define FL_ANGULAR 5
#define FL_KUTTA 6 /* … of lift */
#define FL_MAGNUS 7
#define FL_MASS 8 /* mass and inertia of the medium that moves with it, for a density of 1 */
#define FL_INERTIA 11
#define FL_SCALE 14 /* of the whole force */
#define FL_SIZE 15

/* bits of a world's faults: 1 << STET_FAULT_… */
#define PH_BAD_QPOS 1
#define PH_BAD_QVEL 2
#define PH_BAD_QACC 4
#define PH_BAD_CTRL 8
#define PH_CONTACTS_FULL 16
/* no faults: since the last pull the world was reset to time 0, as it went wrong, or put back, as somebody asked */
#define PH_WAS_RESET (1 << 30)
#define PH_WAS_PUT_BACK (1 << 29)

#define PH_MANY_PAIRS 1024 /* from more on, 32 flags of pairs are one word, and a thread's work; and there are groups */

/* what a launch of steps does beside steps, in code for all models only */
#define PH_COUNT 1 /* nothing is stepped, contacts are only counted */
#define PH_OWED 2  /* worlds make the steps that they owe; room is all that there can be */
#ifdef PH_MODEL
#define PH_DOES(how, what) 0
#else
#define PH_DOES(how, what) ((how) == (what))
#endif

/* the description of a constraint block */
#define B_KIND 0 /* PH_EQUALITY … PH_ELLIPTIC */
#define B_TYPE 1 /* PH_EQ_CONNECT … */
#define B_DIM 2  /* rows */
#define B_NDOF 3
#define B_DOFS 4 /* where its dofs begin, from its description on */
#define B_PRM 5  /* where its parameters begin in M_BLOCK_PRM; blocks may share dofs, tiles and parameters */
#define B_ID 6   /* the equality, joint, dof, tendon */
#define B_SIDE 7 /* of limits: -1, 1 */
#define B_OBJ1 8 /* of equalities: bodies, joints, tendons; -1: none */
#define B_OBJ2 9
#define B_TILES 10  /* where, from there, the bits of the rows of tiles of H are in which it has dofs, */
#define B_LOW 11    /* and the first of them */
#define B_PART 12   /* its part of sums, see solve.k.h; of two geoms, of their first contact */
#define B_PLACES 13 /* where, from there, the rows of H of its dofs begin */
#define B_SIZE 14
#define PH_ROWS 6 /* of a block, at most */

#define PH_EQUALITY 0
#define PH_FRICTION 1
#define PH_LIMIT 2
#define PH_CONTACT 3 /* without friction; contacts are not below this */
#define PH_PYRAMID 4
#define PH_ELLIPTIC 5

#define PH_EQ_CONNECT 0
#define PH_EQ_WELD 1
#define PH_EQ_JOINT 2
#define PH_EQ_TENDON 3
#define PH_LOSS_DOF 4
#define PH_LOSS_TENDON 5
#define PH_LIMIT_JOINT 6
#define PH_LIMIT_BALL 7
#define PH_LIMIT_TENDON 8
#define PH_GEOMS 9

/* mjtGeom */
#define PH_PLANE 0
#define PH_HFIELD 1
#define PH_SPHERE 2
#define PH_CAPSULE 3
#define PH_ELLIPSOID 4
#define PH_CYLINDER 5
#define PH_BOX 6
#define PH_MESH 7
#define PH_TYPES 8

/* parameters of a block */
#define P_K 0 /* stiffness and damping of the reference acceleration, from solref */
#define P_B 1
#define P_SOLIMP 2 /* five, within MuJoCo's bounds */
#define P_MARGIN 7
#define P_DIAG 8        /* approximate inverse inertia: rows 0 … 2, rows 3 … 5 */
#define P_LEAST_R 9     /* of two geoms instead: R of their rows, at least */
#define P_LOSS 10       /* friction loss */
#define P_REACH 10      /* of two geoms instead: they are apart where their centres are farther, see ph_near */
#define P_B_FRICTION 11 /* damping of the other rows of an elliptic contact */
#define P_FRICTION 12   /* five */
#define P_MU 17         /* regularised friction of an elliptic cone */
#define P_SCALE 18      /* five: R of the other rows of an elliptic contact, divided by that of the first */
#define P_RATIO 23      /* of integrator discrete: the damping ratio of a spring that gives way to the time step; 0 */
#define P_SIZE 24

/* stages of a step: those of forward dynamics, what goes before and after them, … */
#define PH_STAGE_POSES 1
#define PH_STAGE_INERTIA 2
#define PH_STAGE_FORCES 4
#define PH_STAGE_CONTACTS 8
#define PH_STAGE_ROWS 16
#define PH_STAGE_SOLVE 32
#define PH_STAGE_AFTER 64
#define PH_STAGES_FORWARD 127
#define PH_STAGE_BEGIN 128
#define PH_STAGE_END 256
#define PH_STAGE_AGAIN 512 /* after the end: forward dynamics and the end of worlds whose acceleration was bad */

/* what a kernel of stages leaves of a world to those after it */
#define LEFT_FOUND 0 /* faults of this step */
#define LEFT_BAD 1   /* 1: its controls are */
#define LEFT_RESET 2 /* 1: it was reset in this step */
#define LEFT_WILD 3  /* 1: its acceleration is bad */
#define LEFT_SIZE 4

/* what forward dynamics do beside */
#define PH_EXTRA_SENSORS 1
#define PH_EXTRA_FORCES 2 /* of stage after: cacc, cfrc_ext, cfrc_int */
#define PH_EXTRA_MOMENTA 4
#define PH_EXTRA_ENERGY 8
#define PH_EXTRA_AFTER 14    /* all of stage after */
#define PH_EXTRA_CONTACTS 16 /* contact sensors */
#define PH_EXTRA_BEHIND 30   /* any of what needs the memory behind M_NMEMORY */
#define PH_EXTRA_LIST 32     /* this times how many contacts are listed, behind M_NMEMORY_ALL */

#define PH_SUMS 8           /* sums of the solver are made in so many parts, see solve.k.h */
#define PH_MOST_CONTACTS 32 /* of a pair of geoms: a height field's, a bit of an int each */
#define PH_SEEN 15          /* reals of a slot in W_SEEN */
#define PH_LISTED 21        /* reals of a contact as it is read */

/* a quantity that is read: where it comes from, where in the output it begins, and how many numbers it has */
#define Q_KIND 0 /* PH_SHOW_… */
#define Q_AT 1
#define Q_N 2
#define Q_FROM 3 /* the number of a quantity in team memory; of contacts: the first number of PH_LISTED */
#define Q_ITEM 4 /* of Jacobians: which item of Q_FROM is the place; of contacts: how many of PH_LISTED */
#define Q_BODY 5
#define Q_SIZE 6

#define PH_SHOW_COPY 0
#define PH_SHOW_QUAT 1
#define PH_SHOW_DENSE 2
#define PH_SHOW_JACOBIAN 3
#define PH_SHOW_POINT 4 /* a Jacobian of a point, item Q_ITEM of `points`, in the frame of the body */
#define PH_SHOW_CONTACT 5

/* a link of a spatial tendon: sites, the geom that it wraps around and its side site (-1: none) */
#define LK_FROM 0
#define LK_TO 1
#define LK_GEOM 2
#define LK_SIDE 3
#define LK_SPHERE 4 /* the geom is a sphere, not a cylinder */
#define LK_SIZE 5

/* a sensor */
#define SN_KIND 0 /* PH_SENSE_… */
#define SN_ADR 1  /* in sensordata */
#define SN_DIM 2
#define SN_CUT 3     /* the cutoff holds: 0 not at all, 1 on both sides, 2 from above */
#define SN_OBJECT 4  /* three ints: mjtObj, id, the body that it is fixed to */
#define SN_REF 7     /* the same of the reference frame; -1: the world's */
#define SN_FROM 10   /* a quantity in team memory, W_…; */
#define SN_ITEM 11   /* its item; an axis; bits of mjtRayDataField; 1: in the object's own frame */
#define SN_BLOCK 12  /* of limits: the first block, and how many there are */
#define SN_NBLOCK 13 /* (contact_sensor.k.h and geom_distance.k.h have others) */
#define SN_SIZE 14

#define PH_SENSE_NOTHING 0 /* 0 */
#define PH_SENSE_COPY 1
#define PH_SENSE_BALLQUAT 2
#define PH_SENSE_TENDONFORCE 3
#define PH_SENSE_MAGNETOMETER 4
#define PH_SENSE_RANGEFINDER 5
#define PH_SENSE_INSIDE 6
#define PH_SENSE_LIMITPOS 7
#define PH_SENSE_LIMITVEL 8
#define PH_SENSE_POS 9
#define PH_SENSE_AXIS 10
#define PH_SENSE_QUAT 11
#define PH_SENSE_LINVEL 12
#define PH_SENSE_ANGVEL 13
#define PH_SENSE_LINACC 14
#define PH_SENSE_ANGACC 15
#define PH_SENSE_FORCE 16
#define PH_SENSE_TORQUE 17
#define PH_SENSE_PROJECTION 18
#define PH_SENSE_ROWS 19 /* from here on: kinds that need rows of constraints */
#define PH_SENSE_TOUCH 19
#define PH_SENSE_LIMITFORCE 20
#define PH_SENSE_CONTACT 21
#define PH_SENSE_DISTANCE 22
#define PH_SENSE_CAMERARANGE 23
#define PH_SENSE_GRID 24

/* of a camera: focal lengths and the middle of a picture, in pixels, half of the height that is seen, if it is the same
   at any distance, else 0; the same lengths as projections have them, and the middle */
#define PH_CAM_PRM 9

/* mjtObj */
#define PH_BODY 1
#define PH_XBODY 2
#define PH_GEOM 5
#define PH_SITE 6
#define PH_CAMERA 7

/* plain team memory */
#define S_NSLOT 0
#define S_NROW 1
#define S_NJ 2
#define S_FULL 3
#define S_NNEAR 4  /* pairs of geoms that are near in some lane of the group */
#define S_WANTED 5 /* contacts of the group, also those that there is no room for */
#define S_NLEVEL 6 /* levels of the columns of tiles of H */
#define S_MISSED 7 /* near pairs that had no room in the list */
#define S_PARTS 8  /* where each part begins among the active slots by part; then how many there are */
#define S_SLOTS (S_PARTS + PH_SUMS + 1)

/*
 * such a pair: its number (from M_NPAIR on: it is made in this step), bits of its contacts, the slot of the first of
 * them, where they are kept (contact.k.h)
 */
#define NEAR_PAIR 0
#define NEAR_BITS 1
#define NEAR_SLOT 2
#define NEAR_KEPT 3
#define NEAR_SIZE 4

#endif
