// The verdict: what was judged, what broke, what the engine did with the function.

import { by, exercise, h, icon, rich, t } from './dom.js';
import { generation } from './stream.js';

const LIMITS = ['TLE', 'MLE', 'OLE'];
const box = by('verdict');
let hintsShown = 0;

/** The colour of a verdict: ok, wrong, limit, fault. */
export function kind(verdict) {
  if (verdict === 'AC') return 'ok';
  if (verdict === 'SE') return 'fault';
  return LIMITS.includes(verdict) ? 'limit' : 'wrong';
}

const round = (value, digits = 1) => String(Number(value.toFixed(digits)));
export const points = (score) => round(score * exercise.points);

/** Verdict and points in one line, as beside the Submit button. */
export function line(verdict, score) {
  const tail = verdict === 'SE' || verdict === 'CE' ? '' : `${exercise.lang === 'zh' ? '，' : ', '}${t('points_of', { got: points(score), all: exercise.points })}`;
  return h('span', { class: `${kind(verdict)} tinted` }, icon(kind(verdict)), `${t(`v_${verdict}`)}${tail}`);
}

function show(look, ...children) {
  box.className = `verdict ${look}`;
  box.replaceChildren(...children.filter(Boolean));
}

function heading(text, picture, extra = '') {
  return h('h2', { id: 'verdict-h', class: 'v-word', tabindex: '-1' }, icon(picture, extra), text);
}

export function focusVerdict() {
  by('verdict-h').focus();
  by('verdict-h').scrollIntoView({ block: 'nearest' });
}

export function showDraft() {
  show(
    'draft',
    h('header', { class: 'v-head' }, heading(t('draft_head'), 'wait')),
    h('p', {}, t(exercise.engine ? 'draft_text' : 'draft_text_none')),
  );
}

/** Judging: `at` is place, group {k, n} or engine; `text` what the engine wrote so far; `again` after a fault. */
export function showJudging({ stage, place, group, again, live }) {
  const order = ['received', 'unit', 'engine'];
  const now = order.indexOf(stage);
  const words = {
    received: place ? t(again ? 'again' : 'place', { n: place }) : t('received'),
    unit: group ? t('unit_group', group) : t('unit'),
    engine: t('engine'),
  };
  const steps = (exercise.engine ? order : order.slice(0, 2)).map((name, at) => {
    const look = at < now ? 'done' : at === now ? 'now' : '';
    const picture = at < now ? 'check' : at === now ? 'wait' : 'dash';
    return h('li', { class: look, 'aria-current': at === now ? 'step' : null }, icon(picture), h('span', { class: 'num' }, at < now && name === 'received' ? t('received') : words[name]));
  });
  show(
    'fault',
    h('header', { class: 'v-head' }, heading(t('judging'), 'wait', 'turn')),
    h('ol', { class: 'track' }, steps),
    again ? h('p', {}, t('again_interrupted')) : null,
    live,
    h('p', { class: 'small' }, t('go_on')),
  );
}

/** A result; `changed`: the editor holds other code by now; `acts` are the page's own buttons. */
export function showResult(result, { id, attempt, changed, acts }) {
  const { verdict } = result;
  hintsShown = 0;
  const head = h(
    'header',
    { class: 'v-head' },
    heading(t(`v_${verdict}`), kind(verdict)),
    verdict === 'SE' || verdict === 'CE' ? null : h('p', { class: 'v-pts num' }, points(result.score), h('span', { class: 'of' }, ` / ${exercise.points}`)),
    h('p', { class: 'v-facts num' }, facts(result, id, attempt)),
  );
  const note = changed ? h('p', { class: 'small' }, t('changed')) : null;
  if (verdict === 'AC') {
    show('ok', head, message(result), note, h('div', { class: 'v-cols' }, unitColumn(result), engineColumn(result)), times(result), generation(result), acts);
  } else if (verdict === 'SE') {
    show('fault', head, message(result), h('p', {}, t('fault_text')), acts, h('p', { class: 'small' }, t('fault_code', { code: `SE-${id}-${attempt}` })));
  } else {
    const why = h('div', { class: 'v-why' }, ruleThatBroke(result), cause(result), times(result), hints(), acts, note);
    const side = h('div', {}, groupColumn(result), result.engine ? engineColumn(result) : null);
    show(kind(verdict), head, result.groups.length || result.engine ? h('div', { class: 'v-split' }, why, side) : why, generation(result));
  }
}

function facts(result, id, attempt) {
  const parts = [t('facts_id', { id })];
  if (attempt > 1) parts.push(t('facts_attempt', { n: attempt }));
  if (result.seconds) parts.push(t('facts_seconds', { seconds: round(result.seconds, 2) }));
  if (result.memory_mb) parts.push(t('facts_memory', { used: Math.round(result.memory_mb), limit: exercise.limits.memory_mb }));
  if (result.isolation) parts.push(t('facts_isolation', { name: result.isolation }));
  return parts.join(' · ');
}

function message(result) {
  return h('p', { class: 'v-message' }, rich(result.message[exercise.lang]));
}

function ruleThatBroke(result) {
  const rule = result.rule === null ? undefined : exercise.rules[result.rule];
  if (rule === undefined) return [h('h3', {}, t('what_happened')), message(result)];
  return [h('h3', {}, t('rule_head')), h('p', { class: 'rule' }, h('span', { class: 'no num' }, String(result.rule)), h('span', {}, rich(rule))), message(result)];
}

function cause(result) {
  if (result.diagnosis) return [h('h3', {}, t('cause')), h('p', {}, rich(result.diagnosis[exercise.lang]))];
  return result.rule === null ? [] : [h('p', { class: 'small' }, t('no_diagnosis'))];
}

function times(result) {
  if (!result.times.length || !['ok', 'limit'].includes(kind(result.verdict))) return null;
  const ms = (seconds) => `${round(seconds * 1000, 1)} ms`;
  const cell = (text) => h('td', { class: 'num' }, text);
  return h(
    'table',
    { class: 'times' },
    h('caption', {}, t('times')),
    h('thead', {}, h('tr', {}, ['times_size', 'times_yours', 'times_reference'].map((key) => h('th', { scope: 'col' }, t(key))))),
    h('tbody', {}, result.times.map((row) => h('tr', {}, h('th', { scope: 'row', class: 'num' }, row.size.toLocaleString('en')), cell(ms(row.seconds)), cell(ms(row.reference))))),
  );
}

/** The ladder of hints: one at a time, and the focus goes to the one that has come. */
function hints() {
  const all = exercise.hints;
  if (!all.length) return null;
  const section = h('section', { class: 'hints', 'aria-labelledby': 'hints-h' });
  const draw = () => {
    const shown = all.slice(0, hintsShown).map((hint, at) => h('li', { tabindex: '-1', id: `hint-${at + 1}` }, rich(hint)));
    const more = h('button', { class: 'btn', type: 'button', click: next }, t('hint_show', { n: hintsShown + 1 }));
    section.replaceChildren(
      h(
        'h3',
        { id: 'hints-h' },
        t('hints'),
        h('span', { class: 'ladder', 'aria-hidden': 'true' }, all.map((_, at) => h('i', { class: at < hintsShown ? 'on' : null }))),
        h('span', { class: 'num small' }, t('hints_shown', { n: hintsShown, all: all.length })),
      ),
      h('ol', {}, shown),
      h('p', { class: 'acts' }, hintsShown < all.length ? more : null, h('span', { class: 'small' }, t('hints_free'))),
    );
  };
  const next = () => {
    hintsShown += 1;
    draw();
    by(`hint-${hintsShown}`).focus();
  };
  draw();
  return section;
}

function cases(result) {
  const sum = (name) => result.groups.reduce((total, group) => total + group[name], 0);
  return h('span', { class: 'small num' }, t('cases', { passed: sum('passed'), total: sum('total') }));
}

function groupList(result) {
  return h('ol', { class: 'groups' }, result.groups.map((group, at) => {
    const look = group.verdict === null ? '' : kind(group.verdict);
    const picture = { ok: 'check', wrong: 'cross', limit: 'limit', fault: 'fault', '': 'dash' }[look];
    return h(
      'li',
      { class: look },
      h('span', { class: 'g-no num' }, String(at + 1)),
      h('span', { class: 'g-name' }, group.title[exercise.lang]),
      h('span', { class: 'g-state' }, icon(picture), t(`g_${group.verdict ?? 'none'}`)),
      h('span', { class: 'g-cases num' }, String(group.passed), h('span', { class: 'of' }, `/${group.total}`)),
    );
  }));
}

const unitColumn = (result) => h('div', {}, h('h3', {}, t('unit_head'), cases(result)), groupList(result));

function groupColumn(result) {
  if (!result.groups.length) return null;
  return h('div', {}, h('h3', {}, t('groups_head'), cases(result)), groupList(result), h('p', { class: 'small' }, t('groups_alone')));
}

function engineColumn(result) {
  const { engine } = result;
  if (!engine) return null;
  const check = (good, name, text) =>
    h('div', { class: good ? 'ok' : 'wrong' }, h('dt', {}, icon(good ? 'check' : 'cross'), name), h('dd', { class: 'num' }, text));
  const pages = { total: engine.pages_total, free: engine.pages_free, cached: engine.pages_cached };
  return h(
    'div',
    {},
    h('h3', {}, t('in_engine'), h('span', { class: `small ${kind(engine.verdict)}` }, h('span', { class: 'tinted' }, t(`g_${engine.verdict}`)))),
    h(
      'dl',
      { class: 'checks' },
      check(engine.tokens_equal, t('tokens'), t(engine.tokens_equal ? 'tokens_all' : 'tokens_some', { equal: engine.tokens_matching, total: engine.tokens })),
      check(engine.pages_balanced, t('pages'), t(engine.pages_balanced ? 'pages_ok' : 'pages_bad', pages)),
      engine.speed_ratio === null ? null : check(true, t('speed'), t('speed_of', { ratio: round(engine.speed_ratio, 2) })),
    ),
  );
}
