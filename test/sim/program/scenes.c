/*
 * The random program's models: four that stay, and one that is drawn anew for each pair of sims, with MuJoCo's
 * plugins, keyframes, height fields of one row of cells, and nothing where others have something.
 */
#include "sim/program/program.h"

#include "physics/covered.h"
#include "render/random_scene.h"

#include <stdlib.h>

/* A mesh, a ball, a mocap body, an actuator with a state; cameras and a light that follow and aim. */
static const char zoo[] =
    "<mujoco><option timestep='0.005'/><asset><mesh name='wedge' vertex='0 0 0  .4 0 0  0 .4 0  0 0 .4  .3 .3 .3'/>"
    "<material name='red' rgba='.8 .2 .1 1' specular='.4'/></asset>"
    "<worldbody><light pos='0 0 3'/><geom type='plane' size='3 3 .1' rgba='.3 .4 .5 1'/>"
    "<camera name='wide' pos='0 -3 1.5' xyaxes='1 0 0 0 .4 1'/>"
    "<camera name='aim' mode='targetbody' target='ball' pos='2 -2 2'/>"
    "<body name='post' pos='-.5 .2 0'><geom type='box' size='.1 .1 .2' rgba='.2 .7 .3 1'/><site name='top' pos='0 0 "
    ".2'/></body>"
    "<body name='arm' pos='0 0 .6'><joint name='hinge' axis='0 1 0' damping='.1'/>"
    "<geom type='mesh' mesh='wedge' material='red' mass='1'/>"
    "<camera name='chase' mode='trackcom' pos='0 -2 .5' xyaxes='1 0 0 0 .2 1'/><light mode='track' pos='0 0 2'/>"
    "<body name='slider' pos='.4 0 .1'><joint name='slide' type='slide' axis='1 0 0' range='-.3 .3' limited='true'/>"
    "<geom type='capsule' size='.05 .2' mass='.3'/><site name='tip' pos='.1 0 0'/></body></body>"
    "<body name='ball' pos='.7 .3 .8'><freejoint/><geom size='.15' rgba='.9 .8 .2 1'/></body>"
    "<body name='hand' mocap='true' pos='-.4 -.5 .7'><geom type='ellipsoid' size='.1 .15 .2' contype='0' "
    "conaffinity='0'/>"
    "<camera name='palm' pos='0 -.6 0' xyaxes='1 0 0 0 0 1'/></body></worldbody>"
    "<actuator><motor joint='hinge' ctrlrange='-1 1' ctrllimited='true'/>"
    "<general joint='slide' dyntype='filter' dynprm='.1' gainprm='2'/></actuator>"
    "<sensor><jointpos joint='hinge'/><framepos objtype='body' objname='ball'/><framepos objtype='site' "
    "objname='tip'/></sensor>"
    "<keyframe><key name='up' qpos='.4 .1 .5 0 1.2 1 0 0 0' ctrl='.2 -.1' mpos='0 -.6 .9'/><key name='down' qpos='-1 0 "
    ".7 .3 .2 .8 .6 0 "
    "0'/></keyframe></mujoco>";

/* No joint, no camera, no actuator: nothing moves but what is written. */
static const char rocks[] =
    "<mujoco><worldbody><light pos='0 0 3'/><geom type='plane' size='2 2 .1' rgba='.3 .3 .3 1'/>"
    "<body name='rock' pos='.2 0 .3'><geom type='cylinder' size='.2 .3' rgba='.6 .4 .2 1'/>"
    "<body name='moss' pos='0 0 .35'><geom size='.1' rgba='.1 .6 .2 1'/></body></body></worldbody></mujoco>";

/* ---- a drawn model ----------------------------------------------------------------------------------------------- */

/* What a drawn model may have or lack. */
enum {
    PID,
    TOUCH_GRID,
    SDF,
    ONE_CELL,
    ONE_ROW,
    ONE_COLUMN,
    FLAT_FIELD,
    ONE_KEYFRAME,
    TWO_KEYFRAMES,
    MOCAP,
    NO_BODY,
    NO_GEOM,
    NO_JOINT,
    NO_ACTUATOR,
    NO_SENSOR,
    NO_LIGHT,
    NO_CAMERA,
    KINDS
};
static const char *const kind_names[KINDS] = {
    [PID] = "pid",
    [TOUCH_GRID] = "touch grid",
    [SDF] = "sdf",
    [ONE_CELL] = "hfield of one cell",
    [ONE_ROW] = "hfield of one row",
    [ONE_COLUMN] = "hfield of one column",
    [FLAT_FIELD] = "flat hfield",
    [ONE_KEYFRAME] = "one keyframe",
    [TWO_KEYFRAMES] = "two keyframes",
    [MOCAP] = "mocap",
    [NO_BODY] = "no body",
    [NO_GEOM] = "no geom",
    [NO_JOINT] = "no joint",
    [NO_ACTUATOR] = "no actuator",
    [NO_SENSOR] = "no sensor",
    [NO_LIGHT] = "no light",
    [NO_CAMERA] = "no camera",
};

static int64_t ndrawn[KINDS];

typedef struct draft {
    scene_text text;
    bool has[KINDS];
} draft;

/*
 * A third of the models have a plugin, and two thirds a height field. MuJoCo takes a second to make a shape of its sdf
 * plugins.
 */
static void draw_kinds(program *p, draft *d)
{
    int plugin = roll(p, 30), field = ONE_CELL + roll(p, 6), keyframes = roll(p, 3);
    if (plugin < 11) d->has[plugin == 0 ? SDF : plugin < 6 ? PID : TOUCH_GRID] = true;
    if (field <= FLAT_FIELD) d->has[field] = true;
    if (keyframes > 0) d->has[keyframes == 1 ? ONE_KEYFRAME : TWO_KEYFRAMES] = true;
    for (int k = MOCAP; k < KINDS; ++k) d->has[k] = once_in(p, 5);
}

static void add_field(program *p, draft *d)
{
    int nrow = d->has[ONE_CELL] || d->has[ONE_ROW] ? 2 : 5, ncol = d->has[ONE_CELL] || d->has[ONE_COLUMN] ? 2 : 4;
    add(&d->text, "<asset><hfield name='field' nrow='%d' ncol='%d' size='1 1 .2 .1' elevation='", nrow, ncol);
    for (int i = 0; i < nrow * ncol; ++i) add(&d->text, d->has[FLAT_FIELD] ? "0 " : "%.2f ", 1 + wave(p));
    add(&d->text, "'/></asset>");
}

static void add_head(program *p, draft *d)
{
    add(&d->text, "<mujoco><option timestep='0.005'/>");
    if (d->has[PID])
        add(&d->text, "<extension><plugin plugin='mujoco.pid'><instance name='pid'><config key='kp' value='40'/>"
                      "<config key='ki' value='4'/><config key='imax' value='5'/></instance></plugin></extension>");
    if (d->has[TOUCH_GRID]) add(&d->text, "<extension><plugin plugin='mujoco.sensor.touch_grid'/></extension>");
    if (d->has[SDF])
        add(&d->text, "<extension><plugin plugin='mujoco.sdf.torus'><instance name='torus'/></plugin></extension>"
                      "<asset><mesh name='torus'><plugin instance='torus'/></mesh></asset>");
    if (d->has[ONE_CELL] || d->has[ONE_ROW] || d->has[ONE_COLUMN] || d->has[FLAT_FIELD]) add_field(p, d);
}

static void add_body(program *p, draft *d, int number)
{
    static const char *const joints[] = {"hinge", "slide", "ball", "free"};
    static const char *const geoms[] = {"sphere", "capsule", "box", "cylinder", "ellipsoid"};
    add(&d->text, "<body name='b%d' pos='%.2f %.2f %.2f'>", number, (double)wave(p), (double)wave(p),
        1.2 + 0.5 * (double)wave(p));
    if (!d->has[NO_JOINT]) add(&d->text, "<joint name='j%d' type='%s'/>", number, joints[number == 0 ? 1 : roll(p, 4)]);
    if (d->has[NO_GEOM])
        add(&d->text, "<inertial pos='0 0 0' mass='1' diaginertia='.1 .1 .1'/>");
    else
        add(&d->text, "<geom type='%s' size='.1 .15 .2' rgba='.8 .%d .2 1'/>", geoms[roll(p, 5)], roll(p, 9));
    if (!d->has[NO_CAMERA]) add(&d->text, "<camera name='c%d' pos='0 -1 .3' xyaxes='1 0 0 0 .3 1'/>", number);
    add(&d->text, "<site name='s%d' size='%s'/></body>", number, once_in(p, 2) ? ".05" : "1e-12");
}

static void add_world(program *p, draft *d)
{
    add(&d->text, "<worldbody><site name='origin'/>");
    if (!d->has[NO_LIGHT]) add(&d->text, "<light pos='0 0 3'/>");
    if (!d->has[NO_CAMERA]) add(&d->text, "<camera name='wide' pos='0 -3 1.5' xyaxes='1 0 0 0 .4 1'/>");
    if (!d->has[NO_GEOM]) add(&d->text, "<geom type='plane' size='0 0 1' pos='0 0 -.5'/>");
    if (strstr(d->text.at, "<hfield")) add(&d->text, "<geom type='hfield' hfield='field' rgba='.3 .6 .3 1'/>");
    for (int number = 0, n = 1 + roll(p, 3); number < n && !d->has[NO_BODY]; ++number) add_body(p, d, number);
    if (d->has[MOCAP]) add(&d->text, "<body mocap='true' pos='.4 .4 .9'><geom size='.1' contype='0'/></body>");
    if (d->has[PID])
        add(&d->text, "<body pos='.5 0 .5'><joint name='servo' type='slide' axis='0 1 0'/><geom size='.1'/></body>");
    if (d->has[SDF])
        add(&d->text, "<body pos='0 0 1.5'><freejoint/><geom type='sdf' mesh='torus' mass='1'><plugin "
                      "instance='torus'/></geom></body>");
    add(&d->text, "</worldbody>");
}

static void add_actuators_and_sensors(draft *d)
{
    bool jointed = !d->has[NO_BODY] && !d->has[NO_JOINT];
    add(&d->text, "<actuator>");
    if (jointed && !d->has[NO_ACTUATOR]) add(&d->text, "<motor joint='j0' ctrlrange='-1 1'/>");
    if (d->has[PID]) add(&d->text, "<plugin joint='servo' plugin='mujoco.pid' instance='pid' actdim='1'/>");
    add(&d->text, "</actuator><sensor>");
    if (jointed && !d->has[NO_SENSOR]) add(&d->text, "<jointpos joint='j0'/>");
    if (d->has[TOUCH_GRID])
        add(&d->text, "<plugin name='touch' plugin='mujoco.sensor.touch_grid' objtype='site' objname='origin'><config "
                      "key='size' value='3 2'/><config key='fov' value='90 90'/><config key='gamma' value='0'/><config "
                      "key='nchannel' value='1'/></plugin>");
    add(&d->text, "</sensor>");
}

static stet_model *load_draft(program *p, const draft *d)
{
    stet_model *model = NULL;
    CHECK(p, stet_model_load_string(d->text.at, &model) == STET_OK, "%s: %s", stet_get_last_error(), d->text.at);
    return model;
}

static void add_numbers(program *p, draft *d, const char *name, int n)
{
    if (n == 0 || once_in(p, 3)) return;
    add(&d->text, " %s='", name);
    for (int i = 0; i < n; ++i) add(&d->text, "%.3f ", (double)wave(p));
    add(&d->text, "'");
}

/* MuJoCo knows the sizes of the model without them. */
static void add_keyframes(program *p, draft *d)
{
    size_t begin = d->text.n;
    add(&d->text, "</mujoco>");
    stet_model *model = load_draft(p, d);
    stet_model_info info = stet_model_get_info(model);
    stet_model_destroy(model);
    d->text.n = begin;
    add(&d->text, "<keyframe>");
    for (int k = 0; k < (d->has[TWO_KEYFRAMES] ? 2 : 1); ++k) {
        add(&d->text, "<key time='%d'", k);
        add_numbers(p, d, "qpos", info.nq);
        add_numbers(p, d, "qvel", info.nv);
        add_numbers(p, d, "act", info.na);
        add_numbers(p, d, "ctrl", info.nu);
        add_numbers(p, d, "mpos", 3 * info.nmocap);
        add(&d->text, "/>");
    }
    add(&d->text, "</keyframe>");
}

stet_model *program_draw_model(program *p, int kind)
{
    draft *d = calloc(1, sizeof *d);
    CHECK(p, d, "out of memory");
    draw_kinds(p, d);
    if (kind >= 0) d->has[kind] = true;
    say(p, "a model with");
    for (int k = 0; k < KINDS; ++k) {
        ndrawn[k] += d->has[k];
        if (d->has[k]) say(p, " %s,", kind_names[k]);
    }
    add_head(p, d);
    add_world(p, d);
    add_actuators_and_sensors(d);
    if (d->has[ONE_KEYFRAME] || d->has[TWO_KEYFRAMES]) add_keyframes(p, d);
    add(&d->text, "</mujoco>");
    stet_model *model = load_draft(p, d);
    free(d);
    return model;
}

void program_models(program *p)
{
    p->model[0] = rig_model("cartpole.xml");
    p->model[1] = rig_model(zoo);
    p->model[2] = rig_model(rocks);
    p->model[3] = rig_model(COVERED_SCENE);
}

int program_kinds(void) { return KINDS; }

void program_print_drawn(void)
{
    print_message("models were drawn with");
    for (int k = 0; k < KINDS; ++k) print_message("%s %s: %lld", k ? "," : "", kind_names[k], (long long)ndrawn[k]);
    print_message("\n");
}
