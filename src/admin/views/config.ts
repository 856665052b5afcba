import { type Static, Type } from "@sinclair/typebox";
import { nullable, oneOf } from "./shapes.ts";

const text = Type.String();

export const configTextView = Type.Object({
  file: nullable(Type.String({ description: "Null for the built-in configuration." })),
  toml: Type.String({ description: "References to secrets as they are written, never their values." }),
});
export type ConfigTextView = Static<typeof configTextView>;

export const configChangeView = Type.Object({
  change: oneOf(["added", "changed", "removed"]),
  where: Type.String({ description: 'Such as `server.port` or `model "gpt-5.6", price.input`.' }),
  before: nullable(Type.String({ description: "As TOML." })),
  after: nullable(Type.String({ description: "As TOML." })),
  needs_restart: Type.Boolean({ description: "A reload leaves it as it is." }),
});
export type ConfigChangeView = Static<typeof configChangeView>;

export const configCheckView = Type.Object({
  ok: Type.Boolean({ description: "Whether a reload would take it." }),
  file: nullable(Type.String({ description: "Null for the built-in configuration." })),
  digest: nullable(
    Type.String({ description: "Of the file, for a reload of what was checked and nothing else." }),
  ),
  problems: Type.Array(Type.Object({ where: text, line: nullable(Type.Integer()), message: text })),
  warnings: Type.Array(text),
  changes: Type.Array(configChangeView, { description: "How it differs from what is in force." }),
});
export type ConfigCheckView = Static<typeof configCheckView>;

export const configReloadBody = Type.Object(
  {
    digest: Type.Optional(
      Type.String({ description: "That of the check; a file that has changed since is refused." }),
    ),
  },
  { additionalProperties: false },
);

export const configReloadView = Type.Object({
  file: nullable(text),
  not_in_force: Type.Array(text, { description: "What takes a restart, in sentences." }),
  changes: Type.Array(configChangeView, { description: "What has changed." }),
});
export type ConfigReloadView = Static<typeof configReloadView>;
