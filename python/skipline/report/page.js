"use strict";
const charts = JSON.parse(document.getElementById("charts").textContent);
const options = { actions: false, renderer: "svg", tooltip: { theme: "light" } };
const elements = [...document.querySelectorAll("[data-chart]")];
// A page of many figures draws each when it comes near the window, and all of them to be printed.
const MANY = 60;

function draw(element) {
  if (element.dataset.drawn) return;
  element.dataset.drawn = "yes";
  vegaEmbed(element, charts[Number(element.dataset.chart)], options).catch((error) => {
    element.textContent = `This figure cannot be drawn: ${error.message}`;
    console.error(error);
  });
}

if (elements.length <= MANY) {
  elements.forEach(draw);
} else {
  const nearby = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      nearby.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "800px" });
  for (const element of elements) {
    element.style.minHeight = "230px";
    nearby.observe(element);
  }
  window.addEventListener("beforeprint", () => elements.forEach(draw));
}
