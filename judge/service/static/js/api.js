// Talking to the judge.

import { exercise } from './dom.js';

/** The judge refused: `message` is in the page's language, `status` the HTTP status. */
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error?.message?.[exercise.lang] ?? `HTTP ${status}`);
    this.status = status;
  }
}

/** The judge could not be reached. */
export class Unreachable extends Error {}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, options);
  } catch {
    throw new Unreachable();
  }
  if (answer.status === 502 || answer.status === 504) throw new Unreachable();
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(answer.status, body);
  return body;
}

const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A submission that can be sent again without becoming two: it has its own key. */
export function prepare(code, samplesOnly) {
  const body = JSON.stringify({ exercise: exercise.id, code, samples_only: samplesOnly, key: newKey() });
  return () => ask('/submissions', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
}

export const submission = (id) => ask(`/submissions/${id}`);
export const solution = () => ask(`/exercises/${exercise.id}/solution`);
export const submissions = (before) =>
  ask(`/submissions?mine&exercise=${exercise.id}&limit=5${before ? `&before=${before}` : ''}`);

/**
 * Follow a submission to its verdict. `on(type, data)` gets every event, `onLost(lost)` whether the connection is
 * gone. Where streaming does not work, the result is asked for instead. Returns a function that stops following.
 */
export function follow(id, on, onLost) {
  let ended = false;
  let timer = 0;
  const source = new EventSource(`/api/v1/submissions/${id}/events`);
  const stop = () => {
    ended = true;
    clearTimeout(timer);
    source.close();
  };
  const poll = async () => {
    if (ended) return;
    try {
      const now = await submission(id);
      if (ended) return;
      onLost(false);
      if (now.status === 'done') {
        stop();
        on('verdict', { result: now.result });
        return;
      }
    } catch {
      if (ended) return;
      onLost(true);
    }
    timer = setTimeout(poll, 2000);
  };
  for (const type of ['queued', 'running', 'group', 'engine', 'token', 'verdict']) {
    source.addEventListener(type, (event) => {
      if (type === 'verdict') stop();
      on(type, JSON.parse(event.data));
    });
  }
  source.addEventListener('open', () => onLost(false));
  source.addEventListener('error', () => {
    if (ended) return;
    onLost(true);
    if (source.readyState === EventSource.CLOSED) poll();
  });
  return stop;
}
