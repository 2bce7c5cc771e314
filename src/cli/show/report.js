// report.js - draws the page of `rota report` from its embedded JSON, with the charts of
// report_chart.js, which precedes it. Texts of the user become text nodes only.
const data = JSON.parse(document.getElementById('data').textContent);
const tasks = data.tasks;
const attempts = data.attempts.map(([task, attempt, status, began, length, slot, end, flags]) =>
  ({ task, attempt, status, began, length, slot, end, flags }));
const critical = new Set(data.critical);
// The time range that all charts show, and the selected task.
const view = { from: 0, to: Math.max(1, data.wall), chosen: -1 };
const byId = (id) => document.getElementById(id);

function make(parent, tag, text, style) {
  const element = parent.appendChild(document.createElement(tag));
  if (text !== undefined) element.textContent = text;
  if (style) element.className = style;
  return element;
}

// ---- Formatting -------------------------------------------------------------------------------

function time(us) {
  if (!us) return '0';
  if (us < 1e3) return `${us} µs`;
  if (us < 1e6) return `${(us / 1e3).toFixed(us < 1e4 ? 1 : 0)} ms`;
  if (us < 6e7) return `${(us / 1e6).toFixed(2)} s`;
  const seconds = Math.round(us / 1e6);
  const two = (number) => String(number).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} m`;
}

function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  for (; count >= 1024 && at < 4; at++) count /= 1024;
  return `${at ? count.toFixed(1) : count} ${units[at]}`;
}

const short = (text, most) => (text.length > most ? text.slice(0, most) + '…' : text);

// ---- Summary ----------------------------------------------------------------------------------

function count(...status) {
  return tasks.filter((task) => !task.isBundle && status.includes(task.status)).length;
}

function tile(number, word, style) {
  const box = make(byId('tiles'), 'div', undefined, 'tile' + (style ? ' ' + style : ''));
  make(box, 'b', number);
  make(box, 'span', word);
}

function summary() {
  const all = tasks.filter((task) => !task.isBundle).length;
  const failed = count('FAILED', 'ABORTED');
  const busy = attempts.reduce((sum, attempt) => sum + attempt.length, 0);
  const cached = attempts.filter((attempt) => attempt.flags & 1).length;
  const name = data.path.split('/').pop() || `job ${data.job}`;
  byId('title').textContent = name;
  document.title = `${name} - rota report`;
  const when = new Date((data.began || data.made) / 1000).toLocaleString();
  byId('subtitle').textContent = `job ${data.job}, ${when}, ` +
    (data.atWork ? 'running' : failed ? 'finished with failures' : 'finished');
  tile(all, 'tasks');
  tile(count('SUCCESS'), 'succeeded');
  if (failed) tile(failed, 'failed or stopped', 'bad');
  const left = all - count('SUCCESS', 'FAILED', 'ABORTED');
  if (left) tile(left, 'not run or running');
  if (cached) tile(cached, 'from the cache');
  tile(time(data.wall), 'duration');
  tile(time(data.criticalTime), 'critical path');
  tile(data.wall ? (busy / data.wall).toFixed(2) : '-', 'tasks in parallel, on average');
  tile(time(tasks.reduce((sum, task) => sum + task.cpu, 0)), 'processor time');
  const retried = tasks.filter((task) => task.attempt > 1).length;
  if (retried) tile(retried, 'retried');
}

// ---- One task ---------------------------------------------------------------------------------

function choose(at) {
  const task = tasks[at], box = byId('detail');
  view.chosen = at;
  box.hidden = false;
  box.replaceChildren();
  make(box, 'h3', `${task.name} (${task.id})`);
  const list = make(box, 'dl');
  const row = (word, text, tag) => {
    if (!text) return;
    make(list, 'dt', word);
    const value = make(list, 'dd');
    if (tag) make(value, tag, text);
    else value.textContent = text;
  };
  const names = (places) => short(places.map((place) => tasks[place].name).join(', '), 600);
  const tries = attempts.filter((attempt) => attempt.task === at);
  row('state', task.status + (task.end ? `, ${task.end}` : ''));
  row('command', task.command, 'pre');
  row('dependencies', names(task.needs));
  row('dependents', names(tasks.flatMap((other, place) => (other.needs.includes(at) ? [place] : []))));
  row('members', names(tasks.flatMap((other, place) => (other.bundle === at ? [place] : []))));
  row('bundle', task.bundle === undefined ? '' : tasks[task.bundle].name);
  row('lane', task.lane && `${task.lane}, ${task.access}`);
  row('attempts', tries.map((attempt) =>
    `${attempt.attempt}: ${attempt.end}, ${time(attempt.length)}`).join('; '));
  row('processor time', task.cpu ? time(task.cpu) : '');
  row('memory', task.memory ? bytes(task.memory) : '');
  redraw();
}

// ---- Critical path ----------------------------------------------------------------------------

function criticalShow() {
  if (!data.critical.length) {
    byId('critical').hidden = true;
    return;
  }
  const share = data.wall ? Math.round(data.criticalTime / data.wall * 100) : 100;
  byId('criticalSum').textContent = `${data.critical.length} tasks, ${time(data.criticalTime)}, ` +
    `${share} % of the duration`;
  const first = new Map();
  for (const attempt of attempts) {
    const began = first.get(attempt.task);
    if (began === undefined || attempt.began < began) first.set(attempt.task, attempt.began);
  }
  const longest = [...data.critical].sort((a, b) => tasks[b].time - tasks[a].time);
  const shown = new Set(longest.slice(0, 200));
  for (const at of data.critical) {
    if (!shown.has(at)) continue;
    const step = make(byId('steps'), 'div', undefined, 'step');
    const name = make(step, 'span', tasks[at].name);
    name.title = short(tasks[at].name, 300);
    name.onclick = () => choose(at);
    const bar = make(make(step, 'div'), 'i');
    bar.style.left = `${(first.get(at) || 0) / Math.max(1, data.wall) * 100}%`;
    bar.style.width = `${tasks[at].time / Math.max(1, data.wall) * 100}%`;
    make(step, 'em', time(tasks[at].time));
  }
  if (data.critical.length > shown.size)
    make(byId('steps'), 'p', `and ${data.critical.length - shown.size} shorter ones`, 'note');
}

// ---- Lanes ------------------------------------------------------------------------------------

// Places the attempts of one lane on lines without overlap.
function pack(list) {
  const free = [];
  return list.sort((a, b) => a.began - b.began).map((attempt) => {
    let row = free.findIndex((until) => until <= attempt.began);
    if (row < 0) row = free.length;
    free[row] = attempt.began + attempt.length;
    return { attempt, row };
  });
}

function lanesShow() {
  const lanes = new Map();
  tasks.forEach((task) => {
    if (task.lane && !lanes.has(task.lane)) lanes.set(task.lane, []);
  });
  for (const attempt of attempts) {
    const lane = tasks[attempt.task].lane;
    if (lane) lanes.get(lane).push(attempt);
  }
  byId('lanes').hidden = !lanes.size;
  const colour = (attempt) => (attempt.status === 'FAILED' ? colours.bad
    : tasks[attempt.task].access === 'write' ? colours.write : colours.read);
  for (const [name, list] of lanes) {
    const box = make(byId('laneList'), 'div', undefined, 'lane');
    const head = make(box, 'h3', name);
    const of = tasks.filter((task) => task.lane === name);
    const writers = of.filter((task) => task.access === 'write').length;
    make(head, 'small', `${of.length - writers} read, ${writers} write`);
    const bars = pack(list);
    const rows = bars.reduce((most, bar) => Math.max(most, bar.row + 1), 1);
    const frame = make(box, 'div', undefined, 'frame');
    new Chart(make(frame, 'canvas'), bars, rows, 16, colour);
  }
}

// ---- The table --------------------------------------------------------------------------------

const columns = [['name', 'name'], ['state', 'status'], ['end', 'end'], ['attempts', 'attempt', true],
  ['time', 'time', true], ['processor time', 'cpu', true], ['memory', 'memory', true],
  ['lane', 'lane'], ['command', 'command']];
const table = { sort: null, down: false, limit: 200 };

function rowMake(at) {
  const task = tasks[at], row = document.createElement('tr');
  const cell = (text, style) => make(row, 'td', text, style);
  cell(short(task.name, 200));
  make(cell(), 'span', task.status, 'state ' + task.status);
  cell(short(task.end, 120));
  cell(task.attempt || '', 'number');
  cell(task.time ? time(task.time) : '', 'number');
  cell(task.cpu ? time(task.cpu) : '', 'number');
  cell(task.memory ? bytes(task.memory) : '', 'number');
  cell(task.lane ? short(`${task.lane} (${task.access})`, 80) : '');
  make(cell(), 'code', short(task.command.replace(/\s+/g, ' '), 200));
  row.onclick = () => {
    choose(at);
    byId('detail').scrollIntoView({ block: 'nearest' });
  };
  return row;
}

function tableShow() {
  const wanted = byId('filter').value.toLowerCase(), status = byId('status').value;
  let found = tasks.map((task, at) => at).filter((at) =>
    (!status || tasks[at].status === status) &&
    (!wanted || (tasks[at].name + '\n' + tasks[at].command).toLowerCase().includes(wanted)));
  if (table.sort) {
    const key = table.sort, way = table.down ? -1 : 1;
    const value = (at) => tasks[at][key] ?? '';
    found.sort((a, b) => way * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a - b));
  }
  byId('rows').replaceChildren(...found.slice(0, table.limit).map(rowMake));
  byId('found').textContent = `${found.length} of ${tasks.length}`;
  byId('more').hidden = found.length <= table.limit;
}

function tableOpen() {
  for (const [word, key, number] of columns) {
    const head = make(byId('columns'), 'th', word, number ? 'number' : '');
    head.onclick = () => {
      table.down = table.sort === key ? !table.down : Boolean(number);
      table.sort = key;
      tableShow();
    };
  }
  const option = make(byId('status'), 'option', 'all states');
  option.value = '';
  for (const status of [...new Set(tasks.map((task) => task.status))].sort())
    make(byId('status'), 'option', status).value = status;
  byId('filter').oninput = byId('status').onchange = () => {
    table.limit = 200;
    tableShow();
  };
  byId('more').onclick = () => {
    table.limit += 1000;
    tableShow();
  };
  tableShow();
}

// ---- Start ------------------------------------------------------------------------------------

function legendShow() {
  byId('legend').replaceChildren();
  for (const [name, word] of legend) {
    const entry = make(byId('legend'), 'span');
    make(entry, 'i').style.background = colours[name];
    entry.append(word);
  }
}

function themeTurn() {
  const root = document.documentElement;
  const dark = getComputedStyle(root).colorScheme === 'dark';
  root.dataset.theme = dark ? 'light' : 'dark';
  coloursRead();
  legendShow();
  redraw();
}

function begin() {
  coloursRead();
  summary();
  legendShow();
  const bars = attempts.map((attempt) => ({ attempt, row: attempt.slot }));
  const height = data.slots > 40 ? 10 : 22;
  byId('chart').setAttribute('aria-label', `${attempts.length} attempts on ${data.slots} lines`);
  new Chart(byId('chart'), bars, Math.max(1, data.slots), height, stateColour);
  criticalShow();
  lanesShow();
  tableOpen();
  for (const button of document.querySelectorAll('[data-zoom]')) {
    const way = button.dataset.zoom;
    button.onclick = () => (way === 'fit' ? show(0, data.wall) : zoom(way === 'in' ? 0.5 : 2));
  }
  byId('theme').onclick = themeTurn;
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    coloursRead();
    legendShow();
    redraw();
  });
  addEventListener('resize', redraw);
  drawAll();  // at once, because a hidden tab gets no animation frames
}

begin();
