import { type Static, Type } from "@sinclair/typebox";
import type { JsonObject } from "../../base/json.ts";
import { body, counted, flag, nullable, oneOf, text } from "../formats/shapes.ts";

const plain = Type.String();

export const configTextView = Type.Object({
  file: nullable(text("Null for the built-in configuration.")),
  toml: text("Secrets appear as references (`env:NAME`), never as values."),
  config: Type.Unsafe<JsonObject>(
    Type.Object({}, { additionalProperties: true, description: "The same configuration as JSON." }),
  ),
  prices: Type.Array(
    Type.Object({
      model: plain,
      price_source: oneOf(["config", "catalog"]),
      price_checked: nullable(text("The day on which the price was last checked.")),
    }),
    { description: "Where each model's price comes from." },
  ),
});
export type ConfigTextView = Static<typeof configTextView>;

const configChangeView = Type.Object({
  change: oneOf(["added", "changed", "removed"]),
  where: text('Such as `server.port` or `model "gpt-5.6", price.input`.'),
  before: nullable(text("As TOML.")),
  after: nullable(text("As TOML.")),
  needs_restart: flag("A reload does not apply it."),
});
export type ConfigChangeView = Static<typeof configChangeView>;

export const configCheckView = Type.Object({
  ok: flag("Whether a reload would accept it."),
  file: nullable(text("Null for the built-in configuration.")),
  digest: nullable(
    text("Identifies the checked file. Pass it to `/config/reload` to load exactly this version."),
  ),
  problems: Type.Array(Type.Object({ where: plain, line: nullable(Type.Integer()), message: plain })),
  warnings: Type.Array(plain),
  suspends_keys: counted("Keys that a reload would suspend, because their owners could no longer sign in."),
  suspended_owners: Type.Array(plain, { description: "The people whose keys they are." }),
  changes: Type.Array(configChangeView, { description: "How it differs from the running configuration." }),
});
export type ConfigCheckView = Static<typeof configCheckView>;

export const configReloadBody = body({
  digest: Type.Optional(
    text("The `digest` of `/config/check`. The reload is rejected if the file has changed since."),
  ),
  suspend_keys: Type.Boolean({
    default: false,
    description:
      "Accepts that keys are suspended whose owners could no longer sign in. Without it, such a reload is rejected.",
  }),
});

export const configReloadView = Type.Object({
  file: nullable(plain),
  needs_restart: Type.Array(plain, {
    description: "Settings that need a restart, and models that are not served, as sentences.",
  }),
  new_secrets: Type.Array(plain, { description: "Files whose new secrets are used from now on." }),
  changes: Type.Array(configChangeView, { description: "What has changed." }),
});
export type ConfigReloadView = Static<typeof configReloadView>;
