/** Groups digits by three, except decimals: `1,000,000`, `1,000.0625`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");
}

/** `1 request`, `1,000 requests`; `shown` writes the figure where it has to be shorter. */
export function plural(value: number, one: string, many = `${one}s`, shown = count): string {
  return `${shown(value)} ${value === 1 ? one : many}`;
}

/** `1 credit`, `5 credits`, `1 token`: an amount that a key or an account of this mode is counted in. */
export function billedUnit(mode: "credit" | "token_budget", value: number): string {
  const one = mode === "credit" ? "credit" : "token";
  return value === 1 ? one : `${one}s`;
}

/** `image`, `search unit`: one of what is called `images` and `search_units`. */
export function oneUnit(name: string): string {
  return name.replace(/s$/, "").replaceAll("_", " ");
}

/** `1 image`, `20,000 search units`, for what clients call `images` and `search_units`. */
export function unitsText(units: { readonly kind: string; readonly amount: number }, shown = count): string {
  const { kind, amount } = units;
  return plural(amount, oneUnit(kind), undefined, shown);
}

const smallestShown = 0.0001;

/** Credits with at most four decimals, for lists: `12.50`, `0.0312`, `<0.0001`. */
export function shortCredits(value: number, minus = "-"): string {
  const size = Math.abs(value);
  if (size > 0 && size < smallestShown) return value < 0 ? `>${minus}${smallestShown}` : `<${smallestShown}`;
  const [whole = "0", fraction = ""] = size.toFixed(size >= 1 ? 2 : 4).split(".");
  return `${value < 0 ? minus : ""}${count(Number(whole))}.${fraction.replace(/(?<=\d\d)0{1,2}$/, "")}`;
}
