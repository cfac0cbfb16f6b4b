// Text that the engine writes: as it comes while judging, and again from the result.

import { exercise, h, icon, reducedMotion, rich, t } from './dom.js';

const PIECE_MS = 45;

/** The streams of a run that is being judged; `add` takes the events of type token. */
export class Live {
  constructor() {
    this.list = h('ol', { class: 'streams' });
    this.section = h('section', { class: 'gen', 'aria-labelledby': 'live-h' }, h('h3', { id: 'live-h' }, credit()), this.list);
    this.outputs = new Map();
  }

  add({ request = 0, prompt = '', text = '' }) {
    if (!this.outputs.has(request)) {
      const out = h('span', { class: 'out' });
      this.outputs.set(request, out);
      this.list.append(stream(request, prompt, out, ''));
    }
    this.outputs.get(request).append(text);
  }

  get element() {
    return this.outputs.size ? this.section : null;
  }
}

const who = (index) => h('span', { class: `who r${index % 5}` }, `r${index}`);

function stream(index, prompt, out, note) {
  return h('li', {}, who(index), h('p', {}, prompt ? h('span', { class: 'prompt' }, prompt) : null, out), h('span', { class: 'num small' }, note));
}

function credit() {
  return [t('generated_1'), h('mark', {}, rich(t('generated_2', { name: exercise.name }))), t('generated_3')];
}

/** What the engine wrote with the learner's function in it, with a button that plays it again. */
export function generation({ engine }) {
  if (!engine?.texts.length) return null;
  const outs = engine.texts.map(({ text }) => h('span', { class: 'out' }, text));
  const rows = engine.texts.map(({ prompt, tokens, cached }, at) =>
    stream(at, prompt, outs[at], t(cached ? 'stream_cached' : 'stream_tokens', { n: tokens, cached })),
  );
  const play = () => replay(outs, engine.texts.map(({ text }) => text));
  const again = h('button', { class: 'btn plain', type: 'button', click: play }, icon('again'), t('stream_again'));
  const model = engine.model ? h('p', { class: 'small' }, t('model', { model: engine.model, device: engine.device })) : null;
  return h('section', { class: 'gen', 'aria-labelledby': 'gen-h' }, h('h3', { id: 'gen-h' }, credit(), again), h('ol', { class: 'streams' }, rows), model);
}

let playing = 0;

function replay(outs, texts) {
  clearInterval(playing);
  if (reducedMotion()) return;
  const pieces = texts.map((text) => text.match(/\s*[\u3400-\u9fff\uff00-\uffef\u3000-\u303f]|\s*[^\s\u3400-\u9fff\uff00-\uffef\u3000-\u303f]+|\s+/gu) ?? []);
  let at = 0;
  playing = setInterval(() => {
    at += 1;
    outs.forEach((out, index) => {
      out.textContent = pieces[index].slice(0, at).join('');
    });
    if (pieces.every((list) => at >= list.length)) clearInterval(playing);
  }, PIECE_MS);
}
