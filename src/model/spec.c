/* See spec.h. */
#include "model/spec.h"

#include "base/error.h"
#include "model/guard.h"

#include <math.h>
#include <string.h>

enum { GROUP_OF_FRAMES = 4 };

static void keep_frames(mjSpec *spec)
{
    if (!spec->compiler.fusestatic) return;
    for (mjsElement *e = mjs_firstElement(spec, mjOBJ_BODY); e; e = mjs_nextElement(spec, e)) {
        mjsBody *body = mjs_asBody(e);
        const char *name = mjs_getString(mjs_getName(e));
        if (!name || !name[0] || strcmp(name, "world") == 0 || mjs_firstChild(body, mjOBJ_JOINT, 0)) continue;
        if (mjs_findElement(spec, mjOBJ_SITE, name)) continue;
        mjsSite *site = mjs_addSite(body, NULL);
        (void)mjs_setName(site->element, name);
        site->group = GROUP_OF_FRAMES;
    }
}

static bool has_actuator(mjSpec *spec, const char *joint)
{
    for (mjsElement *e = mjs_firstElement(spec, mjOBJ_ACTUATOR); e; e = mjs_nextElement(spec, e)) {
        const mjsActuator *actuator = mjs_asActuator(e);
        const char *target = mjs_getString(actuator->target);
        bool of_joint = actuator->trntype == mjTRN_JOINT || actuator->trntype == mjTRN_JOINTINPARENT;
        if (of_joint && target && strcmp(target, joint) == 0) return true;
    }
    return false;
}

/* Of the joint's angle in radians, or its length. */
static void limit_positions(const mjSpec *spec, const mjsJoint *joint, mjsActuator *actuator)
{
    double unit = spec->compiler.degree && joint->type == mjJNT_HINGE ? mjPI / 180 : 1;
    if (joint->limited == mjLIMITED_FALSE || joint->range[0] >= joint->range[1]) return;
    for (int k = 0; k < 2; ++k) actuator->ctrlrange[k] = unit * joint->range[k];
}

static const char *set_kind(const mjSpec *spec, const mjsJoint *joint, mjsActuator *actuator, stet_actuation actuation,
                            double kp, double kd)
{
    switch (actuation) {
    case STET_ACTUATION_POSITION:
        limit_positions(spec, joint, actuator);
        return mjs_setToPosition(actuator, kp, kd > 0 ? &kd : NULL, NULL, NULL, 0);
    case STET_ACTUATION_VELOCITY: return mjs_setToVelocity(actuator, kd);
    default:
        for (int k = 0; k < 2; ++k) actuator->ctrlrange[k] = joint->actfrcrange[k];
        return mjs_setToMotor(actuator);
    }
}

typedef struct extending {
    const char *what;
    mjSpec *spec;
    const sti_spec_more *more;
    stet_result result;
} extending;

static stet_result add_actuator(const extending *x, const mjsJoint *joint, const char *name)
{
    mjsActuator *actuator = mjs_addActuator(x->spec, NULL);
    (void)mjs_setName(actuator->element, name);
    mjs_setString(actuator->target, name);
    actuator->trntype = mjTRN_JOINT;
    const char *wrong = set_kind(x->spec, joint, actuator, x->more->actuation, x->more->kp, x->more->kd);
    if (!wrong || !wrong[0]) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: the actuator of joint %s: %s", x->what, name, wrong);
}

static stet_result add_actuators(const extending *x)
{
    for (mjsElement *e = mjs_firstElement(x->spec, mjOBJ_JOINT); e; e = mjs_nextElement(x->spec, e)) {
        const mjsJoint *joint = mjs_asJoint(e);
        const char *name = mjs_getString(mjs_getName(e));
        if (joint->type != mjJNT_HINGE && joint->type != mjJNT_SLIDE) continue;
        if (!name || !name[0])
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "%s: a joint has no name, so no actuator can be added to it; name all hinges and slides",
                             x->what);
        if (!has_actuator(x->spec, name)) STI_TRY(add_actuator(x, joint, name));
    }
    return STET_OK;
}

static void extend(void *context)
{
    extending *x = context;
    if (x->more->frames) keep_frames(x->spec);
    if (x->more->actuation != STET_ACTUATION_NONE) x->result = add_actuators(x);
}

static stet_result check_gains(const char *what, const sti_spec_more *more)
{
    bool position = more->actuation == STET_ACTUATION_POSITION, velocity = more->actuation == STET_ACTUATION_VELOCITY;
    bool good = more->kd >= 0 && isfinite(more->kd) && isfinite(more->kp) && (!position || more->kp > 0) &&
                (!velocity || more->kd > 0);
    if (good || more->actuation == STET_ACTUATION_NONE) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "%s: actuators with kp %g and kd %g; position servos want kp above 0, velocity servos kd, and kd "
                     "is at least 0",
                     what, more->kp, more->kd);
}

stet_result sti_spec_extend(const char *what, mjSpec *spec, const sti_spec_more *more)
{
    char text[256] = "";
    extending x = {.what = what, .spec = spec, .more = more};
    STI_TRY(check_gains(what, more));
    if (sti_mujoco_guard(extend, &x, text, sizeof text)) return x.result;
    return sti_error(STET_ERROR_PARSE, "%s: MuJoCo cannot add sites or actuators: %s", what, text);
}
