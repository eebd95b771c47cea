/* The random program's pictures: rendered by both, read at once by the twin, and at any time by the subject. */
#include "sim/program/program.h"

#include <stdlib.h>

/* ---- what has to be seen ----------------------------------------------------------------------------------------- */

void gallery_open(program *p, gallery *g, int depth, const size_t *bytes, int nitem)
{
    *g = (gallery){.depth = depth, .nitem = nitem, .newest = -1};
    for (int k = 0; k < nitem; ++k) g->at[k + 1] = g->at[k] + bytes[k];
    g->fresh = room(p, g->at[nitem]);
    for (int k = 0; k < KEPT_FRAMES; ++k) {
        g->kept[k].frame = -1;
        g->kept[k].pixels = room(p, g->at[nitem]);
    }
}

void gallery_close(gallery *g)
{
    for (int k = 0; k < KEPT_FRAMES; ++k) free(g->kept[k].pixels);
    free(g->fresh);
    *g = (gallery){.newest = -1};
}

static size_t item_bytes(const gallery *g, int item) { return g->at[item + 1] - g->at[item]; }

/* The subject says that its newest frame is `frame`, and g->fresh is what it has to show. */
void gallery_show(program *p, gallery *g, int64_t frame)
{
    if (frame == g->newest && frame >= 0) {
        g->gap = false;
        same_bytes(p, g->kept[frame % KEPT_FRAMES].pixels, g->fresh, g->at[g->nitem],
                   "a frame that stood though its pixels had moved (subject: as remembered)");
        return;
    }
    CHECK(p, frame == g->newest + 1 || (g->gap && frame == g->newest + 2), "frame %lld follows frame %lld",
          (long long)frame, (long long)g->newest);
    for (int64_t f = g->newest + 1; f <= frame; ++f) { /* one that was made by a render that failed is the same */
        memcpy(g->kept[f % KEPT_FRAMES].pixels, g->fresh, g->at[g->nitem]);
        g->kept[f % KEPT_FRAMES].frame = f;
    }
    g->newest = frame;
    g->gap = false;
}

static const uint8_t *shown(const gallery *g, int64_t frame, int item)
{
    return g->kept[frame % KEPT_FRAMES].pixels + g->at[item];
}

/* ---- the sims' frames -------------------------------------------------------------------------------------------- */

static void item_of(const program *p, int item, int *camera, stet_output *output)
{
    const stet_sim *sim = p->sim[SUBJECT];
    *camera = item / sim->noutput;
    int k = item % sim->noutput, o = 0;
    for (; !(sim->outputs >> o & 1u) || k-- > 0;) o++;
    *output = (stet_output)o;
}

static void read_item(program *p, int who, int64_t frame, int item, void *out)
{
    int camera;
    stet_output output;
    item_of(p, item, &camera, &output);
    must(p, who, stet_sim_read(p->sim[who], frame, camera, output, out, item_bytes(&p->shown, item)), "stet_sim_read");
}

/* The twin's latest frame as it is, and what number it is the pixels of. */
void show_sim(program *p)
{
    gallery *g = &p->shown;
    int64_t frame = p->sim[TWIN]->newest;
    for (int k = 0; k < g->nitem; ++k) read_item(p, TWIN, frame, k, g->fresh + g->at[k]);
    gallery_show(p, g, p->sim[SUBJECT]->newest);
}

void op_render(program *p)
{
    int64_t frame[2];
    say(p, "render");
    BOTH(p, stet_sim_render(p->sim[i], &frame[i]));
    CHECK(p, frame[SUBJECT] == p->sim[SUBJECT]->newest, "render gave another number than the newest");
    say(p, ": frame %lld", (long long)frame[SUBJECT]);
    show_sim(p);
}

/*
 * Nothing moved since: the number stays, unless `frame` is switched off, or somebody may write without a word. Pictures
 * of motion are 0 only in the frame after one in which nothing moved.
 */
void op_render_again(program *p)
{
    int64_t frame;
    op_render(p);
    if (p->sim[SUBJECT]->outputs >> STET_OUTPUT_MOTION & 1u) op_render(p);
    say(p, ", again");
    must(p, SUBJECT, stet_sim_render(p->sim[SUBJECT], &frame), "stet_sim_render");
    bool on = sti_enabled(&device_of(p, SUBJECT)->mechanisms, STET_MECHANISM_FRAME);
    CHECK(p, frame == p->shown.newest + !on || exported_silently(p), "nothing moved, and frame %lld followed %lld",
          (long long)frame, (long long)p->shown.newest);
    show_sim(p);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void compare_item(program *p, int64_t frame, int item, const void *pixels)
{
    char what[LINE];
    int camera;
    stet_output output;
    item_of(p, item, &camera, &output);
    (void)snprintf(what, sizeof what, "frame %lld, camera %d, %s", (long long)frame, camera, stet_output_name(output));
    same_bytes(p, pixels, shown(&p->shown, frame, item), item_bytes(&p->shown, item), what);
}

static int other_item(program *p, int item)
{
    return p->shown.nitem == 1 ? 0 : (item + 1 + roll(p, p->shown.nitem - 1)) % p->shown.nitem;
}

/* Worlds that moved are rendered first, so that the latest frame has a new number. */
void op_read_latest(program *p)
{
    int item = roll(p, p->shown.nitem);
    say(p, "read the latest frame, item %d", item);
    if (p->shown.newest < 0) {
        stet_array *none;
        for (int i = 0; i < 2; ++i)
            CHECK(p,
                  stet_sim_get_array(p->sim[i], STET_FRAME_DRAWN, 0, (stet_output)__builtin_ctz(p->sim[i]->outputs),
                                     &none) == STET_ERROR_NOT_FOUND,
                  "a frame was found before the first");
    }
    uint8_t *pixels = room(p, item_bytes(&p->shown, item));
    for (int i = 0; i < 2; ++i) {
        read_item(p, i, STET_FRAME_LATEST, item, i == TWIN ? p->shown.fresh : pixels);
    }
    show_sim(p);
    compare_item(p, p->shown.newest, item, pixels);
    free(pixels);
}

/* A frame that may be an older one. */
void op_read_frame(program *p)
{
    gallery *g = &p->shown;
    int item = roll(p, g->nitem), camera;
    stet_output output;
    stet_array *tensor = NULL;
    int64_t frame = g->newest - roll(p, g->depth + 2);
    if (g->newest < 0 || frame < 0) {
        op_read_latest(p);
        return;
    }
    say(p, "read frame %lld of %lld, item %d", (long long)frame, (long long)g->newest, item);
    item_of(p, item, &camera, &output);
    if (frame < g->newest - g->depth) {
        stet_result result = stet_sim_get_array(p->sim[SUBJECT], frame, camera, output, &tensor);
        CHECK(p, result == STET_ERROR_NOT_FOUND, "frame %lld of %lld is still kept", (long long)frame,
              (long long)g->newest);
        return;
    }
    uint8_t *pixels = room(p, item_bytes(g, item));
    stet_result result = stet_sim_get_array(p->sim[SUBJECT], frame, camera, output, &tensor);
    /* One frame more than promised may be there. */
    if (frame > g->newest - g->depth || result != STET_ERROR_NOT_FOUND) {
        must(p, SUBJECT, result, "stet_sim_get_array");
        fetch(p, SUBJECT, tensor, once_in(p, 2), pixels);
        compare_item(p, frame, item, pixels);
    }
    free(pixels);
}

void op_frame_hash(program *p)
{
    uint64_t hash[2];
    if (p->shown.newest < 0) return;
    say(p, "hash of the latest frame");
    BOTH(p, stet_sim_hash_frame(p->sim[i], STET_FRAME_LATEST, &hash[i]));
    CHECK(p, hash[SUBJECT] == hash[TWIN], "hashes of the latest frames differ");
    show_sim(p);
}

/* Looks at the tensors that were taken (borrowed until K further frames were started), and takes one more. */
void op_hold(program *p)
{
    gallery *g = &p->shown;
    if (g->newest < 0) return;
    say(p, "look at %d tensors that are held", p->nheld);
    for (int k = 0; k < p->nheld; ++k) {
        const held_tensor *h = &p->held[k];
        if (g->newest >= h->frame + g->depth) continue;
        uint8_t *pixels = room(p, item_bytes(g, h->item));
        fetch(p, SUBJECT, h->array, once_in(p, 2), pixels);
        compare_item(p, h->frame, h->item, pixels);
        free(pixels);
    }
    held_tensor h = {.frame = g->newest, .item = other_item(p, 0)};
    int camera;
    stet_output output;
    item_of(p, h.item, &camera, &output);
    must(p, SUBJECT, stet_sim_get_array(p->sim[SUBJECT], h.frame, camera, output, &h.array), "stet_sim_get_array");
    p->held[p->nheld < MOST_HELD ? p->nheld++ : roll(p, MOST_HELD)] = h;
}

/* ---- staleness --------------------------------------------------------------------------------------------------- */

/* In doubt a world has moved, and one of the two may doubt alone: asking changes nothing for either. */
void op_stale(program *p)
{
    say(p, "stale worlds");
    for (int64_t w = 0; w < p->nworld; ++w)
        for (int i = 0; i < 2; ++i) (void)stet_tiles_is_stale(p->sim[i]->tiles, w);
}
