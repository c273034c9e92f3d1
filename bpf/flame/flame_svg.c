/* SPDX-License-Identifier: MIT */
/*
 * flame_svg.c - stacks as a picture. The top row shows types of tasks, each in its own
 * hue; below are the functions that they called. Widths are numbers of samples.
 *
 * The picture is complete without its script, which fits it to the window.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "bpf/flame/flame.h"
#include "bpf/flame/flame_kernel.h"

#define WIDTH     1200.0
#define MARGIN    12.0
#define INSIDE    (WIDTH - 2 * MARGIN)
#define TOP       84u /* y of the first row */
#define ROW       19u
#define LETTER    7.25 /* width of a letter, or a little more */
#define MIN_WIDTH 0.1  /* narrower frames are left out */
#define LEGENDS   6u

struct picture {
	FILE *file;
	const struct flame_node *nodes;
	uint64_t total;
	double per_sample;
};

/* The position in the tree during a walk over all of it. */
struct place {
	uint32_t at;
	/* For each depth: where the next child begins, in samples. */
	uint64_t from[FLAME_DEPTH + 1];
	unsigned number; /* index in the first row, which selects the hue */
};

/* ---- text ------------------------------------------------------------------ */

/* Write text as XML, at most @most characters; a longer text is cut and ends in
 * dots. @text: UTF-8 that XML allows. */
static void put_text(FILE *file, const char *text, size_t most)
{
	bool cut;
	size_t length = 0;

	for (const char *c = text; *c; c++)
		length += (*c & 0xc0) != 0x80;
	cut = length > most;
	for (length = cut ? most - 2 : length; *text; text++) {
		if ((*text & 0xc0) != 0x80 && length-- == 0)
			break;
		if (*text == '<')
			fputs("&lt;", file);
		else if (*text == '>')
			fputs("&gt;", file);
		else if (*text == '&')
			fputs("&amp;", file);
		else if (*text == '"')
			fputs("&quot;", file);
		else
			putc(*text, file);
	}
	if (cut)
		fputs("..", file);
}

static size_t characters(const char *text)
{
	size_t length = 0;

	for (; *text; text++)
		length += (*text & 0xc0) != 0x80;
	return length;
}

static void put_count(FILE *file, uint64_t number)
{
	if (number >= 1000) {
		put_count(file, number / 1000);
		fprintf(file, ",%03" PRIu64, number % 1000);
	} else {
		fprintf(file, "%" PRIu64, number);
	}
}

static double percent(const struct picture *p, uint64_t samples)
{
	return p->total ? 100 * (double)samples / (double)p->total : 0;
}

/* ---- colours --------------------------------------------------------------- */

/* Neighbours differ clearly, and dark text is legible on each. */
static const unsigned hues[] = { 28, 205, 130, 335, 265, 52, 180, 5, 85, 300 };

#define HUES (sizeof(hues) / sizeof(hues[0]))

static double channel(double hue, double saturation, double light, double shift)
{
	double k = shift + hue / 30, from_edge;
	double range = saturation * (light < 0.5 ? light : 1 - light);

	while (k >= 12)
		k -= 12;
	from_edge = k - 3 < 9 - k ? k - 3 : 9 - k;
	from_edge = from_edge > 1 ? 1 : from_edge < -1 ? -1 : from_edge;
	return light - range * from_edge;
}

/* Also recognizes the kernel's functions in stacks from other tools. */
static bool is_of_kernel(const struct flame_node *node)
{
	size_t length = strlen(node->name);

	return strcmp(node->name, "[kernel]") == 0 ||
	       (length > strlen(FLAME_OF_KERNEL) &&
		strcmp(node->name + length - strlen(FLAME_OF_KERNEL),
		       FLAME_OF_KERNEL) == 0);
}

/* Workers without a task, and other threads, are grey; the kernel is dark. The
 * name of a function selects the shade. */
static void put_colour(const struct picture *p, const struct place *place)
{
	const struct flame_node *node = &p->nodes[place->at], *type = node;
	unsigned hue = hues[place->number % HUES], shade = 0;
	double saturation, light;

	while (type->depth > 1)
		type = &p->nodes[type->parent];
	for (const char *c = node->name; *c; c++)
		shade = shade * 31 + (unsigned char)*c;
	saturation = type->name[0] == '(' ? 0.06 : 0.66;
	light = node->depth == 1 ? 0.63 : 0.73 + 0.035 * (shade % 5);
	if (is_of_kernel(node)) {
		hue = 215;
		saturation = 0.16;
		light = 0.32 + 0.02 * (shade % 5);
	}
	fprintf(p->file, "#%02x%02x%02x",
		(unsigned)(255 * channel(hue, saturation, light, 0)),
		(unsigned)(255 * channel(hue, saturation, light, 8)),
		(unsigned)(255 * channel(hue, saturation, light, 4)));
}

/* ---- frames ---------------------------------------------------------------- */

static double width_of(const struct picture *p, const struct flame_node *node)
{
	return (double)node->total * p->per_sample;
}

static void put_frame(const struct picture *p, const struct place *place,
		      uint64_t from)
{
	const struct flame_node *node = &p->nodes[place->at];
	double x = MARGIN + (double)from * p->per_sample;
	double width = width_of(p, node);
	unsigned y = TOP + (node->depth - 1) * ROW;

	fprintf(p->file,
		"<g class=\"f%s\" data-x=\"%" PRIu64 "\" data-n=\"%" PRIu64
		"\"><title>",
		is_of_kernel(node) ? " k"
		: node->depth == 1 ? " t"
				   : "",
		from, node->total);
	put_text(p->file, node->name, FLAME_NAME);
	fputc('\n', p->file);
	put_count(p->file, node->total);
	fprintf(p->file,
		" samples, %.2f %%</title><rect x=\"%.2f\" y=\"%u\" "
		"width=\"%.2f\" height=\"%u\" rx=\"2\" fill=\"",
		percent(p, node->total), x, y, width > 1 ? width - 0.5 : width,
		ROW - 1);
	put_colour(p, place);
	fprintf(p->file, "\"/><text x=\"%.2f\" y=\"%u\">", x + 4, y + 13);
	if (width >= 3 * LETTER + 8)
		put_text(p->file, node->name, (size_t)((width - 8) / LETTER));
	fputs("</text></g>\n", p->file);
}

/* Go to the next node: to the first child if @down is set and there is one. */
static void step(const struct picture *p, struct place *place, bool down)
{
	const struct flame_node *node = &p->nodes[place->at];

	if (down && node->child != 0) {
		place->at = node->child;
		return;
	}
	while (node->depth > 0 && node->sibling == 0) {
		place->at = node->parent;
		node = &p->nodes[place->at];
	}
	place->number += node->depth == 1;
	place->at = node->sibling;
}

static void put_frames(const struct picture *p)
{
	struct place place = { .at = p->nodes[0].child };

	while (place.at != 0) {
		const struct flame_node *node = &p->nodes[place.at];
		uint64_t from = place.from[node->depth - 1];
		bool shown = width_of(p, node) >= MIN_WIDTH;

		if (shown)
			put_frame(p, &place, from);
		place.from[node->depth] = from;
		place.from[node->depth - 1] += node->total;
		step(p, &place, shown);
	}
}

static unsigned deepest(const struct picture *p)
{
	struct place place = { .at = p->nodes[0].child };
	unsigned depth = 1;

	while (place.at != 0) {
		const struct flame_node *node = &p->nodes[place.at];
		bool shown = width_of(p, node) >= MIN_WIDTH;

		if (shown && node->depth > depth)
			depth = node->depth;
		step(p, &place, shown);
	}
	return depth;
}

/* ---- the head -------------------------------------------------------------- */

/* The types of the first row, including those whose frame is too narrow for a
 * name. */
static void put_legend(const struct picture *p)
{
	struct place place = { .at = p->nodes[0].child };
	double x = MARGIN;

	while (place.at != 0 && place.number < LEGENDS) {
		const struct flame_node *node = &p->nodes[place.at];
		double width = LETTER * ((double)characters(node->name) + 9);

		if (x + width > WIDTH - MARGIN)
			break;
		fprintf(p->file,
			"<rect x=\"%.1f\" y=\"61\" width=\"11\" height=\"11\" "
			"rx=\"2\" fill=\"",
			x);
		put_colour(p, &place);
		fprintf(p->file, "\"/><text class=\"l\" x=\"%.1f\" y=\"71\">",
			x + 16);
		put_text(p->file, node->name, FLAME_NAME);
		fprintf(p->file, " %.1f %%</text>\n", percent(p, node->total));
		x += width + 16;
		step(p, &place, false);
	}
}

/* Write a line of text; bytes other than printable ASCII become '?'. */
static void put_line(const struct picture *p, const char *class, unsigned y,
		     const char *text)
{
	char line[FLAME_NAME];
	size_t length = 0;

	for (; *text && length + 1 < sizeof(line); text++)
		line[length++] = *text >= ' ' && *text <= '~' ? *text : '?';
	line[length] = '\0';
	fprintf(p->file, "<text class=\"%s\" x=\"%.0f\" y=\"%u\">", class,
		MARGIN, y);
	put_text(p->file, line, sizeof(line));
	fputs("</text>\n", p->file);
}

static void put_head(const struct picture *p, const char *title,
		     const char *subtitle)
{
	unsigned height = TOP + deepest(p) * ROW + (unsigned)MARGIN;

	fprintf(p->file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
		"height=\"%u\" viewBox=\"0 0 %.0f %u\" data-total=\"%" PRIu64
		"\">\n<style>\n%s</style>\n"
		"<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n",
		WIDTH, height, WIDTH, height, p->total, flame_style);
	put_line(p, "h", 29, title);
	put_line(p, "s", 49, subtitle);
	put_legend(p);
}

void flame_write_svg(const struct flame *flame, FILE *file, const char *title,
		     const char *subtitle)
{
	struct picture p = { .file = file, .nodes = flame_nodes(flame) };

	p.total = p.nodes[0].total;
	p.per_sample = p.total ? INSIDE / (double)p.total : 0;
	put_head(&p, title, subtitle);
	put_frames(&p);
	fprintf(file, "<script><![CDATA[\n%s]]></script>\n</svg>\n",
		flame_script);
}
