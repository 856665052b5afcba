import { notify } from "./notices.tsx";

const drawn = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "opacity"];
const scale = 2;

/** Saves a drawing as PNG in the colors of the page. Style sheets do not reach a drawing outside of it, so its styles are written into it. */
export async function savePicture(svg: SVGSVGElement, name: string): Promise<void> {
  const copy = svg.cloneNode(true);
  if (!(copy instanceof SVGSVGElement)) return;
  const originals = [...svg.querySelectorAll("*")];
  for (const [place, element] of [...copy.querySelectorAll("*")].entries()) {
    const original = originals[place];
    if (!original) continue;
    const style = getComputedStyle(original);
    for (const property of drawn) element.setAttribute(property, style.getPropertyValue(property));
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const url = URL.createObjectURL(
    new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }),
  );
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [svg.clientWidth * scale, svg.clientHeight * scale];
    const context = canvas.getContext("2d");
    if (!context) return;
    context.fillStyle = getComputedStyle(svg.closest(".card") ?? document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const link = document.createElement("a");
    link.href = canvas.toDataURL("image/png");
    link.download = `${name}.png`;
    link.click();
  } catch {
    notify("The browser could not draw the picture.", "bad");
  } finally {
    URL.revokeObjectURL(url);
  }
}
