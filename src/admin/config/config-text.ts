import type { JsonObject } from "../../base/json.ts";
import type { Settings } from "../../config/settings.ts";
import type { ConfigTextView } from "./schema.ts";

export interface RunningConfig {
  /** Null for the built-in configuration. */
  readonly file: string | null;
  readonly written: JsonObject;
  readonly prices: ConfigTextView["prices"];
}

export function runningConfigOf({ source, written, models }: Settings): RunningConfig {
  const prices = models.flatMap(({ id, priceSource, priceChecked }) =>
    priceSource === null ? [] : [{ model: id, price_source: priceSource, price_checked: priceChecked }],
  );
  return { file: source?.file ?? null, written, prices };
}

/** The running configuration in the fields that the admin API and `config show --json` share. */
export function configTextDocument({ file, written, prices }: RunningConfig): ConfigTextView {
  return { file, toml: Bun.TOML.stringify(written), config: written, prices };
}
