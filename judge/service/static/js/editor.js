// The editor: a text area that indents, numbers its lines, grows with its text and keeps it in the browser.

import { by, exercise, h, icon, t, clock } from './dom.js';

const INDENT = '    ';
const MOST_LINES = 150;
const KEY = `code:${exercise.id}`;
const area = by('code');
const gutter = by('gutter');
let leaving = false;
let timer = 0;

export const code = () => area.value;

/** Replace what is in the editor; one undo brings it back. */
export function setCode(text) {
  area.focus();
  area.select();
  insert(text);
  area.setSelectionRange(0, 0);
}

export function focusEditor() {
  area.focus();
}

/**
 * Typing by script. execCommand is the only way that keeps the browser's undo; setRangeText is the fallback, and for
 * long texts the rule: execCommand lays the page out for each line and stands still for a minute at some thousand.
 */
function insert(text) {
  const long = text.split('\n').length > MOST_LINES;
  const done = !long && (text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text));
  if (!done) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
    area.dispatchEvent(new Event('input'));
  }
}

const lineStart = (at) => area.value.lastIndexOf('\n', at - 1) + 1;

function indentLines(back) {
  const { selectionStart: from, selectionEnd: to } = area;
  const start = lineStart(from);
  const old = area.value.slice(start, to);
  const changed = old
    .split('\n')
    .map((line) => (back ? line.replace(/^ {1,4}|^\t/, '') : line === '' ? line : INDENT + line))
    .join('\n');
  if (changed === old) return;
  area.setSelectionRange(start, to);
  insert(changed);
  if (from === to) area.setSelectionRange(Math.max(start, from + changed.length - old.length), start + changed.length);
  else area.setSelectionRange(start, start + changed.length);
}

function onTab(back) {
  const { selectionStart: from, selectionEnd: to, value } = area;
  if (back || value.slice(from, to).includes('\n')) indentLines(back);
  else insert(INDENT.slice((from - lineStart(from)) % INDENT.length));
}

function onEnter() {
  const start = lineStart(area.selectionStart);
  const before = area.value.slice(start, area.selectionStart);
  const indent = before.match(/^[ \t]*/)[0];
  insert(`\n${indent}${/:\s*(#.*)?$/.test(before) ? INDENT : ''}`);
}

area.addEventListener('keydown', (event) => {
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.isComposing) return;
  if (event.key === 'Escape') {
    leaving = true; // the next Tab moves the focus, so that the keyboard is not caught here
  } else if (event.key === 'Tab' && plain && !leaving) {
    event.preventDefault();
    onTab(event.shiftKey);
  } else if (event.key === 'Enter' && plain && !event.shiftKey) {
    event.preventDefault();
    onEnter();
  } else if (event.key !== 'Shift') {
    leaving = false;
  }
});
area.addEventListener('blur', () => {
  leaving = false;
});

for (const button of document.querySelectorAll('.keys button')) {
  button.addEventListener('pointerdown', (event) => event.preventDefault()); // the text keeps the focus
  button.addEventListener('click', () => {
    area.focus();
    if (button.dataset.key === 'Tab') onTab(false);
    else insert(button.dataset.key);
  });
}

function redraw() {
  const lines = area.value.split('\n').length;
  gutter.textContent = Array.from({ length: lines }, (_, at) => at + 1).join('\n');
  if (CSS.supports('field-sizing', 'content')) return;
  area.style.height = 'auto';
  area.style.height = `${area.scrollHeight}px`;
}

/** What the browser keeps of this exercise; whatever else stands there, from whoever, is nothing. */
function stored() {
  try {
    const { code: text, at } = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof text === 'string' && !Number.isNaN(Date.parse(at)) ? { code: text, at } : null;
  } catch {
    return null;
  }
}

function save() {
  clearTimeout(timer);
  timer = 0; // what is kept may be another window's by the time this one is left
  const now = new Date().toISOString();
  try {
    if (area.value === exercise.starter) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify({ code: area.value, at: now }));
    by('saved').textContent = area.value === exercise.starter ? '' : t('saved', { time: clock(now) });
  } catch {
    by('saved').textContent = t('not_saved');
  }
}

area.addEventListener('input', () => {
  redraw();
  clearTimeout(timer);
  timer = setTimeout(save, 250);
});
addEventListener('pagehide', () => {
  if (timer) save();
});

// The same exercise in another window: say so, and let the learner choose.
addEventListener('storage', (event) => {
  if (event.key !== KEY) return;
  // Started over there: nothing is kept.
  const other = event.newValue === null ? { code: exercise.starter, at: new Date().toISOString() } : stored();
  const note = by('other-window');
  if (!other || other.code === area.value) {
    note.hidden = true;
    return;
  }
  const answer = (take) => {
    note.hidden = true;
    if (take) setCode(other.code);
    save();
  };
  note.replaceChildren(
    icon('fault'),
    h('span', {}, t('other_window', { time: clock(other.at) })),
    h('button', { class: 'btn', type: 'button', click: () => answer(false) }, t('keep_mine')),
    h('button', { class: 'btn', type: 'button', click: () => answer(true) }, t('take_other')),
  );
  note.hidden = false;
});

by('start-over').addEventListener('click', () => {
  if (area.value === exercise.starter || confirm(t('start_over_ask'))) setCode(exercise.starter);
});

const kept = stored();
area.value = kept?.code ?? exercise.starter;
if (kept) by('saved').textContent = t('saved', { time: clock(kept.at) });
redraw();
