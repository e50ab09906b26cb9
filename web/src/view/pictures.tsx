// Buttons that take a drawing away as SVG or PNG.
import type { JSX } from "preact";
import { download, downloadText, png, standalone } from "../model/exports";

export function PictureTools({ of, name }: { of: string; name: string }): JSX.Element {
  const drawing = () => {
    const place = document.getElementById(of);
    return place instanceof SVGSVGElement ? place : (place?.querySelector("svg") ?? undefined);
  };
  return (
    <>
      <button type="button" title="Save the drawing as SVG" onClick={() => withDrawing(drawing(), (svg) => downloadText(`${name}.svg`, standalone(svg), "image/svg+xml"))}>
        SVG
      </button>
      <button type="button" title="Save the drawing as PNG" onClick={() => withDrawing(drawing(), async (svg) => download(`${name}.png`, await png(svg)))}>
        PNG
      </button>
    </>
  );
}

function withDrawing(svg: SVGSVGElement | undefined, take: (svg: SVGSVGElement) => void): void {
  if (svg) take(svg);
}
