import { plural } from "../../base/text/plural.ts";
import { unpricedNames } from "../../config/catalog/vendors.ts";
import type { EnvironmentVendors, FoundVendor } from "../../config/environment/vendors.ts";
import type { ModelSettings, Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { curlFor, modelToTry } from "./first-run.ts";
import { reachable } from "./reachable.ts";

interface Output {
  readonly settings: Settings;
  readonly json: boolean;
  readonly url: string;
  readonly terminal: Terminal;
}

/** Prints which vendors the environment adds to the built-in configuration, at which prices, and which keys are ignored. */
export function showEnvironment(environment: EnvironmentVendors | null, output: Output): void {
  if (environment === null) return;
  const { served, skipped } = environment;
  if (served.length === 0 && skipped.length === 0) return;
  const vendors = served.map((vendor) => servedVendor(vendor, output.settings));
  const { terminal, json } = output;
  if (json) terminal.print(JSON.stringify({ environment: { served: vendors, skipped } }));
  else terminal.print([...servedText(vendors, output), ...skippedText(environment, output)].join("\n"));
}

type ServedVendor = ReturnType<typeof servedVendor>;

function servedVendor({ provider, variable, baseUrl, note }: FoundVendor, { models }: Settings) {
  const own = models.filter(({ deployments }) => deployments[0]?.provider === provider);
  const days = own.flatMap(({ priceChecked }) => priceChecked ?? []).sort();
  return {
    provider,
    variable,
    base_url: baseUrl,
    models: own.map(({ id }: ModelSettings) => id),
    ...(note === undefined ? {} : { note }),
    price_checked: { oldest: days[0] ?? null, newest: days.at(-1) ?? null },
  };
}

function servedText(vendors: readonly ServedVendor[], { settings, url, terminal }: Output): string[] {
  if (vendors.length === 0) return [];
  const { style } = terminal;
  const width = Math.max(...vendors.map(({ provider }) => provider.length));
  const lines = vendors.map((vendor) => {
    const { provider, variable, base_url: address, models, price_checked: days, note } = vendor;
    const at = address === null ? "" : ` at ${address}`;
    const unpriced = unpricedNames(provider);
    if (unpriced !== null)
      return `  ${style.bold(provider.padEnd(width))}  ${unpriced.join(", ")}${at} (${variable}), unknown prices: only token-budget keys can use it`;
    return `  ${style.bold(provider.padEnd(width))}  ${plural(models.length, "model")}${at} (${variable}), ${pricesText(days)}${note === undefined ? "" : `; ${note}`}`;
  });
  // The shell replaces the variable, so without it the line would not work as pasted.
  const model = terminal.env["SLUICE_KEY"] ? modelToTry(settings) : undefined;
  const example = model === undefined ? [] : ["", `  ${curlFor(model, reachable(url), "$SLUICE_KEY")}`];
  const title = `${style.good("✓")} Serving the demo and, from the environment:`;
  const advice =
    "  `sluice models list` shows the prices. --demo-only turns this off; `sluice config init` writes a file.";
  return [title, ...lines, ...example, "", advice, ""];
}

function pricesText({ oldest, newest }: ServedVendor["price_checked"]): string {
  if (oldest === null) return "free";
  return `list prices checked ${oldest === newest ? `on ${oldest}` : `from ${oldest} to ${newest}`}`;
}

function skippedText({ skipped }: EnvironmentVendors, { terminal }: Output): string[] {
  return skipped.map(
    ({ variable, reason }) => `${terminal.style.warn("!")} ${variable} is not used: ${reason}`,
  );
}
