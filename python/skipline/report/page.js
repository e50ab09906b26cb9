"use strict";
const charts = JSON.parse(document.getElementById("charts").textContent);
for (const element of document.querySelectorAll("[data-chart]")) {
  const options = { actions: false, renderer: "svg", tooltip: { theme: "light" } };
  vegaEmbed(element, charts[Number(element.dataset.chart)], options).catch((error) => {
    element.textContent = `This figure cannot be drawn: ${error.message}`;
    console.error(error);
  });
}
