import type { JsonObject } from "../../base/json.ts";
import { configDifferences } from "../../config/differences.ts";
import type { CheckedConfig } from "../../config/on-disk.ts";
import type { ConfigCheckView } from "./schema.ts";

/** What is wrong with the file, and what would be different with it, under the names that the admin API and `--json` share. */
export function configCheckDocument(checked: CheckedConfig, running: JsonObject): ConfigCheckView {
  const { file, settings, problems, warnings } = checked;
  const isSound = settings !== null && problems.length === 0;
  return {
    ok: isSound,
    file,
    digest: settings?.source?.digest ?? null,
    problems: problems.map(({ path, where = path, line = null, message }) => ({ where, line, message })),
    warnings: [...warnings],
    changes: isSound ? configDifferences(running, settings.written) : [],
  };
}

/** For the audit log: `changed model "gpt-5.6", price.input; added provider "azure"`. */
export function changesText(changes: ConfigCheckView["changes"]): string {
  if (changes.length === 0) return "no changes";
  const listed = changes.slice(0, maxNamed).map(({ change, where }) => `${change} ${where}`);
  const rest = changes.length - listed.length;
  return [...listed, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

const maxNamed = 20;
