/* See summary.h. */
#include "cli/run/summary.h"

#include "base/plural.h"
#include "cli/files/json_file.h"
#include "cli/pictures/not_drawn.h"
#include "cli/report_error.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static int64_t steps(const summary *s) { return s->options->worlds * s->done * s->substeps; }

static int64_t pictures(const summary *s)
{
    return s->options->outputs ? s->options->worlds * s->done * stet_sim_get_ncamera(s->sim) : 0;
}

static double per_second(int64_t n, double seconds) { return seconds > 0 ? (double)n / seconds : 0; }

void summary_count_faults(summary *s)
{
    const uint32_t *faults = stet_worlds_get_faults(stet_sim_get_worlds(s->sim));
    memset(s->faults, 0, sizeof s->faults);
    for (int64_t w = 0; faults && w < stet_worlds_get_nworld(stet_sim_get_worlds(s->sim)); ++w)
        for (int k = 0; k < STET_FAULT_COUNT; ++k) s->faults[k] += faults[w] >> k & 1;
}

/* Time by phase. The last row is the part of `seconds` that no other row has. */
typedef struct phase {
    const char *name;
    double seconds;
} phase;
enum { PHASES = 10 };

static void list_phases(const summary *s, phase out[PHASES])
{
    const stet_sim_timing *t = &s->timing;
    const phase rows[PHASES] = {
        {"control", t->control}, {"step", t->step},
        {"pose", t->pose},       {"hierarchy", t->hierarchy},
        {"render", t->render},   {"extract", t->extract},
        {"read", t->read},       {"record", s->record},
        {"round", t->round},     {"other", 0},
    };
    memcpy(out, rows, sizeof rows);
    double left = s->seconds;
    for (int i = 0; i < PHASES - 1; ++i) left -= out[i].seconds;
    out[PHASES - 1].seconds = left > 0 ? left : 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *hex(uint64_t hash)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    return json_string(text);
}

static json_t *reasons_json(const summary *s, stet_mechanism mechanism)
{
    json_t *o = json_object();
    for (int r = 0; r < STET_REASON_COUNT; ++r)
        if (stet_reason_mechanism((stet_reason)r) == mechanism && s->counters.reason[r] > 0)
            json_object_set_new(o, stet_reason_name((stet_reason)r), json_integer(s->counters.reason[r]));
    return o;
}

static json_t *mechanisms_json(const summary *s)
{
    json_t *o = json_object();
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) {
        const stet_counter *c = &s->counters.mechanism[k];
        json_t *m = json_object();
        json_object_set_new(m, "hits", json_integer(c->hits));
        json_object_set_new(m, "misses", json_integer(c->misses));
        json_object_set_new(m, "fallbacks", json_integer(c->fallbacks));
        json_object_set_new(m, "reasons", reasons_json(s, (stet_mechanism)k));
        json_object_set_new(m, "done_launches", json_integer(c->done_launches));
        json_object_set_new(m, "done_bytes", json_integer(c->done_bytes));
        json_object_set_new(m, "saved_launches", json_integer(c->saved_launches));
        json_object_set_new(m, "saved_bytes", json_integer(c->saved_bytes));
        json_object_set_new(o, stet_mechanism_name((stet_mechanism)k), m);
    }
    return o;
}

static json_t *phases_json(const summary *s)
{
    phase rows[PHASES];
    json_t *o = json_object();
    list_phases(s, rows);
    for (int i = 0; i < PHASES; ++i) json_object_set_new(o, rows[i].name, json_real(rows[i].seconds));
    return o;
}

static json_t *faults_json(const summary *s)
{
    json_t *o = json_object();
    for (int k = 0; k < STET_FAULT_COUNT; ++k)
        json_object_set_new(o, stet_fault_name((stet_fault)k), json_integer(s->faults[k]));
    return o;
}

/* [width, height] of all cameras, or a list of these. */
static json_t *size_json(const stet_sim *sim, const run_options *o)
{
    if (o->nsize == 1) return json_pack("[ii]", o->size[0][0], o->size[0][1]);
    json_t *sizes = json_array();
    for (int c = 0; c < stet_sim_get_ncamera(sim); ++c)
        json_array_append_new(sizes, json_pack("[ii]", o->size[c][0], o->size[c][1]));
    return sizes;
}

static void add_view(const summary *s, json_t *o)
{
    json_t *cameras = json_array(), *outputs = json_array();
    for (int c = 0; s->options->outputs && c < stet_sim_get_ncamera(s->sim); ++c)
        json_array_append_new(cameras, json_string(stet_sim_get_camera(s->sim, c)->name));
    for (int k = 0; k < STET_OUTPUT_COUNT; ++k)
        if (s->options->outputs & 1u << k)
            json_array_append_new(outputs, json_string(stet_output_name((stet_output)k)));
    json_object_set_new(o, "cameras", cameras);
    json_object_set_new(o, "outputs", outputs);
    json_object_set_new(o, "size", size_json(s->sim, s->options));
    json_object_set_new(o, "not_drawn",
                        not_drawn_json(stet_sim_get_model(s->sim), s->options->mode, s->options->decorations));
}

static void add_lists(const summary *s, json_t *o)
{
    json_t *files = json_array(), *warnings = json_array();
    for (int i = 0; i < s->files.count; ++i) json_array_append_new(files, json_string(s->files.path[i]));
    for (int i = 0; report_warning(i); ++i) json_array_append_new(warnings, json_string(report_warning(i)));
    json_object_set_new(o, "warnings", warnings);
    json_object_set_new(o, "files", files);
}

/* Of each thing that rounds reuse: true, or what the device does instead. */
static json_t *reuse_json(const stet_device *device)
{
    json_t *o = json_object();
    for (int k = 0; k < STET_REUSE_COUNT; ++k) {
        const char *instead = stet_device_get_instead(device, (stet_reuse)k);
        json_object_set_new(o, stet_reuse_name((stet_reuse)k), instead ? json_string(instead) : json_true());
    }
    return o;
}

static json_t *rounds_json(const summary *s)
{
    json_t *o = json_object(), *states = json_array(), *shots = json_array(), *faulty = json_array();
    rounds_figures f = rounds_look(s->rounds);
    int64_t staged = 0;
    for (int64_t k = 0; k < s->rounds->done; ++k) {
        staged += s->rounds->row[k].staged;
        json_array_append_new(states, hex(s->rounds->row[k].state));
        if (s->options->outputs) json_array_append_new(shots, hex(s->rounds->row[k].frame));
        json_array_append_new(faulty, json_integer(s->rounds->row[k].faulty));
    }
    json_object_set_new(o, "count", json_integer(s->rounds->done));
    json_object_set_new(o, "staged_inputs", json_integer(staged));
    json_object_set_new(o, "reuse", reuse_json(stet_sim_get_device(s->sim)));
    json_object_set_new(o, "first_setup_seconds", json_real(f.first_setup));
    json_object_set_new(o, "later_setup_seconds", json_real(f.later_setup));
    json_object_set_new(o, "first_seconds", json_real(f.first_seconds));
    json_object_set_new(o, "later_seconds", json_real(f.later_seconds));
    json_object_set_new(o, "state_hash", states);
    json_object_set_new(o, "frame_hash", shots);
    json_object_set_new(o, "faulty", faulty);
    return o;
}

static json_t *trace_json(const summary *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "file", json_string(s->options->trace));
    json_object_set_new(o, "events", json_integer(s->traced.events));
    json_object_set_new(o, "dropped", json_integer(s->traced.dropped));
    return o;
}

/* Who had which worlds, and worked how long. */
static json_t *ranks_json(const ranks *r)
{
    json_t *list = json_array();
    for (int k = 0; k < stet_group_get_nrank(r->group); ++k) {
        const rank_row *row = &r->row[k];
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:s, s:i, s:I, s:I, s:f}", "rank", k, "host", row->host, "device",
                                        row->device, "threads", row->threads, "first_world", (json_int_t)row->first,
                                        "worlds", (json_int_t)row->nworld, "busy_seconds", row->busy));
    }
    return list;
}

static json_t *to_json(const summary *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "scene", json_string(s->options->scene));
    json_object_set_new(o, "worlds", json_integer(s->options->worlds));
    json_object_set_new(o, "frames", json_integer(s->options->frames));
    json_object_set_new(o, "frames_before", json_integer(s->since));
    json_object_set_new(o, "frames_done", json_integer(s->done));
    json_object_set_new(o, "interrupted", json_boolean(s->interrupted));
    json_object_set_new(o, "tensors_every", json_integer(s->options->tensors_every));
    json_object_set_new(o, "substeps", json_integer(s->substeps));
    json_object_set_new(o, "device", json_string(stet_device_get_name(stet_sim_get_device(s->sim))));
    json_object_set_new(o, "physics", json_string(stet_physics_name(stet_sim_get_physics(s->sim))));
    json_object_set_new(o, "physics_reason", json_string(stet_sim_get_physics_reason(s->sim)));
    json_object_set_new(o, "keyframe", json_integer(stet_sim_get_keyframe(s->sim)));
    add_view(s, o);
    json_object_set_new(o, "seconds", json_real(s->seconds));
    json_object_set_new(o, "steps_per_second", json_real(per_second(steps(s), s->seconds)));
    json_object_set_new(o, "frames_per_second", json_real(per_second(pictures(s), s->seconds)));
    json_object_set_new(o, "phases", phases_json(s));
    json_object_set_new(o, "load_seconds", json_real(s->load));
    json_object_set_new(o, "write_seconds", json_real(s->write));
    json_object_set_new(o, "launches", json_integer(s->counters.launches));
    json_object_set_new(o, "bytes_copied", json_integer(s->counters.bytes_copied));
    json_object_set_new(o, "mechanisms", mechanisms_json(s));
    json_object_set_new(o, "faults", faults_json(s));
    json_object_set_new(o, "state_hash", hex(s->state_hash));
    json_object_set_new(o, "frame_hash", s->options->outputs ? hex(s->frame_hash) : json_null());
    if (s->ranks->row) {
        int slow = ranks_straggler(s->ranks);
        json_object_set_new(o, "ranks", ranks_json(s->ranks));
        json_object_set_new(o, "ranks_without_worlds",
                            json_integer(s->ranks->count - stet_group_get_nrank(s->ranks->group)));
        json_object_set_new(o, "straggler", slow < 0 ? json_null() : json_integer(slow));
        json_object_set_new(o, "pictures_by",
                            s->options->outputs ? json_string(stet_group_get_link(s->ranks->group)) : json_null());
    }
    if (s->rounds->row) json_object_set_new(o, "rounds", rounds_json(s));
    if (s->options->profile) json_object_set_new(o, "profile", profile_json(&s->profile));
    if (s->options->trace) json_object_set_new(o, "trace", trace_json(s));
    add_lists(s, o);
    return o;
}

enum { JSON_STYLE = JSON_INDENT(2) | JSON_REAL_PRECISION(9) };

const char *summary_write_json(const summary *s, const char *path)
{
    json_t *o = to_json(s);
    const char *wrong = json_file_write(o, JSON_STYLE, path);
    json_decref(o);
    return wrong;
}

void summary_print_json(const summary *s)
{
    json_t *o = to_json(s);
    json_file_print(o, JSON_STYLE);
    json_decref(o);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* An integer with commas, in one of a few static buffers. */
static const char *grouped(int64_t n)
{
    static char texts[4][32];
    static int turn;
    char digits[24], *out = texts[turn = (turn + 1) % 4];
    int count = snprintf(digits, sizeof digits, "%" PRId64, n), used = 0;
    for (int i = 0; i < count; ++i) {
        out[used++] = digits[i];
        if (digits[i] != '-' && (count - 1 - i) % 3 == 0 && i + 1 < count) out[used++] = ',';
    }
    out[used] = 0;
    return out;
}

static void print_bytes(int64_t n)
{
    if (n >= 1000000000)
        printf("%.1f GB", (double)n / 1e9);
    else if (n >= 1000000)
        printf("%.1f MB", (double)n / 1e6);
    else
        printf("%.1f kB", (double)n / 1e3);
}

static void print_keyframe(const summary *s)
{
    int keyframe = stet_sim_get_keyframe(s->sim);
    const char *name = stet_model_get_object_name(stet_sim_get_model(s->sim), STET_OBJECT_KEYFRAME, keyframe);
    if (s->options->resume)
        printf("worlds begin with the state of %s, after frame %s", s->options->resume, grouped(s->since));
    else if (keyframe < 0)
        printf("worlds begin with the model's qpos0");
    else
        printf("worlds begin with keyframe %d%s%s", keyframe, name && name[0] ? ", " : "",
               report_name(name ? name : ""));
    printf("%s\n",
           !s->options->resume && keyframe >= 0 ? " (--keyframe none: with qpos0, as MuJoCo's own data do)" : "");
}

static void print_head(const summary *s)
{
    const run_options *o = s->options;
    int ncamera = stet_sim_get_ncamera(s->sim);
    printf("%s: %s world%s, %s frame%s of %d substep%s (%.3g s of simulated time a frame)\n", o->scene,
           grouped(o->worlds), o->worlds == 1 ? "" : "s", grouped(o->frames), o->frames == 1 ? "" : "s", s->substeps,
           s->substeps == 1 ? "" : "s", s->frame_time);
    printf("on %s, physics %s (%s)\n", stet_device_get_name(stet_sim_get_device(s->sim)),
           stet_physics_name(stet_sim_get_physics(s->sim)), stet_sim_get_physics_reason(s->sim));
    print_keyframe(s);
    if (!o->outputs) return;
    printf("camera%s", ncamera == 1 ? "" : "s");
    for (int c = 0; c < ncamera; ++c) printf("%s %s", c ? "," : "", report_name(stet_sim_get_camera(s->sim, c)->name));
    for (int i = 0; i < o->nsize; ++i) printf("%s %dx%d", i ? "," : " of", o->size[i][0], o->size[i][1]);
    printf(" pixels:");
    for (int k = 0; k < STET_OUTPUT_COUNT; ++k)
        if (o->outputs & 1u << k) printf(" %s", stet_output_name((stet_output)k));
    printf("\n");
    json_t *not_drawn = not_drawn_json(stet_sim_get_model(s->sim), s->options->mode, s->options->decorations);
    not_drawn_print(not_drawn);
    json_decref(not_drawn);
}

static void print_ranks(const ranks *r)
{
    enum { MOST = 16 };
    int n = stet_group_get_nrank(r->group), slow = ranks_straggler(r);
    printf("\nworlds of %d processes\n", n);
    for (int k = 0; k < n && k < MOST; ++k) {
        const rank_row *row = &r->row[k];
        printf("  rank %-3d %9s worlds from %-9s %9.3f s of work   %s, %s, %d thread%s\n", k, grouped(row->nworld),
               grouped(row->first), row->busy, row->host, row->device, row->threads, STI_S(row->threads));
    }
    if (n > MOST) printf("  … %d more\n", n - MOST);
    const char *why = "there are fewer worlds than processes";
    if (r->count == n + 1) printf("  rank %d has none: %s\n", n, why);
    if (r->count > n + 1) printf("  ranks %d to %d have none: %s\n", n, r->count - 1, why);
    if (*stet_group_get_link(r->group)) printf("  pictures cross by %s\n", stet_group_get_link(r->group));
    if (slow >= 0)
        printf("  rank %d on %s is slow: it worked %.3f s, and the others waited for it\n", slow, r->row[slow].host,
               r->row[slow].busy);
    for (int k = 1; k < n; ++k)
        if (r->row[k].warning[0]) printf("  rank %d warns: %s\n", k, r->row[k].warning);
}

static void print_rates(const summary *s)
{
    printf("%s steps/s: %s in %.2f s", grouped((int64_t)(per_second(steps(s), s->seconds) + 0.5)), grouped(steps(s)),
           s->seconds);
    if (s->options->outputs)
        printf("; %s frames/s: %s, one a world, camera and frame",
               grouped((int64_t)(per_second(pictures(s), s->seconds) + 0.5)), grouped(pictures(s)));
    printf("\n");
}

static void print_rounds(const summary *s)
{
    rounds_figures f = rounds_look(s->rounds);
    int64_t bad = 0;
    for (int64_t k = 0; k < s->rounds->done; ++k) bad += s->rounds->row[k].faulty == s->options->worlds;
    printf("\nrounds %20s   of %s frames each\n", grouped(s->rounds->done), grouped(s->options->frames));
    printf("  the first    set up in %.3g ms, %.3g s in all\n", 1e3 * f.first_setup, f.first_seconds);
    if (s->rounds->done > 1)
        printf("  later ones   set up in %.3g ms, %.3g s in all (medians)\n", 1e3 * f.later_setup, f.later_seconds);
    for (int k = 0; k < STET_REUSE_COUNT; ++k) {
        const char *instead = stet_device_get_instead(stet_sim_get_device(s->sim), (stet_reuse)k);
        printf("  %-12s %s\n", stet_reuse_name((stet_reuse)k), instead ? instead : "reused from round to round");
    }
    if (bad > 0) printf("  in %s of them the state of all worlds became NaN or huge\n", grouped(bad));
}

static void print_phases(const summary *s)
{
    phase rows[PHASES];
    list_phases(s, rows);
    printf("time:");
    for (int i = 0; i < PHASES; ++i)
        if (rows[i].seconds >= 0.005 * s->seconds)
            printf(" %s %.3f s (%.1f %%),", rows[i].name, rows[i].seconds, 100 * rows[i].seconds / s->seconds);
    printf(" besides %.3f s to load", s->load);
    if (s->write > 0) printf(", %.3f s to write files", s->write);
    printf("\n");
}

static void print_reasons(const summary *s, stet_mechanism mechanism)
{
    for (int r = 0; r < STET_REASON_COUNT; ++r) {
        int64_t n = s->counters.reason[r];
        if (stet_reason_mechanism((stet_reason)r) != mechanism || n == 0) continue;
        printf("  %-15s %s: %s\n", "", stet_reason_sentence((stet_reason)r), n == 1 ? "once" : grouped(n));
    }
}

static void print_mechanism(const summary *s, stet_mechanism k)
{
    const stet_counter *c = &s->counters.mechanism[k];
    int64_t asked = c->hits + c->misses + c->fallbacks;
    printf("  %-15s ", stet_mechanism_name(k));
    if (asked == 0) {
        printf("nothing asked for it\n");
        return;
    }
    printf("%s of %s times nothing had to be done", grouped(c->hits), grouped(asked));
    if (c->saved_launches > 0) printf(", %s launches saved", grouped(c->saved_launches));
    if (c->saved_bytes > 0) {
        printf(", ");
        print_bytes(c->saved_bytes);
        printf(" not moved");
    }
    if (c->fallbacks > 0) printf(", %s fallbacks", grouped(c->fallbacks));
    printf("\n");
    print_reasons(s, k);
}

static void print_ledger(const summary *s)
{
    printf("what was let stand\n");
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) print_mechanism(s, (stet_mechanism)k);
}

static void print_faults(const summary *s)
{
    int64_t all = 0;
    for (int k = 0; k < STET_FAULT_COUNT; ++k) all += s->faults[k];
    printf("faults%s\n", all ? "" : ": none");
    for (int k = 0; k < STET_FAULT_COUNT; ++k)
        if (s->faults[k])
            printf("  %-15s in %s world%s\n", stet_fault_name((stet_fault)k), grouped(s->faults[k]),
                   STI_S(s->faults[k]));
    for (int i = 0; report_warning(i); ++i) printf("warning: %s\n", report_warning(i));
}

static void print_files(const summary *s)
{
    enum { MOST = 24, BESIDE = 8 };
    const char *before = s->files.count > BESIDE ? "\n  " : " ", *behind = s->files.count > BESIDE ? "" : ",";
    printf("state %016" PRIx64, s->state_hash);
    if (s->options->outputs) printf(", last frame %016" PRIx64, s->frame_hash);
    printf("\n");
    if (s->files.count == 0) printf("nothing was written; --out DIR takes pictures, tensors and a summary");
    if (s->files.count > 0) printf("written:");
    for (int i = 0; i < s->files.count; ++i)
        if (i < MOST - 1 || s->files.count <= MOST || i == s->files.count - 1)
            printf("%s%s%s", before, s->files.path[i], i < s->files.count - 1 ? behind : "");
        else if (i == MOST - 1)
            printf("\n  … %d more beside these", s->files.count - MOST);
    printf("\n");
    if (s->shown > 0 && s->shown < s->options->worlds)
        printf("  the mosaics show the first %s worlds: more do not fit into one picture\n", grouped(s->shown));
}

static void print_trace(const summary *s)
{
    printf("  the trace has %s events", grouped(s->traced.events));
    if (s->traced.dropped) printf("; %s more were dropped, for which it had no room", grouped(s->traced.dropped));
    printf("\n");
}

void summary_print(const summary *s)
{
    print_head(s);
    if (s->interrupted) printf("interrupted: the run ended after %s frames\n", grouped(s->done));
    print_rates(s);
    if (s->ranks->row) print_ranks(s->ranks);
    if (s->rounds->row) print_rounds(s);
    print_phases(s);
    if (s->options->ledger) print_ledger(s);
    if (s->options->profile) profile_print(&s->profile);
    print_faults(s);
    print_files(s);
    if (s->options->trace) print_trace(s);
}
