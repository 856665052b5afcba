import type { JsonObject } from "../../base/json.ts";
import { configDifferences } from "../../config/differences.ts";
import type { CheckedConfig } from "../../config/on-disk.ts";
import type { ConfigProblem } from "../../config/problems.ts";
import type { SignInLosses } from "../access/lost-sign-ins.ts";
import type { ConfigCheckView } from "./schema.ts";

/**
 * The file's problems, and how it differs from the running configuration, in the fields shared by the admin API and
 * `--json`.
 */
export function configCheckDocument(
  checked: CheckedConfig,
  running: JsonObject,
  losses: SignInLosses,
): ConfigCheckView {
  const { file, settings, problems, warnings } = checked;
  const isValid = settings !== null && problems.length === 0;
  return {
    ok: isValid,
    file,
    digest: settings?.source?.digest ?? null,
    problems: problemViews(problems),
    warnings: [...warnings],
    suspends_keys: isValid ? losses.keys : 0,
    suspended_owners: isValid ? [...losses.people] : [],
    changes: isValid ? configDifferences(running, settings.written) : [],
  };
}

export function problemViews(problems: readonly ConfigProblem[]): ConfigCheckView["problems"] {
  return problems.map(({ path, where = path, line = null, message }) => ({ where, line, message }));
}

/** For the audit log: `changed model "gpt-5.6", price.input; added provider "azure"`. */
export function changesText(changes: ConfigCheckView["changes"]): string {
  if (changes.length === 0) return "no changes";
  const listed = changes.slice(0, maxNamed).map(({ change, where }) => `${change} ${where}`);
  const rest = changes.length - listed.length;
  return [...listed, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

const maxNamed = 20;
