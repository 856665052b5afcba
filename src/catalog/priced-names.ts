import { isToken } from "../base/money/rates.ts";
import { unitOf } from "../base/usage/metered-units.ts";
import type { Price } from "../config/settings.ts";

/** The names that a price has in the configuration, as far as metered routes are charged by them; see `PricedNames`. */
export function pricedNames({ names = ["input", "output"], extras = {} }: Price): ReadonlySet<string> {
  const known = new Set(names);
  const mostExpensiveFirst = Object.entries(extras).sort(([, one], [, other]) => other - one);
  for (const [name] of mostExpensiveFirst) {
    const unit = unitOf(name);
    if (unit !== undefined) known.add(unit).add(name === unit ? `${unit}.*` : name);
    else if (isToken(name)) known.add(name);
  }
  return known;
}
