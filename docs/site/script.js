// Search in all pages, and buttons that copy code. Without it the pages are complete.
"use strict";

const search = document.getElementById("search"), found = document.getElementById("found");

function element(name, text, parent) {
  const e = document.createElement(name);
  e.textContent = text;
  parent.append(e);
  return e;
}

// around returns the text near the first of the words that it has.
function around(text, words) {
  const at = Math.max(0, Math.min(...words.map((w) => text.toLowerCase().indexOf(w)).filter((i) => i >= 0), text.length) - 60);
  return (at > 0 ? "…" : "") + text.slice(at, at + 160) + (at + 160 < text.length ? "…" : "");
}

// show lists the sections that have all words; those that have them in their titles come first.
function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  found.hidden = words.length === 0 || typeof sections === "undefined";
  if (found.hidden) return;
  const has = (text) => words.filter((w) => text.toLowerCase().includes(w)).length;
  const hits = sections.filter((s) => has(s.title + " " + s.text) === words.length)
    .sort((a, b) => has(b.title) - has(a.title)).slice(0, 12);
  for (const s of hits) {
    const item = element("li", "", found);
    element("a", s.title, item).href = s.url;
    element("p", around(s.text, words), item);
  }
  if (hits.length === 0) element("li", "Nothing found.", found);
}

// load fetches the texts before they are needed.
function load() {
  const texts = document.createElement("script");
  texts.src = "search.js";
  texts.onload = show;
  document.head.append(texts);
}

search.hidden = false;
search.addEventListener("focus", load, { once: true });
search.addEventListener("input", show);

if (navigator.clipboard) {
  for (const block of document.querySelectorAll("main pre")) {
    const code = block.textContent;
    if (/[─│]/.test(code)) continue; // a drawing
    const button = element("button", "Copy", block);
    block.prepend(button);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code);
      button.textContent = "Copied";
    });
  }
}
