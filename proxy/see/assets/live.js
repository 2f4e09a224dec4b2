// Newer values for an open page: the texts of [data-k], where links lead, the points of sparklines, and what meters show.
(() => {
  "use strict";
  const age = document.getElementById("age"), verdict = document.getElementById("verdict");
  const cells = new Map();
  for (const e of document.querySelectorAll("[data-k]")) {
    const k = e.dataset.k;
    cells.set(k, [...(cells.get(k) || []), e]);
  }
  const still = !document.querySelector("main > :not(#verdict) [data-k], main > [data-k]"); // but for the verdict
  let source = null, heard = Date.now();
  const show = (event) => {
    heard = Date.now();
    for (const [k, v] of Object.entries(JSON.parse(event.data))) {
      for (const e of cells.get(k) || []) {
        if (k[0] === "~") e.setAttribute("points", v);
        else if (k[0] === "%") e.value = v;
        else if (k[0] === "@") v ? e.setAttribute("href", v) : e.removeAttribute("href");
        else if (e.textContent !== v) e.textContent = v;
      }
      if (k[0] === "=") for (const e of cells.get("~" + k.slice(1)) || []) e.parentNode.setAttribute("aria-label", v);
      if (k === "state") {
        verdict.dataset.state = v;
        document.title = document.title.replace(/[^ ]+$/, v);
      }
    }
  };
  // A hidden page keeps no connection: a browser has six for one server over HTTP/1.1.
  const connect = () => {
    if (document.hidden) {
      if (source) source.close();
      source = null;
    } else if (!source || source.readyState === 2) {
      source = new EventSource("/see/live?page=" + encodeURIComponent(document.body.dataset.page));
      source.onmessage = show;
    }
  };
  setInterval(() => {
    const late = Math.round((Date.now() - heard) / 1000);
    document.body.classList.toggle("stale", late > 8);
    age.textContent = late > 8 ? "no news from Sluice for " + late + " s" : still ? "reload for newer values" : "live, " + late + " s ago";
    if (late > 8) connect();
  }, 1000);
  document.addEventListener("visibilitychange", connect);
  connect();
})();
