import { withSearchPrice } from "../../../src/cli/import/prices.ts";
import { lacksRequestFee } from "../../../src/cli/import/request-fee.ts";
import { catalogOf, isNameOfModel } from "../../../src/cli/prices/list-vendors.ts";
import type { CatalogLine } from "../../../src/config/catalog/price-lists.ts";
import { priceOn } from "../../../src/config/dated-prices.ts";
import { changeOf, isFreeOnly, reachable } from "./change.ts";
import { keyOf, type Listed, type ListedModel } from "./lists.ts";
import type { Report } from "./report.ts";

export interface VendorFile {
  readonly name: string;
  readonly lines: readonly CatalogLine[];
  /** All names that the vendor's catalog has, also from elsewhere. */
  readonly known: ReadonlySet<string>;
}

/** The lines of a vendor with the prices of the newest list that has each, and new ones for what only the lists have. */
export function refreshed(file: VendorFile, listed: Listed, isTold: boolean, report: Report): CatalogLine[] {
  const lines = file.lines.map((line) => refreshedLine(file.name, line, listed, isTold, report));
  const added = newLines(file, listed, report);
  return [...lines.filter((line) => !isUsual(line, lines)), ...added].toSorted(byId);
}

/** Whether a region has the usual price, so that it needs no line of its own. */
function isUsual({ id, regions, price }: CatalogLine, lines: readonly CatalogLine[]): boolean {
  if (regions === undefined) return false;
  const usual = priceOn(lines.find((line) => line.id === id && line.regions === undefined)?.price);
  const own = priceOn(price);
  return usual?.input === own?.input && usual?.output === own?.output;
}

function byId(one: CatalogLine, other: CatalogLine): number {
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

function refreshedLine(
  catalog: string,
  line: CatalogLine,
  listed: Listed,
  isTold: boolean,
  report: Report,
): CatalogLine {
  // LiteLLM has a cloud's price of one region under that region's name.
  const [region = null] = line.regions ?? [];
  const ids = region === null ? [line.id, line.upstream_model ?? line.id] : [`${region}/${line.id}`];
  const rows = ids.flatMap((id) => listed.get(keyOf(catalog, id)) ?? []);
  const name = `${catalog}/${region === null ? "" : `${region}/`}${line.id}`;
  const before = priceOn(line.price);
  const [row] = rows;
  if (row === undefined || isFreeOnly(row.price) || before === undefined) return line;
  if ((line.price_checked ?? "") > row.day || serveOf(row) !== (line.serves?.[0] ?? "generation"))
    return line;
  const { price, details, factor } = changeOf(before, reachable(row.price, line.context_window));
  const checked = { price_checked: row.day, source: sourcesOf(rows, row) };
  if (details.length === 0) {
    report.confirmed += 1;
    return { ...line, ...checked };
  }
  if (line.note !== undefined && !isTold) {
    report.left.push(`${name} (${line.note}): ${details.join(", ")}`);
    return line;
  }
  report.change(name, row, details, factor);
  const { note: _, source: __, ...settings } = line;
  return { ...settings, price, ...checked };
}

function serveOf({ serves }: ListedModel): string {
  return serves ?? "generation";
}

/** The lists with this price, in the usual order. */
function sourcesOf(rows: readonly ListedModel[], { price }: ListedModel): string {
  const same = rows.filter((row) => row.price.input === price.input && row.price.output === price.output);
  return [...new Set(same.map(({ source }) => source))].toSorted().toReversed().join(", ");
}

/** New models of what the vendor's catalog has already: Sluice may have no requests for anything else there. */
function newLines({ name, known, lines }: VendorFile, listed: Listed, report: Report): CatalogLine[] {
  const uses: ReadonlySet<string> =
    lines.length === 0 ? usesOfNewVendor : new Set(lines.map(({ serves }) => serves?.[0] ?? "generation"));
  return [...listed.values()].flatMap((rows) => {
    const [row] = rows;
    if (row === undefined || catalogOf(row.vendor) !== name || known.has(row.id)) return [];
    const model = withSearchPrice(row);
    const { price, details } = changeOf({}, reachable(model.price, row.contextWindow ?? undefined));
    const isUsable = isNameOfModel(name, row.id) && uses.has(serveOf(row)) && !isFreeOnly(price);
    if (!isUsable || isEnded(row) || lacksRequestFee({ ...row, vendor: name })) return [];
    report.added.push(`${name}/${row.id}: ${details.join(", ")} (${row.source} ${row.day})`);
    return [lineOf(row, price, sourcesOf(rows, row))];
  });
}

/** What every server with OpenAI's API has. */
const usesOfNewVendor: ReadonlySet<string> = new Set(["generation", "embeddings"]);

function isEnded({ ends, day }: ListedModel): boolean {
  return ends !== undefined && ends <= day;
}

/** A dated id is served without being listed. */
const dated = /(?:[-@]20\d{6}|-20\d\d-\d\d-\d\d|-\d{4})(?:-v\d+(?::\d+)?)?$/;

function lineOf(row: ListedModel, price: CatalogLine["price"], source: string): CatalogLine {
  const { id, displayName, serves, contextWindow, maxOutputTokens, capabilities, ends } = row;
  const able = Object.entries(capabilities).filter(([, is]) => is);
  return {
    id,
    ...(displayName === null ? {} : { display_name: displayName }),
    ...(serves === undefined ? {} : { serves: [serves] }),
    ...(contextWindow === null ? {} : { context_window: contextWindow }),
    ...(maxOutputTokens === null ? {} : { max_output_tokens: maxOutputTokens }),
    ...(price === undefined ? {} : { price }),
    ...(able.length === 0 ? {} : { capabilities: Object.fromEntries(able) }),
    ...(dated.test(id) ? { listed: false } : {}),
    ...(ends === undefined ? {} : { ends }),
    price_checked: row.day,
    source,
  };
}
