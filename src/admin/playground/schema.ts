import { type Static, Type } from "@sinclair/typebox";
import { keyModes } from "../../base/key-attributes.ts";
import { body, figure, moment, nullable, oneOf, text } from "../formats/shapes.ts";

export const playgroundBody = body({
  key: Type.Optional(Type.String({ minLength: 1, description: "The id, prefix or label of a key." })),
  account: Type.Optional(
    Type.String({
      minLength: 1,
      description: "The id or label of an account. Its playground key is used.",
    }),
  ),
});
export type PlaygroundBody = Static<typeof playgroundBody>;

export const playgroundView = Type.Object({
  key: text("The secret, returned only in this response."),
  key_id: text("The key that its requests are charged to."),
  label: nullable(text("That key's label.")),
  prefix: text("That key's prefix."),
  mode: oneOf(keyModes),
  limit: figure("The most that it can spend: credits, or tokens of a token budget."),
  expires_at: moment,
});
export type PlaygroundView = Static<typeof playgroundView>;
