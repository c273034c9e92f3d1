/* SPDX-License-Identifier: MIT */
/* flame.js - zoom and search in the picture of skua flame; the build strips these comments. */
/* Frames are in the order of the tree, callers first. The picture shows a range of samples; */
/* frames that extend beyond it are the callers of the zoomed frame. */
'use strict';
(() => {
const svg = document.currentScript.ownerSVGElement;
const total = +svg.dataset.total, margin = 12, letter = 7.25;
const height = svg.viewBox.baseVal.height;
const frames = Array.from(svg.querySelectorAll('.f'), g => ({
  g, rect: g.querySelector('rect'), text: g.querySelector('text'),
  from: +g.dataset.x, count: +g.dataset.n,
  name: g.querySelector('title').textContent.split('\n')[0] }));
let from = 0, count = total, width = 0;

const fit = (name, room) => {
  const most = Math.floor((room - 8) / letter), letters = Array.from(name);
  if (most < 3) return '';
  return letters.length <= most ? name : letters.slice(0, most - 2).join('') + '..';
};

function draw() {
  const scale = (width - 2 * margin) / count;
  for (const f of frames) {
    const first = Math.max(f.from, from);
    const room = (Math.min(f.from + f.count, from + count) - first) * scale;
    f.g.style.display = room >= 0.1 ? '' : 'none';
    if (room < 0.1) continue;
    const x = margin + (first - from) * scale;
    f.g.classList.toggle('above', f.count > count);
    f.rect.setAttribute('x', x);
    f.rect.setAttribute('width', room > 1 ? room - 0.5 : room);
    f.text.setAttribute('x', x + 4);
    f.text.textContent = fit(f.name, room);
  }
}

function make(parent, space, name, attributes) {
  const element = document.createElementNS('http://www.w3.org/' + space, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  return parent.appendChild(element);
}
const box = make(svg, '2000/svg', 'foreignObject', { y: 12, width: 240, height: 30 });
const input = make(box, '1999/xhtml', 'input',
  { type: 'search', placeholder: 'Search', 'aria-label': 'Search' });
const found = make(svg, '2000/svg', 'text', { class: 's', y: 49, 'text-anchor': 'end' });
const lines = Array.from(svg.querySelectorAll(':scope > .h, :scope > .s'))
  .filter(line => line !== found).map(line => ({ line, all: line.textContent }));

// Fit title and legend beside the search box; shorten or hide what has no room.
function head() {
  const right = Math.max(box.width.baseVal.value, found.getComputedTextLength());
  const room = width - 3 * margin - right;
  for (const { line, all } of lines) {
    line.textContent = all;
    for (let n = all.length - 1; n > 0 && line.getComputedTextLength() > room; n--)
      line.textContent = all.slice(0, n).trimEnd() + '..';
  }
  for (const text of svg.querySelectorAll('.l')) {
    const end = text.getBBox().x + text.getComputedTextLength();
    const style = end > width - margin ? 'hidden' : 'visible';
    text.style.visibility = text.previousElementSibling.style.visibility = style;
  }
}

function search() {
  const wanted = input.value.toLowerCase();
  let end = 0, sum = 0;
  for (const f of frames) {
    const hit = wanted !== '' && f.name.toLowerCase().includes(wanted);
    f.g.classList.toggle('hit', hit);
    if (!hit || f.from < end) continue;
    sum += f.count;
    end = f.from + f.count;
  }
  found.textContent = wanted ? `in ${(100 * sum / (total || 1)).toFixed(1)} % of all`
    : count < total ? 'Esc shows all' : 'click a frame to zoom in';
  head();
}

function show(first, samples) {
  from = first;
  count = samples;
  draw();
  search();
}

function resize() {
  const parent = svg.parentElement;
  const now = Math.max(480, parent ? parent.clientWidth : innerWidth);
  if (now === width) return;
  width = now;
  svg.setAttribute('width', width);
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const room = Math.min(240, Math.floor(width / 3));
  box.setAttribute('width', room);
  box.setAttribute('x', width - margin - room);
  found.setAttribute('x', width - margin);
  draw();
  head();
}

for (const f of frames)
  f.g.addEventListener('click', () => show(f.from, f.count));
input.addEventListener('input', search);
addEventListener('keydown', event => {
  if (event.key !== 'Escape') return;
  input.value = '';
  show(0, total);
});
addEventListener('resize', resize);
resize();
search();
})();
