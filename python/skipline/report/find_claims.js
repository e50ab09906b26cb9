"use strict";
{
  const form = document.querySelector(".filters");
  const count = form.querySelector("output");
  const rows = [...document.querySelectorAll("tr[data-claim]")];
  const articles = [...document.querySelectorAll("article[data-claim]")];
  const groups = [...document.querySelectorAll("[data-group]")];
  const experiments = [...document.querySelectorAll("[data-judges]")];
  const links = [...document.querySelectorAll(".contents li")];
  const CHOICES = ["source", "verdict", "basis"];
  const FIELDS = ["q", ...CHOICES];

  // A claim is also found by the title and the question of an experiment that judges it.
  const texts = new Map(rows.map((row) => [row.dataset.claim, row.textContent]));
  for (const experiment of experiments) {
    const about = [...experiment.querySelectorAll("h2, .question")].map((e) => e.textContent);
    for (const claim of judged(experiment)) {
      texts.set(claim, `${texts.get(claim) ?? ""} ${about.join(" ")}`);
    }
  }
  for (const [claim, text] of texts) texts.set(claim, text.toLowerCase());

  function judged(experiment) {
    return experiment.dataset.judges.split(" ").filter(Boolean);
  }

  function wanted(row, words) {
    const chosen = CHOICES.every((name) => !form[name].value || form[name].value === row.dataset[name]);
    return chosen && words.every((word) => texts.get(row.dataset.claim).includes(word));
  }

  function apply() {
    const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = FIELDS.every((name) => !form[name].value.trim());
    const shown = new Set();
    for (const row of rows) {
      row.hidden = !wanted(row, words);
      if (!row.hidden) shown.add(row.dataset.claim);
    }
    for (const article of articles) article.hidden = !shown.has(article.dataset.claim);
    for (const group of groups) group.hidden = !group.querySelector("[data-claim]:not([hidden])");
    for (const one of experiments) {
      one.hidden = !all && !judged(one).some((claim) => shown.has(claim));
    }
    for (const link of links) {
      link.hidden = hiddenPart(link.firstChild.getAttribute("href").slice(1)) !== null;
    }
    count.textContent = shown.size
      ? `${shown.size} of ${rows.length} claims`
      : "No claim is like this: use other words, or show all";
  }

  // What is hidden around the target of a link, if anything is.
  function hiddenPart(id) {
    return document.getElementById(id)?.closest("[hidden]") ?? null;
  }

  function keep() {
    const state = new URLSearchParams();
    for (const name of FIELDS) if (form[name].value.trim()) state.set(name, form[name].value.trim());
    const page = location.href.split("#")[0];
    history.replaceState(null, "", String(state) ? `${page}#${state}` : page);
  }

  function fill(state) {
    for (const name of FIELDS) form[name].value = state.get(name) ?? "";
    // A choice that this page does not have.
    for (const name of CHOICES) if (form[name].selectedIndex < 0) form[name].value = "";
    apply();
  }

  // The hash is a state of the form (q=ring&verdict=fails) or a place on the page (claim-x).
  function follow() {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) {
      const id = decodeURIComponent(hash);
      if (hiddenPart(id)) {
        fill(new URLSearchParams());
        document.getElementById(id).scrollIntoView();
      }
      return;
    }
    fill(new URLSearchParams(hash));
  }

  form.hidden = false;
  document.documentElement.classList.add("filtered");
  // Some that act for a reader tell only of the change.
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => { apply(); keep(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { apply(); keep(); }));
  addEventListener("hashchange", follow);
  apply();
  follow();
}
