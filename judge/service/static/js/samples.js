// The public samples: each shown in full.

import { by, exercise, h, icon, rich, t } from './dom.js';

const count = by('samples-count');
const box = by('samples');

export function samplesRunning() {
  count.textContent = '';
  box.replaceChildren(h('p', { class: 'small' }, t('samples_running')));
}

export function samplesIdle() {
  count.textContent = '';
  box.replaceChildren(h('p', { class: 'small' }, t('samples_none')));
}

/**
 * The samples of a result. A result without any (the file does not parse) shows its message instead.
 * `alone`: only samples were run, so that the time of the run is theirs.
 */
export function showSamples(result, alone) {
  const { samples } = result;
  if (!samples.length) {
    count.textContent = '';
    box.replaceChildren(h('p', { class: 'wrong' }, h('span', { class: 'v-line tinted' }, icon('wrong')), ' ', rich(result.message[exercise.lang])));
    return;
  }
  const passed = samples.filter((sample) => sample.ok).length;
  const values = { passed, total: samples.length, ms: Math.round(result.seconds * 1000) };
  count.textContent = t(alone ? 'samples_run' : 'samples_passed', values);
  box.replaceChildren(h('ul', { class: 'sample-list' }, samples.map((sample, at) => row(sample, at + 1))));
}

function row(sample, number) {
  return h(
    'li',
    { class: sample.ok ? 'ok' : 'wrong' },
    h(
      'div',
      { class: 's-row' },
      icon(sample.ok ? 'check' : 'cross'),
      h('span', { class: 'vh' }, t(sample.ok ? 'passed' : 'failed')),
      h('span', { class: 'num of' }, String(number)),
      h('span', { class: 's-name' }, sample.title[exercise.lang] ?? sample.name),
    ),
    sample.ok && !sample.stdout ? null : detail(sample),
  );
}

function detail(sample) {
  const pairs = [];
  if (sample.expected) pairs.push(h('dt', {}, t('expected')), h('dd', { class: 'mono' }, sample.expected));
  if (sample.got) pairs.push(h('dt', {}, t('got')), h('dd', { class: 'mono' }, sample.got));
  const text = (label, value) =>
    h('pre', { class: 'plain-code code', tabindex: '0', role: 'region', 'aria-label': label }, value);
  return h(
    'div',
    { class: 's-more' },
    sample.assertion ? text(t('assertion'), sample.assertion) : null,
    pairs.length ? h('dl', { class: 'diff' }, pairs) : null,
    sample.message[exercise.lang] ? h('p', {}, rich(sample.message[exercise.lang])) : null,
    sample.stdout ? h('div', {}, h('p', { class: 'small' }, t('printed')), text(t('printed'), sample.stdout)) : null,
  );
}
