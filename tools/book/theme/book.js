// Theme, copy, predictions, and the section that is being read. Everything is readable without it.
(() => {
  const root = document.documentElement;
  const KEY = 'theme';
  const read = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const write = (name) => { try { localStorage.setItem(KEY, name); } catch { /* a private window keeps nothing */ } };

  const setTheme = (name) => {
    if (name === 'light' || name === 'dark') root.dataset.theme = name; else delete root.dataset.theme;
    for (const button of document.querySelectorAll('.theme button')) {
      button.setAttribute('aria-pressed', String(button.dataset.set === name));
    }
  };
  setTheme(read() ?? 'auto'); // before the page is painted

  const copy = (button) => {
    const pre = button.closest('.block').querySelector('pre').cloneNode(true);
    for (const mark of pre.querySelectorAll('.ref')) mark.remove();
    const said = button.querySelector('span');
    const before = said.textContent;
    navigator.clipboard?.writeText(pre.textContent).then(() => {
      said.textContent = button.dataset.done;
      setTimeout(() => { said.textContent = before; }, 1600);
    }, () => { /* the browser refused: the button keeps its word */ });
  };

  const compare = (form) => {
    const guess = form.querySelector('input').value.trim();
    if (!guess) return;
    const right = guess === form.dataset.answer;
    const said = form.querySelector('.p-said');
    const words = right ? form.dataset.right : form.dataset.other;
    said.textContent = words.replace('{guess}', guess);
    said.className = `p-said ${right ? 'right' : 'other'}`;
    let after = form.nextElementSibling;
    while (after && !/^H[1-3]$/.test(after.tagName)) {
      if (after.matches('.reveal')) { after.open = true; break; }
      after = after.nextElementSibling;
    }
  };

  const follow = () => {
    const links = new Map([...document.querySelectorAll('.rail a')].map((a) => [a.hash.slice(1), a]));
    if (!links.size) return;
    const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
    const mark = () => {
      const passed = headings.filter((h) => h.getBoundingClientRect().top < innerHeight / 3);
      for (const a of links.values()) a.removeAttribute('aria-current');
      if (passed.length) links.get(passed.at(-1).id).setAttribute('aria-current', 'true');
    };
    addEventListener('scroll', mark, { passive: true });
    mark();
  };

  const languages = () => {
    // A switch of language keeps the section.
    for (const a of document.querySelectorAll('.langs a')) {
      a.addEventListener('click', () => { a.hash = location.hash; });
    }
  };

  addEventListener('DOMContentLoaded', () => {
    setTheme(read() ?? 'auto');
    if (matchMedia('(max-width: 900px)').matches) document.querySelector('.side-fold')?.removeAttribute('open');
    document.addEventListener('click', (event) => {
      const set = event.target.closest('.theme button');
      if (set) { write(set.dataset.set); setTheme(set.dataset.set); }
      const button = event.target.closest('.b-copy');
      if (button) copy(button);
    });
    document.addEventListener('submit', (event) => {
      if (event.target.matches('.predict')) { event.preventDefault(); compare(event.target); }
    });
    follow();
    languages();
  });
})();
