import { tableText } from "../../../src/cli/import/toml.ts";
import { priceOn } from "../../../src/config/dated-prices.ts";
import type { ConfigFile, ModelConfig } from "../../../src/config/schema.ts";
import { changeOf, isFreeOnly } from "./change.ts";
import { keyOf, type Listed, type ListedModel } from "./lists.ts";
import type { Report } from "./report.ts";

/** The text of `config/models.toml`, whose prices were checked by hand, with prices of newer lists if `--checked` is set. */
export function refreshedModels(text: string, listed: Listed, isTold: boolean, report: Report): string {
  // The cast holds because a test loads the same text as a configuration.
  const { models = [] } = Bun.TOML.parse(text) as ConfigFile;
  let written = text;
  for (const model of models) {
    const [row] = listed.get(keyOf(model.provider ?? "", model.id)) ?? [];
    const before = priceOn(model.price);
    if (row === undefined || before === undefined || isFreeOnly(row.price)) continue;
    if ((model.price_checked ?? "") > row.day) continue;
    const { price, details, factor } = changeOf(before, row.price);
    const name = `${model.provider}/${model.id}`;
    if (details.length === 0) report.confirmed += 1;
    else if (!isTold) {
      report.left.push(`${name} (checked ${model.price_checked}): ${details.join(", ")}`);
      continue;
    } else report.change(name, row, details, factor);
    written = withPrice(written, model, tableText("", { price }).trim(), row);
  }
  return written;
}

function withPrice(text: string, { id }: ModelConfig, price: string, { day, source }: ListedModel): string {
  const at = text.indexOf(`\nid = ${JSON.stringify(id)}\n`);
  const next = text.indexOf("\n[", at);
  const end = next === -1 ? text.length : next;
  const block = text
    .slice(at, end)
    .replace(/^price = .*$/m, () => price)
    .replace(/^price_checked = .*$/m, () => `price_checked = "${day}"  # ${source}`);
  return text.slice(0, at) + block + text.slice(end);
}
