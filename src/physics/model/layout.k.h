/*
 * What C and kernels of native physics share beside the table of numbers, rows.inl: bits of tables, the fields of what
 * is described by several ints or reals, kinds and stages.
 */
#ifndef STI_PHYSICS_LAYOUT_K_H
#define STI_PHYSICS_LAYOUT_K_H

/*
 * On a GPU a step may be compiled for its model (model_code.c). Then PH_MODEL are the ints of m, and PH_NEAR says, from
 * W_QPOS on, where each quantity is among the PH_NEAR_REALS that a team has in shared memory; -1: it is in w.memory.
 * PH_KINDS says which kinds of blocks have how many rows (bits of the kinds, from 0 rows on), PH_PARTNERS which types
 * of geoms may touch (bits of the second types, from the first type 0 on): what a model has none of is not in its code.
 * PH_HAS_SEARCHED is 0 if all contacts have a closed form, PH_HAS_HFIELD if no height field can be touched.
 */
#ifdef PH_MODEL
static const int ph_model[] = {PH_MODEL}, ph_near_at[] = {PH_NEAR};
static const int ph_kinds[] = {PH_KINDS}, ph_partners[] = {PH_PARTNERS};
#define PH_TABLES(w) ph_model
#define PH_AT(w, name)                                                                                                 \
    (ph_near_at[(name)-W_QPOS] >= 0                                                                                    \
         ? (real *)STI_DYNAMIC_SHARED + threadIdx.y * PH_NEAR_REALS + ph_near_at[(name)-W_QPOS]                        \
         : (w).memory + ph_model[name])
#define PH_HAS_ROWS(dim) (ph_kinds[dim] != 0)
#define PH_HAS_KIND(dim, kind) (ph_kinds[dim] >> (kind)&1)
#define PH_HAS_PAIRS (ph_model[M_NPAIR] + ph_model[M_NTREE] > 0)
#define PH_HAS_TREES (ph_model[M_NTREE] > 0)
#define PH_HAS_FIRST(first) (ph_partners[first] != 0)
#define PH_HAS_PAIR(first, second) (ph_partners[first] >> (second)&1)
#else
#define PH_TABLES(w) ((w).tables)
#define PH_AT(w, name) ((w).memory + PH_TABLES(w)[name])
#define PH_HAS_ROWS(dim) 1
#define PH_HAS_KIND(dim, kind) 1
#define PH_HAS_FIRST(first) 1
#define PH_HAS_PAIR(first, second) 1
#define PH_HAS_PAIRS 1
#define PH_HAS_TREES 1
#define PH_HAS_SEARCHED 1
#endif

#define PH_CHUNK 4 /* entries that a thread makes at a time */

/* bits of model_flags(w) */
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
#define B_PART 12   /* its part of sums, see sums.k.h; of two geoms, of their first contact */
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

/* mjtJoint */
#define PH_FREE 0
#define PH_BALL 1
#define PH_SLIDE 2
#define PH_HINGE 3

/* mjtTrn */
#define PH_TRN_JOINT 0
#define PH_TRN_JOINTINPARENT 1
#define PH_TRN_SLIDERCRANK 2
#define PH_TRN_TENDON 3
#define PH_TRN_SITE 4
#define PH_TRN_BODY 5
#define PH_TRN_SO3 6

/* mjtDyn */
#define PH_DYN_NONE 0
#define PH_DYN_INTEGRATOR 1
#define PH_DYN_FILTEREXACT 3
#define PH_DYN_MUSCLE 4

/* mjtGain */
#define PH_GAIN_AFFINE 1
#define PH_GAIN_MUSCLE 2
#define PH_GAIN_DCMOTOR 3
#define PH_GAIN_SO3 4
#define PH_GAIN_PID 5

/* mjtBias */
#define PH_BIAS_AFFINE 1
#define PH_BIAS_MUSCLE 2

/* mjtSameFrame */
#define PH_SAME_BODY 1
#define PH_SAME_INERTIA 2
#define PH_SAME_BODYROT 3
#define PH_SAME_INERTIAROT 4

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
#define P_DIAG 8         /* approximate inverse inertia: rows 0 … 2, rows 3 … 5 */
#define P_LEAST_R 9      /* of two geoms instead: R of their rows, at least */
#define P_LOSS 10        /* friction loss */
#define P_REACH 10       /* of two geoms instead: they are apart where their centres are farther, see ph_near */
#define P_B_FRICTION 11  /* damping of the other rows of an elliptic contact */
#define P_FRICTION 12    /* five */
#define P_MU 17          /* regularised friction of an elliptic cone */
#define P_SCALE 18       /* five: R of the other rows of an elliptic contact, divided by that of the first */
#define P_RATIO 23       /* of integrator discrete: the damping ratio of a spring that gives way to the time step; 0 */
#define P_GAP 24         /* of two geoms: what is above the margin by less is a contact without forces */
#define P_ADHESION 25    /* of two geoms: N that pull them together */
#define P_NORMAL_DIAG 26 /* the same as P_DIAG, of the normal row alone */
#define P_SIZE 27

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

#define PH_SUMS 8           /* sums of the solver are made in so many parts, see sums.k.h */
#define PH_ISLE_INTS 13     /* lists of islands, see islands.k.h */
#define PH_ISLE_REALS 52    /* of an island, see island_solve.k.h */
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

/* a control, or those of an actuator, or a sensor that is kept, see delay.k.h */
#define PA_FROM 0 /* in ctrl or sensordata */
#define PA_DIM 1
#define PA_AT 2 /* in history */
#define PA_N 3  /* samples */
#define PA_INTERP 4
#define PA_SIZE 5

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
