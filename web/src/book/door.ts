/** From the book's own folder to the book in the reader's language. */
location.replace(`${navigator.language.startsWith("zh") ? "zh" : "en"}/index.html`);
export {};
