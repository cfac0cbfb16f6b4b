// The exercise page: ties editor, judge, verdict and history together.

import * as api from './api.js';
import { by, exercise, h, icon, rich, t } from './dom.js';
import { code, focusEditor, setCode } from './editor.js';
import { samplesIdle, samplesRunning, showSamples } from './samples.js';
import { Live } from './stream.js';
import { refresh } from './tries.js';
import { focusVerdict, line, showDraft, showJudging, showResult } from './verdict.js';

const RETRY_MS = 3000;
const last = by('last');
let stopFollowing = () => {};
let stopSamples = () => {};
let waiting = null;
let atHand = null; // the code that is being sent or judged
let samplesAtHand = null;

/** Beside the buttons, and aloud: a screen reader hears every change, so the same words do not come twice. */
function say(...parts) {
  if (last.textContent !== parts.map((part) => part.textContent).join('')) last.replaceChildren(...parts);
}

const plain = (look, text, picture = look) => h('span', { class: `${look} tinted` }, icon(picture), h('span', {}, rich(text)));

// --- Submitting -------------------------------------------------------------

async function submit() {
  const text = code();
  if (!ready() || text === atHand) return; // a second click on what is being judged is no second submission
  const send = api.prepare(text, false);
  atHand = text;
  say(plain('fault', t('sending'), 'wait'));
  let made;
  try {
    made = await untilReached(send);
  } catch (error) {
    atHand = null;
    refused(error);
    return;
  }
  if (made) watch(made.id, text, true);
  else if (atHand === text) atHand = null;
}

function ready() {
  if (code().trim()) return true;
  say(plain('wrong', t('empty')));
  focusEditor();
  return false;
}

function refused(error) {
  if (!(error instanceof api.Refused)) throw error;
  say(plain(error.status >= 500 ? 'fault' : 'wrong', error.message));
}

/** Send until the judge is reached; the same key each time, so it becomes one submission. Null: given up. */
async function untilReached(send) {
  waiting?.();
  let stopped = false;
  let wake = () => {};
  const stop = () => {
    stopped = true;
    wake();
  };
  waiting = stop;
  const giveUp = () => {
    stop();
    say();
  };
  const cancel = h('button', { class: 'btn plain', type: 'button', click: giveUp }, t('cancel'));
  try {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof api.Unreachable)) throw error;
      }
      if (stopped) return null;
      say(plain('fault', t('unreachable')), cancel);
      await new Promise((resume) => {
        const timer = setTimeout(resume, RETRY_MS);
        wake = () => {
          clearTimeout(timer);
          resume();
        };
      });
      if (stopped) return null;
    }
  } finally {
    if (waiting === stop) waiting = null;
  }
}

/** Follow a submission to its verdict. `fresh`: it was made just now, so its verdict gets the focus. */
function watch(id, text, fresh) {
  stopFollowing();
  atHand = text;
  let state = { stage: 'received', live: null };
  let live = new Live();
  const draw = () => {
    showJudging({ ...state, live: live.element });
    const { group, stage } = state;
    say(plain('fault', stage === 'engine' ? t('judging_engine') : group ? t('judging_group', group) : t('judging'), 'wait'));
  };
  const on = {
    queued({ place, again }) {
      live = new Live();
      state = { stage: 'received', place, again };
      draw();
    },
    running() {
      state = { stage: 'unit', again: state.again };
      draw();
    },
    group({ number, groups }) {
      state = { ...state, stage: 'unit', group: { k: Math.min(number + 1, groups), n: groups } };
      draw();
    },
    engine() {
      state = { ...state, stage: 'engine' };
      draw();
    },
    token(data) {
      const had = live.element;
      live.add(data);
      if (!had) draw();
    },
    verdict({ result, attempt }) {
      atHand = null;
      show(result, { id, attempt, text });
      if (fresh && code() === text) focusVerdict();
      refresh(open);
    },
  };
  draw();
  refresh(open);
  stopFollowing = api.follow(
    id,
    (type, data) => on[type](data),
    (lost) => (lost ? say(plain('fault', t('reconnecting'), 'wait')) : draw()),
  );
}

// --- Results ----------------------------------------------------------------

function show(result, { id, attempt = 1, text }) {
  say(line(result.verdict, result.score));
  if (result.samples.length) showSamples(result, false);
  showResult(result, { id, attempt, changed: code() !== text, acts: acts(result, text) });
  if (result.verdict === 'AC') markAccepted();
}

function acts(result, text) {
  const buttons = [];
  if (result.verdict === 'AC') {
    const { next } = exercise;
    if (next) {
      const words = rich(t('next', { id: next.id, name: `\`${next.name}\`` }));
      buttons.push(h('a', { class: 'btn main', href: `/${exercise.lang}/exercises/${next.id}` }, h('span', {}, words), icon('right')));
    }
    const compare = h('button', { class: 'btn', type: 'button', 'aria-expanded': 'false', click: () => reveal(compare) }, t(exercise.own ? 'solution' : 'solution_other'));
    buttons.push(compare);
  }
  if (result.verdict === 'SE') buttons.push(h('button', { class: 'btn', type: 'button', click: submit }, t('judge_again')));
  if (code() !== text) buttons.push(h('button', { class: 'btn', type: 'button', click: () => setCode(text) }, t('use_code')));
  return buttons.length ? h('p', { class: 'acts' }, buttons) : null;
}

async function reveal(button) {
  const there = by('solution');
  if (there) {
    there.remove();
    button.setAttribute('aria-expanded', 'false');
    return;
  }
  let text;
  try {
    text = (await api.solution()).code;
  } catch (error) {
    if (error instanceof api.Unreachable) say(plain('fault', t('reconnecting'), 'wait'));
    else refused(error);
    return;
  }
  const pre = h('pre', { class: 'plain-code code', tabindex: '0', role: 'region', 'aria-label': t('solution_head') }, text);
  button.closest('.acts').after(h('section', { id: 'solution', class: 'solution' }, h('h3', {}, t('solution_head')), pre));
  button.setAttribute('aria-expanded', 'true');
}

function markAccepted() {
  const slot = document.querySelector(`[data-slot="${exercise.id}"]`);
  if (!slot || slot.classList.contains('accepted')) return;
  slot.classList.remove('untouched', 'tried');
  slot.classList.add('accepted');
  slot.querySelector('.i')?.remove();
  slot.querySelector('.num').after(icon('check'));
  slot.querySelector('.vh').textContent = t('passed');
  const number = document.querySelector('.count .num');
  if (!number) return;
  const passed = Number(number.firstChild.data) + 1;
  const total = Number(number.querySelector('.of').textContent.replace(/\D/g, ''));
  number.firstChild.data = passed;
  document.querySelector('.count-bar rect').setAttribute('width', `${(100 * passed) / (total || 1)}%`);
}

/** Show a submission from the list, or follow it when it is not judged yet. */
async function open(id, fresh = true) {
  let one;
  try {
    one = await api.submission(id);
  } catch (error) {
    if (error instanceof api.Unreachable) say(plain('fault', t('reconnecting'), 'wait'));
    else refused(error);
    return;
  }
  if (one.status !== 'done') {
    watch(id, one.code, fresh);
    return;
  }
  stopFollowing();
  atHand = null;
  show(one.result, { id, attempt: one.attempt, text: one.code });
  if (fresh) focusVerdict();
}

// --- Samples ----------------------------------------------------------------

async function runSamples() {
  const text = code();
  if (!ready() || text === samplesAtHand) return;
  samplesAtHand = text;
  stopSamples();
  samplesRunning();
  let made;
  try {
    made = await api.prepare(text, true)();
  } catch (error) {
    samplesAtHand = null;
    samplesIdle();
    if (error instanceof api.Unreachable) say(plain('fault', t('unreachable_samples')));
    else refused(error);
    return;
  }
  stopSamples = api.follow(
    made.id,
    (type, { result }) => {
      if (type !== 'verdict') return;
      samplesAtHand = null;
      showSamples(result, true);
      const failed = result.samples.filter((sample) => !sample.ok).length;
      const total = result.samples.length;
      if (!total) say(plain('wrong', result.message[exercise.lang]));
      else if (failed) say(plain('wrong', t('samples_some', { total, failed })));
      else say(plain('ok', t('samples_all', { total })));
    },
    () => {},
  );
}

// --- Start ------------------------------------------------------------------

by('submit').addEventListener('click', submit);
by('run-samples').addEventListener('click', runSamples);
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  if (event.repeat) return;
  if (event.shiftKey) runSamples();
  else submit();
});

samplesIdle();
showDraft();
refresh(open).then((newest) => {
  if (newest) open(newest.id, false);
});
