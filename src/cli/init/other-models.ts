import { discoverModels } from "../../admin/models/discover-models.ts";
import { plural } from "../../base/text/plural.ts";
import { loadSettings } from "../../config/load.ts";
import type { ModelConfig } from "../../config/schema.ts";
import { withProgress } from "../terminal/progress.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { ExtraProvider } from "./choices.ts";
import { extraToml } from "./text.ts";

/** A provider's own list of models, as far as it has prices. */
export interface OwnList {
  readonly models: readonly ModelConfig[];
  /** Why models are missing; null if all can be served. */
  readonly note: string | null;
}

/** Requests the model list of a provider without built-in prices. Never fails, because the file can be completed later. */
export async function ownListOf(provider: ExtraProvider, terminal: Terminal): Promise<OwnList> {
  const { provider: name } = provider;
  const { settings } = loadSettings({ text: extraToml(provider), env: terminal.env });
  const discovering = discoverModels([...settings.providers.values()], settings, {});
  const { models, entries, failures } = await withProgress(`asking ${name}`, discovering, terminal);
  const [failure] = failures;
  if (failure !== undefined) return { models: [], note: `${name} ${failure.problem}` };
  const unpriced = models.filter(({ state }) => state === "unpriced").length;
  const unpricedNote = `${plural(unpriced, "model")} of ${name} without a known price; add [[models]] entries with their prices`;
  return { models: entries, note: unpriced === 0 ? null : unpricedNote };
}
