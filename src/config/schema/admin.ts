import { Type } from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text.ts";
import { afterRestart, ifUnset, marked } from "./marks.ts";
import { closed, flag, list, name, named, secret, section, text, time } from "./parts.ts";

const oidc = section({
  issuer: Type.String({
    pattern: "^https?://",
    description: "The identity provider's address; https, or http on this machine.",
  }),
  client_id: Type.String({
    minLength: 1,
    description: "The client id that the issuer assigned to this gateway.",
  }),
  client_secret: marked(secret, { [ifUnset]: "admin.oidc is off" }),
  scope: text("The scopes requested at sign-in.", { default: "openid email profile" }),
  user_claim: text("The claim that identifies the user.", { minLength: 1, default: "email" }),
  groups_claim: text("The claim with the user's groups.", { minLength: 1, default: "groups" }),
  session: time("How long a person stays signed in.", "12h", { minimum: 1, maximum: 30 * 86_400 }),
  trust_email: flag("Accepts addresses that the identity provider does not mark as verified.", false),
});

export const adminSchema = section({
  token: marked(Type.Optional(secret), { [ifUnset]: "admin.token is not used" }),
  listen: afterRestart(
    text(
      "host:port of a separate listener for the admin API, the dashboard and /metrics, which are then not on the main one.",
    ),
  ),
  metrics_listen: text("host:port of a listener for metrics without a token."),
  public_url: text("The address that browsers use, if a proxy hides it.", { pattern: "^https?://" }),
  admins: list(name, 'Users who can do everything: addresses, or "group:NAME".'),
  viewers: list(name, "Users who can read everything and change nothing."),
  members: Type.Optional(
    Type.Union(
      [Type.Literal("everyone"), Type.Array(name, { description: "Who sees the keys that they own." })],
      {
        description: 'Users who can see and rotate their own keys: a list, or "everyone" who is signed in.',
      },
    ),
  ),
  member_keys: Type.Optional(
    Type.Object(
      {
        account: Type.String({ minLength: 1, description: "The account to bill." }),
        cap: text("The cap of each key, such as 5/day.", {
          pattern: "^\\d+(\\.\\d{1,9})?/(day|week|month)(:.+)?$",
          [expectedText]: 'a cap such as "5/day" or "20/week:claude-opus-*"',
        }),
      },
      { ...closed, description: "Lets members create keys for themselves." },
    ),
  ),
  user_header: named("Header in which a trusted proxy sends the signed-in user, such as x-forwarded-email."),
  groups_header: named("Header with the user's groups, separated by commas."),
  oidc,
});
