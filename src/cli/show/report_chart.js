'use strict';
// report_chart.js - bar charts over time that can be panned, zoomed and clicked. It contains only
// functions; report.js follows in the same script, has the data and starts the page.

const colours = {};
function coloursRead() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['page', 'card', 'ink', 'soft', 'line', 'accent', 'ok', 'cached', 'bad',
    'stopped', 'run', 'wait', 'read', 'write', 'mark']) {
    colours[name] = style.getPropertyValue('--' + name).trim();
  }
}

function stateColour(attempt) {
  if (attempt.flags & 1) return colours.cached;
  if (attempt.status === 'SUCCESS') return colours.ok;
  if (attempt.status === 'RUNNING') return colours.run;
  return attempt.status === 'FAILED' ? colours.bad : colours.stopped;
}

const legend = [['ok', 'succeeded'], ['bad', 'failed'], ['stopped', 'stopped or lost'],
  ['run', 'running'], ['cached', 'from the cache'], ['mark', 'on the critical path']];

const charts = [];
const AXIS = 24;

function stepOf(span, pixels) {
  const rough = span / Math.max(1, pixels / 110);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return [1, 2, 5, 10].map((by) => by * power).find((step) => step >= rough) || power * 10;
}

class Chart {
  constructor(canvas, bars, rows, height, colour) {
    Object.assign(this, { canvas, rows, height, colour, drawn: 0, queued: false });
    this.lines = Array.from({ length: rows }, () => []);
    for (const bar of bars) this.lines[bar.row].push(bar);
    for (const line of this.lines) line.sort((a, b) => a.attempt.began - b.attempt.began);
    this.listen();
    charts.push(this);
  }

  x(at) {
    return (at - view.from) / (view.to - view.from) * this.width;
  }

  at(x) {
    return view.from + x / this.width * (view.to - view.from);
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(200, this.canvas.parentElement.clientWidth);
    const tall = AXIS + this.rows * this.height + 4;
    this.canvas.style.width = this.width + 'px';
    this.canvas.style.height = tall + 'px';
    this.canvas.width = this.width * ratio;
    this.canvas.height = tall * ratio;
    const pen = this.canvas.getContext('2d');
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, this.width, tall);
    this.axisDraw(pen, tall);
    this.drawn = 0;
    this.lines.forEach((line, row) => this.lineDraw(pen, line, row));
  }

  axisDraw(pen, tall) {
    const step = stepOf(view.to - view.from, this.width);
    pen.font = '12px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      pen.strokeStyle = colours.line;
      pen.beginPath();
      pen.moveTo(x, AXIS - 6);
      pen.lineTo(x, tall);
      pen.stroke();
      pen.fillStyle = colours.soft;
      if (x < this.width - 40) pen.fillText(time(Math.round(at)), x + 4, AXIS / 2);
    }
  }

  // Adjacent bars of less than a pixel are merged.
  lineDraw(pen, line, row) {
    const y = AXIS + row * this.height;
    const thick = this.height > 6 ? this.height - 3 : this.height;
    let covered = -1;
    for (const bar of line) {
      const { began, length } = bar.attempt;
      if (began + length < view.from) continue;
      if (began > view.to) break;
      const left = Math.max(-2, this.x(began));
      const right = Math.min(this.width + 2, this.x(began + length));
      const plain = bar.attempt.status === 'SUCCESS' && bar.attempt.task !== view.chosen;
      if (right < covered + 0.5 && plain) continue;
      const wide = Math.max(1, right - left);
      pen.fillStyle = this.colour(bar.attempt);
      pen.fillRect(left, y, wide, thick);
      this.drawn++;
      covered = left + wide;
      if (critical.has(bar.attempt.task) && wide > 1 && this.canvas.id === 'chart') {
        pen.fillStyle = colours.mark;
        pen.fillRect(left, y + thick - 3, wide, 3);
      }
      if (bar.attempt.task === view.chosen) {
        pen.strokeStyle = colours.ink;
        pen.lineWidth = 2;
        pen.strokeRect(left + 1, y + 1, Math.max(1, wide - 2), thick - 2);
        pen.lineWidth = 1;
      }
      if (wide > 34 && thick > 11) this.nameDraw(pen, bar, left, y, wide, thick);
    }
  }

  nameDraw(pen, bar, left, y, wide, thick) {
    pen.save();
    pen.beginPath();
    pen.rect(left, y, wide - 3, thick);
    pen.clip();
    pen.fillStyle = '#fff';
    pen.fillText(short(tasks[bar.attempt.task].name, 80), Math.max(left, 0) + 5, y + thick / 2);
    pen.restore();
  }

  find(event) {
    const box = this.canvas.getBoundingClientRect();
    const line = this.lines[Math.floor((event.clientY - box.top - AXIS) / this.height)];
    if (!line) return null;
    const x = event.clientX - box.left;
    const at = this.at(x), slack = this.at(x + 2) - at;
    let low = 0, high = line.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (line[middle].attempt.began <= at + slack) low = middle + 1;
      else high = middle;
    }
    const found = line[low - 1];
    const near = found && found.attempt.began + found.attempt.length >= at - slack;
    return near ? found.attempt : null;
  }

  listen() {
    const canvas = this.canvas;
    let held = null;
    canvas.addEventListener('pointerdown', (event) => {
      held = { x: event.clientX, from: view.from, to: view.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!held) return tipShow(event, this.find(event));
      const by = (held.x - event.clientX) / this.width * (held.to - held.from);
      held.moved ||= Math.abs(held.x - event.clientX) > 3;
      if (held.moved) show(held.from + by, held.to + by);
    });
    canvas.addEventListener('pointerup', (event) => {
      const found = held && !held.moved ? this.find(event) : null;
      held = null;
      if (found) choose(found.task);
    });
    canvas.addEventListener('pointerleave', () => tipShow(null, null));
    canvas.addEventListener('dblclick', (event) => {
      const found = this.find(event);
      const around = found ? found.length : 0;
      if (found) show(found.began - around, found.began + found.length + around + 1);
    });
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, this.at(event.clientX - box.left));
    }, { passive: false });
    canvas.addEventListener('keydown', (event) => {
      const by = (view.to - view.from) / 8;
      if (event.key === 'ArrowLeft') show(view.from - by, view.to - by);
      else if (event.key === 'ArrowRight') show(view.from + by, view.to + by);
      else if (event.key === '+' || event.key === '=') zoom(0.7);
      else if (event.key === '-') zoom(1.4);
      else if (event.key === '0') show(0, data.wall);
      else return;
      event.preventDefault();
    });
  }
}

let queued = false;
function drawAll() {
  queued = false;
  for (const chart of charts) chart.draw();
  document.documentElement.dataset.bars = charts.length ? charts[0].drawn : 0;
}

function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(drawAll);
}

function show(from, to) {
  const all = Math.max(1, data.wall);
  const span = Math.min(Math.max(to - from, 20), all * 1.02);
  view.from = Math.min(Math.max(from, -all * 0.01), all * 1.01 - span);
  view.to = view.from + span;
  redraw();
}

function zoom(by, around = (view.from + view.to) / 2) {
  show(around - (around - view.from) * by, around + (view.to - around) * by);
}

function tipShow(event, attempt) {
  const tip = byId('tip');
  tip.hidden = !attempt;
  if (!attempt) return;
  const task = tasks[attempt.task];
  tip.textContent = `${short(task.name, 120)}\n${attempt.end}, ${time(attempt.length)}` +
    (attempt.attempt > 1 ? `, attempt ${attempt.attempt}` : '') +
    (task.lane ? `\nlane ${short(task.lane, 60)}, ${task.access}` : '');
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + 'px';
}
