"use strict";
// Runs before the page is painted, so that a dark page does not flash white.
const THEME = "skipline-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

// A browser that keeps nothing for pages of the disk still has the switch.
function remembered() {
  try { return localStorage.getItem(THEME); } catch { return null; }
}

function remember(theme) {
  try {
    if (theme) localStorage.setItem(THEME, theme);
    else localStorage.removeItem(THEME);
  } catch { /* Kept until the page is closed. */ }
}

function isDark() {
  return (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
}

// What the system has anyway is not kept: the page goes on to follow the system.
function toggle() {
  const dark = !isDark();
  const theme = dark === system.matches ? "" : dark ? "dark" : "light";
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  remember(theme);
}

if (["dark", "light"].includes(remembered())) {
  document.documentElement.dataset.theme = remembered();
}
addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("dark");
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.hidden = false;
  button.addEventListener("click", () => { toggle(); show(); });
  system.addEventListener("change", show);
  show();
});
