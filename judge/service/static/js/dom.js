// Elements and words. Texts from the judge only ever become text nodes.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
export const exercise = read('exercise-data');
const words = read('words-data');

/** The words for `key`, with {placeholders} filled in. */
export function t(key, values = {}) {
  if (!(key in words)) throw new Error(`no words for ${key}`);
  return words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** An element: h('p', {class: 'small'}, 'text', child). Attributes that are functions are listeners. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

export function icon(name, extra = '') {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('class', `i ${extra}`.trim());
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(space, 'use');
  use.setAttribute('href', `/static/icons.svg#${name}`);
  svg.append(use);
  return svg;
}

/** Text with `code` in backticks, as nodes. */
export function rich(text) {
  return text.split('`').map((part, at) => (at % 2 ? h('code', {}, part) : part));
}

export const by = (id) => document.getElementById(id);
export const reducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export function clock(iso) {
  const when = new Date(iso);
  const locale = exercise.lang === 'zh' ? 'zh-CN' : 'en-GB';
  const time = when.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit', hour12: false });
  if (when.toDateString() === new Date().toDateString()) return time;
  return `${when.toLocaleDateString(locale, { month: '2-digit', day: '2-digit' })} ${time}`;
}
