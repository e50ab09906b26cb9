// Exports: pictures, tables, files.
import type { Result } from "../engine/protocol";
import { names, quantity } from "./numbers";

export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function downloadText(name: string, text: string, type = "text/plain"): void {
  download(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** All numbers of a result: metric, component, value, ci95, unit, as `skipline run --format csv` has them. */
export function resultCsv(result: Result): string {
  const rows = names(result).map((name) => {
    const at = name.indexOf(".");
    const [metric, part] = at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)];
    const found = quantity(result, name);
    return [metric, part, found?.value ?? "", found?.half ?? "", result.metrics[metric]?.unit ?? ""];
  });
  return csv([["metric", "component", "value", "ci95", "unit"], ...rows]);
}

export function csv(rows: (string | number)[][]): string {
  const cell = (value: string | number) => {
    const text = String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
}

/** A drawing by itself: with the colours of the page as they are now. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, number) => {
    const style = getComputedStyle(original);
    const target = copies[number];
    if (!target) return;
    for (const name of PRESENTED) {
      const value = style.getPropertyValue(name);
      // An attribute may name a colour of this page, which a drawing by itself does not have.
      target.removeAttribute(name);
      if (value) target.style.setProperty(name, value);
    }
    target.removeAttribute("class");
  });
  const { width, height } = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const paper = getComputedStyle(document.body).getPropertyValue("--paper");
  copy.style.background = paper;
  return new XMLSerializer().serializeToString(copy);
}

const PRESENTED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "fill-opacity", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "dominant-baseline", "color", "white-space"];

export async function png(svg: SVGSVGElement): Promise<Blob> {
  const { width, height } = svg.getBoundingClientRect();
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  const scale = 2;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no pictures");
  context.scale(scale, scale);
  context.fillStyle = getComputedStyle(document.body).getPropertyValue("--paper") || "white";
  context.fillRect(0, 0, width, height);
  context.drawImage(picture, 0, 0, width, height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is empty"))), "image/png"),
  );
}
