import { Type } from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text";
import { afterRestart, ifUnset, marked } from "./marks.ts";
import { closed, flag, list, name, named, secret, section, text } from "./parts.ts";

const oidc = section({
  issuer: Type.String({
    pattern: "^https?://",
    description: "The identity provider's address; https, or http on this machine.",
  }),
  client_id: Type.String({ minLength: 1, description: "What the issuer knows this gateway as." }),
  client_secret: marked(secret, { [ifUnset]: "admin.oidc is off" }),
  scope: text("What is asked for at sign-in.", { default: "openid email profile" }),
  user_claim: text("The claim that identifies the person.", { minLength: 1, default: "email" }),
  groups_claim: text("Their groups.", { minLength: 1, default: "groups" }),
  trust_email: flag("Believes an address that the provider does not call verified.", false),
});

export const adminSchema = section({
  token: marked(Type.Optional(secret), { [ifUnset]: "admin.token is not used" }),
  listen: afterRestart(
    text(
      "host:port of a listener for the admin API, the dashboard and /metrics; the main one has none of them then.",
    ),
  ),
  metrics_listen: text("host:port of an open metrics listener."),
  public_url: text("The address in people's browsers, where a proxy hides it.", { pattern: "^https?://" }),
  admins: list(name, 'Users who can do everything: addresses, or "group:NAME".'),
  viewers: list(name, "Users who can read everything and change nothing."),
  members: Type.Optional(
    Type.Union(
      [Type.Literal("everyone"), Type.Array(name, { description: "Who sees the keys that they own." })],
      {
        description: 'Who sees and rotates the keys that they own: a list, or "everyone" who is signed in.',
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
  user_header: named("In which a trusted proxy says who signed in, such as x-forwarded-email."),
  groups_header: named("In which it lists their groups, with commas."),
  oidc,
});
