/* SPDX-License-Identifier: MIT */
/* study_draw.c - draw a study as SVG: two rows of bars */
#include <math.h>

#include "bench/simulator/study.h"

enum {
	LEFT = 60,
	BAR = 20,
	GAP = 24, /* between loads */
	HEIGHT = 200,
	TOP = 70,
	LOAD_WIDTH = STUDY_POLICIES * BAR + GAP,
	ROW = HEIGHT + 90
};

/* Colours that people with colour blindness can tell apart. */
static const char *const colours[STUDY_POLICIES] = { "#0072b2", "#d55e00",
						     "#e69f00", "#999999",
						     "#cc79a7", "#009e73" };

/* A row of bars. @height maps a value to the height of its bar, 0 to 1;
 * @format and @ticks are for the axis. */
struct row {
	const char *title;
	unsigned loads;
	const struct figure *(*figure)(const struct sim_case *c);
	double (*height)(double value);
	const char *format;
	double ticks[4];
};

static const struct figure *latency(const struct sim_case *c)
{
	return &c->p99_us;
}

static const struct figure *away(const struct sim_case *c)
{
	return &c->away;
}

/* Height on a logarithmic scale from 10 to 1000. */
static double log_height(double value)
{
	double height = log10(value / 10) / 2;

	return height < 0 ? 0 : height > 1 ? 1 : height;
}

static double share_height(double value)
{
	return value;
}

static const struct row rows[] = {
	{ .title = "p99 latency, us",
	  .loads = STUDY_LOADS - 1, /* a tree has no latencies */
	  .figure = latency,
	  .height = log_height,
	  .format = "%.0f",
	  .ticks = { 10, 30, 100, 1000 } },
	{ .title = "share of tasks that ran off their node",
	  .loads = STUDY_LOADS,
	  .figure = away,
	  .height = share_height,
	  .format = "%.2f",
	  .ticks = { 0, 0.25, 0.5, 1 } },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static double y_of(unsigned r, double height)
{
	return TOP + (double)r * ROW + HEIGHT * (1 - height);
}

static void draw_axis(FILE *file, unsigned r, unsigned width)
{
	const struct row *row = &rows[r];

	fprintf(file,
		"<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n",
		LEFT, y_of(r, 1) - 12, row->title);
	for (unsigned i = 0; i < 4; i++) {
		double y = y_of(r, row->height(row->ticks[i]));

		fprintf(file,
			"<path d=\"M%d %.1fH%u\" stroke=\"#ccc\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT, y, width, LEFT - 6, y + 4);
		fprintf(file, row->format, row->ticks[i]);
		fputs("</text>\n", file);
	}
}

/* Draw a bar for the median, a line from the least to the greatest value,
 * and the median as a number on top. */
static void draw_bar(FILE *file, unsigned r, double x, const struct figure *f,
		     const char *colour)
{
	const struct row *row = &rows[r];
	double top = y_of(r, row->height(f->median)), middle = x + BAR / 2.0;

	fprintf(file,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
		"fill=\"%s\"/>"
		"<path d=\"M%.1f %.1fV%.1f\" stroke=\"#000\"/>"
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
		"font-size=\"8\">",
		x, top, BAR - 2, y_of(r, 0) - top, colour, middle,
		y_of(r, row->height(f->min)), y_of(r, row->height(f->max)),
		middle, y_of(r, row->height(f->max)) - 3);
	fprintf(file, row->format, f->median);
	fputs("</text>\n", file);
}

static void draw_row(FILE *file, const struct study *study, unsigned r)
{
	const struct row *row = &rows[r];

	for (unsigned load = 0; load < row->loads; load++) {
		double x = LEFT + GAP / 2.0 + load * (double)LOAD_WIDTH;

		for (unsigned p = 0; p < STUDY_POLICIES; p++)
			draw_bar(file, r, x + p * (double)BAR,
				 row->figure(
					 &study->cases[load * STUDY_POLICIES +
						       p]),
				 colours[p]);
		fprintf(file,
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s"
			"</text>\n",
			x + STUDY_POLICIES * BAR / 2.0, y_of(r, 0) + 18,
			study_load_name(load));
	}
}

static void draw_legend(FILE *file)
{
	for (unsigned p = 0; p < STUDY_POLICIES; p++)
		fprintf(file,
			"<rect x=\"%u\" y=\"14\" width=\"12\" height=\"12\" "
			"fill=\"%s\"/><text x=\"%u\" y=\"24\">%s</text>\n",
			LEFT + p * 90, colours[p], LEFT + p * 90 + 16,
			policies[p]->name);
}

void study_draw(FILE *file, const struct study *study)
{
	unsigned width = LEFT + STUDY_LOADS * LOAD_WIDTH;

	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
		"height=\"%u\" font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		width + 10, TOP + ROWS * ROW);
	draw_legend(file);
	for (unsigned r = 0; r < ROWS; r++) {
		draw_axis(file, r, width);
		draw_row(file, study, r);
	}
	fputs("</svg>\n", file);
}
