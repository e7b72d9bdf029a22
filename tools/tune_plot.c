#include "tune_plot.h"

#include "file.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 720, HEIGHT = 440, LEFT = 78, RIGHT = 130, TOP = 76, BOTTOM = 62, COLUMN_LIMIT = 32, LINE_LIMIT = 8 };

/* Told apart with any colour vision (Okabe and Ito). */
static const char *const colours[LINE_LIMIT] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000", "#999999"};

/* Columns of the x axis and lines of the legend, each ascending. */
struct axes {
    uint32_t workers[COLUMN_LIMIT], prefetch[LINE_LIMIT];
    unsigned worker_count, prefetch_count;
    double top, step; /* of the y axis */
};

static unsigned add_sorted(uint32_t *list, unsigned count, unsigned limit, uint32_t value) {
    unsigned at = 0;
    while (at < count && list[at] < value)
        at++;
    if (count == limit || (at < count && list[at] == value))
        return count;
    for (unsigned i = count; i > at; i--)
        list[i] = list[i - 1];
    list[at] = value;
    return count + 1;
}

static unsigned find(const uint32_t *list, unsigned count, uint32_t value) {
    unsigned at = 0;
    while (at + 1 < count && list[at] != value)
        at++;
    return at;
}

/* 1, 2 or 5 times a power of ten, so that there are four to ten steps. */
static double nice_step(double top) {
    double power = pow(10, floor(log10(top > 0 ? top : 1)));
    double share = top / power;
    return share < 2 ? power / 5 : share < 5 ? power / 2 : power;
}

/* A need that is far out of reach would flatten the lines. */
static bool is_shown(double wanted_rate, double best_rate) {
    return wanted_rate > 0 && wanted_rate < 1.5 * best_rate;
}

static void axes_init(struct axes *a, const struct tune_plot *plot) {
    double top = 0;
    *a = (struct axes){0};
    for (uint32_t i = 0; i < plot->point_count; i++) {
        const struct tune_point *p = &plot->points[i];
        a->worker_count = add_sorted(a->workers, a->worker_count, COLUMN_LIMIT, p->workers);
        a->prefetch_count = add_sorted(a->prefetch, a->prefetch_count, LINE_LIMIT, p->prefetch);
        top = p->rate > top ? p->rate : top;
    }
    if (is_shown(plot->wanted_rate, top) && plot->wanted_rate > top)
        top = plot->wanted_rate;
    a->step = nice_step(top);
    a->top = ceil(top * 1.02 / a->step) * a->step;
}

static double x_of(const struct axes *a, uint32_t workers) {
    double column = (WIDTH - LEFT - RIGHT) / (double)a->worker_count;
    return LEFT + column * (0.5 + find(a->workers, a->worker_count, workers));
}

static double y_of(const struct axes *a, double rate) {
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * rate / a->top;
}

static void put_escaped(FILE *f, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else
            fputc(*text, f);
    }
}

static void put_text(FILE *f, double x, double y, int size, const char *anchor, const char *more, const char *text) {
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" %s>", x, y, size, anchor, more);
    put_escaped(f, text);
    fputs("</text>\n", f);
}

static void put_axes(FILE *f, const struct axes *a, const struct tune_plot *plot) {
    char text[64];
    double middle = (TOP + HEIGHT - BOTTOM) / 2.0;
    for (int i = 0; i <= (int)lround(a->top / a->step); i++) {
        double rate = i * a->step;
        fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", LEFT, WIDTH - RIGHT,
                y_of(a, rate), y_of(a, rate), rate > 0 ? "#e4e4e4" : "#333");
        snprintf(text, sizeof text, "%g", rate);
        put_text(f, LEFT - 8, y_of(a, rate) + 4, 12, "end", "fill=\"#333\"", text);
    }
    for (unsigned i = 0; i < a->worker_count; i++) {
        snprintf(text, sizeof text, "%u", a->workers[i]);
        put_text(f, x_of(a, a->workers[i]), HEIGHT - BOTTOM + 20, 12, "middle", "fill=\"#333\"", text);
    }
    put_text(f, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, 13, "middle", "fill=\"#333\"", "workers (threads)");
    snprintf(text, sizeof text, "transform=\"rotate(-90 22 %.1f)\" fill=\"#333\"", middle);
    char label[64];
    snprintf(label, sizeof label, "rate (%s/s)", plot->noun);
    put_text(f, 22, middle, 13, "middle", text, label);
}

static void put_wanted(FILE *f, const struct axes *a, const struct tune_plot *plot) {
    if (plot->wanted_rate <= 0 || plot->wanted_rate > a->top)
        return;
    double y = y_of(a, plot->wanted_rate);
    fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#555\" stroke-dasharray=\"5 4\"/>\n", LEFT,
            WIDTH - RIGHT, y, y);
    put_text(f, WIDTH - RIGHT + 8, y + 4, 12, "start", "fill=\"#555\"", "the step's need");
}

static void put_line(FILE *f, const struct axes *a, const struct tune_plot *plot, unsigned line) {
    char text[64], more[64];
    const char *colour = colours[line];
    fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (unsigned c = 0; c < a->worker_count; c++)
        for (uint32_t i = 0; i < plot->point_count; i++)
            if (plot->points[i].prefetch == a->prefetch[line] && plot->points[i].workers == a->workers[c])
                fprintf(f, "%.1f,%.1f ", x_of(a, a->workers[c]), y_of(a, plot->points[i].rate));
    fputs("\"/>\n", f);
    for (uint32_t i = 0; i < plot->point_count; i++)
        if (plot->points[i].prefetch == a->prefetch[line])
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x_of(a, plot->points[i].workers),
                    y_of(a, plot->points[i].rate), colour);
    double y = HEIGHT - BOTTOM - 18.0 * (a->prefetch_count - line);
    fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\"/>\n",
            WIDTH - RIGHT + 12, WIDTH - RIGHT + 32, y, y, colour);
    snprintf(text, sizeof text, "prefetch %u", a->prefetch[line]);
    snprintf(more, sizeof more, "fill=\"%s\"", colour);
    put_text(f, WIDTH - RIGHT + 38, y + 4, 12, "start", more, text);
}

static void put_plot(FILE *f, const struct tune_plot *plot) {
    const struct tune_point *best = &plot->points[plot->recommended];
    struct axes a;
    axes_init(&a, plot);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_text(f, 22, 30, 17, "start", "font-weight=\"bold\" fill=\"#111\"", plot->title);
    put_text(f, 22, 50, 12, "start", "fill=\"#555\"", plot->subtitle);
    put_axes(f, &a, plot);
    put_wanted(f, &a, plot);
    for (unsigned line = 0; line < a.prefetch_count; line++)
        put_line(f, &a, plot, line);
    fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"9\" fill=\"none\" stroke=\"#111\" stroke-width=\"2\"/>\n",
            x_of(&a, best->workers), y_of(&a, best->rate));
    fputs("</svg>\n", f);
}

int tune_plot_write(const char *path, const struct tune_plot *plot, struct error *error) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return error_set(error, ERR_MEMORY, "%s: out of memory", path);
    put_plot(f, plot);
    int rc = fclose(f) == 0 ? file_write_output(path, text, size, error)
                            : error_set(error, ERR_MEMORY, "%s: out of memory", path);
    free(text);
    return rc;
}
