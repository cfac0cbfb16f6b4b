// Runs before the page is drawn, so that a forced theme does not flash.
(() => {
  const root = document.documentElement;
  const stored = () => {
    try {
      return localStorage.getItem('theme') || 'auto';
    } catch {
      return 'auto';
    }
  };
  const show = (name) => {
    if (name === 'light' || name === 'dark') root.dataset.theme = name;
    else delete root.dataset.theme;
    for (const button of document.querySelectorAll('.theme button')) {
      button.setAttribute('aria-pressed', String(button.dataset.set === name));
    }
  };
  show(stored());
  document.addEventListener('DOMContentLoaded', () => {
    show(stored());
    document.addEventListener('click', (event) => {
      const button = event.target.closest('.theme button');
      if (!button) return;
      try {
        localStorage.setItem('theme', button.dataset.set);
      } catch {
        // The browser does not let this page store; the choice holds until the next page.
      }
      show(button.dataset.set);
    });
  });
  addEventListener('storage', (event) => {
    if (event.key === 'theme') show(stored());
  });
})();
