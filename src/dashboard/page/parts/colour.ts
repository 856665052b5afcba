/**
 * A colour of tokens.css as the browser works it out now. A canvas does not understand variables or
 * `light-dark()`, so an element that nobody sees is asked what colour it has.
 */
export function colourOf(variable: string, opacity = 1): string {
  const probe = document.createElement("i");
  probe.hidden = true;
  probe.style.color = `color-mix(in srgb, var(${variable}) ${opacity * 100}%, transparent)`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
