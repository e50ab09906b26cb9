"use strict";
// A page of many figures draws each when it comes near the window, and all of them to be printed.
const MANY = 60;
const elements = [...document.querySelectorAll("[data-chart]")];

async function unpacked(id) {
  const packed = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function fail(element, error) {
  element.textContent = `This figure cannot be drawn: ${error.message}`;
  console.error(error);
}

function drawAll(charts) {
  const options = {
    actions: false, renderer: "svg", config: charts.config, tooltip: { theme: "page" },
  };
  // What is hidden has no width to fill yet.
  const visible = (element) => element.clientWidth > 0;
  const draw = (element) => {
    if (element.dataset.drawn) return;
    element.dataset.drawn = "yes";
    element.style.minHeight = "";
    vegaEmbed(element, charts.specs[Number(element.dataset.chart)], options)
      .catch((error) => fail(element, error));
  };
  const nearby = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      nearby.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "800px" });
  for (const element of elements) {
    if (elements.length <= MANY && visible(element)) {
      draw(element);
    } else {
      element.style.minHeight = "230px";
      nearby.observe(element);
    }
  }
  addEventListener("beforeprint", () => elements.filter(visible).forEach(draw));
  // Paper does not wait: what is far from the window is drawn as soon as there is time.
  const idle = window.requestIdleCallback || ((task) => setTimeout(task, 50));
  const drawRest = () => {
    const next = elements.find((element) => !element.dataset.drawn && visible(element));
    if (!next) return;
    draw(next);
    idle(drawRest);
  };
  idle(drawRest);
}

// Who has no mouse scrolls a wide table by the arrow keys, once it has the focus.
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const element of document.querySelectorAll(".scroll")) widths.observe(element);

// A printed page cannot be unfolded by its reader. Lists of unchanged settings stay folded.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open]):not(.folded)")];
  for (const element of opened) element.open = true;
});
addEventListener("afterprint", () => {
  for (const element of opened) element.open = false;
});

Promise.all([unpacked("vega"), unpacked("charts")]).then(([vega, charts]) => {
  const script = document.createElement("script");
  script.textContent = vega;
  document.head.append(script);
  drawAll(JSON.parse(charts));
}).catch((error) => elements.forEach((element) => fail(element, error)));
