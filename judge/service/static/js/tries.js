// The learner's own submissions of this exercise, newest first.

import * as api from './api.js';
import { by, clock, exercise, h, icon, t } from './dom.js';
import { kind, points } from './verdict.js';

const list = by('tries');
let shown = [];
let next = null;

/** Read the newest submissions; `open(id)` is what a click on one does. Returns the newest, or null. */
export async function refresh(open) {
  try {
    const page = await api.submissions();
    shown = page.submissions;
    next = page.next;
  } catch {
    list.replaceChildren(h('li', { class: 'none' }, t('tries_error')));
    return null;
  }
  draw(open);
  return shown[0] ?? null;
}

function draw(open) {
  const rows = shown.map((one) => h('li', {}, entry(one, open)));
  if (!rows.length) rows.push(h('li', { class: 'none' }, t('none_yet')));
  if (next) rows.push(h('li', {}, h('button', { type: 'button', click: () => older(open) }, t('older'))));
  list.replaceChildren(...rows);
}

async function older(open) {
  try {
    const page = await api.submissions(next);
    shown = shown.concat(page.submissions);
    next = page.next;
    draw(open);
  } catch {
    list.append(h('li', { class: 'none' }, t('tries_error')));
  }
}

function entry(one, open) {
  const done = one.status === 'done';
  const look = done ? kind(one.verdict) : 'fault';
  const word = done ? t(`v_${one.verdict}`) : t('judging');
  const counted = done && one.verdict !== 'SE' && one.verdict !== 'CE';
  return h(
    'button',
    { type: 'button', click: () => open(one.id) },
    h('span', { class: `v-line tinted ${look}` }, icon(done ? look : 'wait'), word, h('span', { class: 'vh' }, t('open_try', { id: one.id }))),
    h('span', {}, counted ? `${points(one.score)} / ${exercise.points}` : done ? t('not_counted') : ''),
    h('span', {}, clock(one.created_at)),
  );
}
