import type { Price } from "../config/settings.ts";

/** The names that a price has in the configuration, as far as metered routes are charged by them; see `PricedNames`. */
export function pricedNames(price: Price): ReadonlySet<string> {
  const { names = ["input", "output"], audioInput, audioOutput, imageInput, imageOutput, units = {} } = price;
  const known = new Set(names);
  if (audioInput !== undefined) known.add("audio_input");
  if (audioOutput !== undefined) known.add("audio_output");
  if (imageInput !== undefined) known.add("image_input");
  if (imageOutput !== undefined) known.add("image_output");
  for (const unit in units) {
    const [name = unit] = unit.split(".", 1);
    known.add(name);
    known.add(name === unit ? `${unit}.*` : unit);
  }
  return known;
}
