import { takesRestart } from "../../../src/config/reload.ts";
import { cell } from "./cell.ts";

/** A JSON schema, as far as the configuration uses it. */
export interface Schema {
  readonly type?: string;
  readonly const?: string | number | boolean;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

/** The page of all settings, from the schema that `sluice config schema` prints. */
export function configurationPage(schema: Schema): string {
  return `# Configuration

Every setting of \`sluice.toml\`, generated from \`sluice config schema\`.
\`sluice config check\` verifies a file, \`sluice config show\` prints the running configuration with its defaults.

- **Durations** are seconds, or text with a unit: \`"500ms"\`, \`"30s"\`, \`"5m"\`, \`"2h"\`, \`"7d"\`.
- **Sizes** are bytes, or text with a unit: \`"1MB"\`, \`"2GB"\`.
- **Secrets** are references, never the secret itself: \`"env:NAME"\` or \`"file:/path"\`.
- **Reload:** \`sluice config reload\` applies every setting without *Restart* in its row. Settings with it apply at the next start.
  A restart is also needed to add or remove \`[content]\`, to remove \`admin.token\`, and for secrets from the environment.
${sections(schema, "", new Map()).join("\n")}`;
}

/** Titles of the tables so far, by their settings: a table that appears again is a link. */
type Known = Map<string, string>;

function sections(schema: Schema, path: string, known: Known): string[] {
  const settings = Object.entries(schema.properties ?? {});
  const plain = settings.filter(([, setting]) => tableOf(setting) === null);
  const tables = settings.flatMap(([name, setting]) => {
    const table = tableOf(setting);
    return table === null ? [] : [{ ...table, path: path === "" ? name : `${path}.${name}`, setting }];
  });
  const required = new Set(schema.required);
  const rows = plain.map(
    ([name, setting]) =>
      `| \`${name}\`${required.has(name) ? " (required)" : ""} | ${kindOf(setting)} | ${defaultOf(setting)} | ${cell(setting.description ?? "")}${takesRestart([...path.split("."), name]) ? " *Restart.*" : ""} |`,
  );
  const own =
    rows.length === 0 ? [] : ["\n| Setting | Type | Default | Meaning |\n|---|---|---|---|", ...rows];
  const nested = tables.flatMap(({ path: inner, name, brackets, schema: of, setting }) => {
    const title = `${inner}${name === "" ? "" : `.${name}`}`;
    const heading = `\n${inner.includes(".") ? "###" : "##"} \`${brackets[0]}${title}${brackets[1]}\``;
    const text = of.description ?? setting.description;
    const same = JSON.stringify(of.properties);
    const first = known.get(same);
    if (first !== undefined) return [heading, `\nThe same settings as ${first}.`];
    known.set(same, `[\`${brackets[0]}${title}${brackets[1]}\`](#${anchorOf(title)})`);
    return [heading, ...(text === undefined ? [] : [`\n${text}`]), ...sections(of, title, known)];
  });
  return [...own, ...nested];
}

/** The anchor that GitHub makes of a heading with a table's title. */
function anchorOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "");
}

interface Table {
  readonly schema: Schema;
  /** What stands for a name that the operator chooses. */
  readonly name: string;
  readonly brackets: readonly [string, string];
}

/** Null if the setting is a value rather than a table of settings. */
function tableOf(setting: Schema): Table | null {
  if (setting.properties !== undefined) return { schema: setting, name: "", brackets: ["[", "]"] };
  const [named] = Object.values(setting.patternProperties ?? {});
  if (named?.properties !== undefined) return { schema: named, name: "NAME", brackets: ["[", "]"] };
  const list = setting.anyOf?.find(({ items }) => items?.properties !== undefined);
  const { items } = list ?? setting;
  return items?.properties === undefined ? null : { schema: items, name: "", brackets: ["[[", "]]"] };
}

function kindOf(setting: Schema): string {
  const { anyOf, type, items, patternProperties } = setting;
  if (setting.const !== undefined) return `\`${JSON.stringify(setting.const)}\``;
  if (anyOf !== undefined) {
    const text = anyOf.find(({ pattern }) => pattern !== undefined)?.pattern ?? "";
    if (text.includes("ms|s|m|h|d")) return "duration";
    if (text.includes("KB|MB|GB")) return "size";
    return [...new Set(anyOf.map(kindOf))].join(", ");
  }
  if (type === "array") return `list of ${items === undefined ? "values" : kindOf(items)}`;
  if (type === "object") {
    const [value] = Object.values(patternProperties ?? {});
    return value === undefined ? "table" : `table of ${kindOf(value)}`;
  }
  return type ?? "any";
}

function defaultOf({ default: value }: Schema): string {
  return value === undefined ? "" : `\`${JSON.stringify(value)}\``;
}
