// Newer content for an open page, which is fetched and compared: only the parts that differ change.
(() => {
  "use strict";
  const age = document.getElementById("age");
  let heard = Date.now();
  const change = (old, now) => {
    if (old.nodeName !== now.nodeName) return old.replaceWith(now);
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    for (const a of [...(old.attributes || [])]) if (!now.hasAttribute(a.name)) old.removeAttribute(a.name);
    for (const a of now.attributes || []) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
    const there = [...old.childNodes], wanted = [...now.childNodes];
    wanted.forEach((n, i) => there[i] ? change(there[i], n) : old.append(n));
    there.slice(wanted.length).forEach(n => n.remove());
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.href, { signal: AbortSignal.timeout(5000) });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      change(document.querySelector("main"), page.querySelector("main"));
      document.title = page.title;
      heard = Date.now();
    } catch { /* Sluice is gone: the age says it */ }
  };
  setInterval(look, 2000);
  setInterval(() => {
    const late = Math.round((Date.now() - heard) / 1000), gone = late > 8;
    document.body.classList.toggle("stale", gone);
    age.textContent = gone ? "no news" : "live, " + late + " s ago";
    if (!gone) return;
    document.getElementById("verdict").dataset.mark = "■";
    document.getElementById("sentence").textContent = "No news from Sluice for " + late + " s: see whether it runs.";
  }, 1000);
  document.addEventListener("visibilitychange", look);
})();
